import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { InspectedRecording } from '../../../src/acp/recording/inspected-recording';
import type { RecordingRow } from '../../../src/acp/recording/recording-rows';
import { RecordedLines, recordingFile, recordingHead } from '../../support/recordings';
import { newFolder } from '../../support/temp-folder';

const open: InspectedRecording[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function opened(file: string): Promise<InspectedRecording> {
  const recording = await InspectedRecording.open(file);
  open.push(recording);
  return recording;
}

/** All rows of a recording, in however many portions they come. */
async function rowsOf(file: string): Promise<readonly RecordingRow[]> {
  const next = (await opened(file)).reader();
  const rows: RecordingRow[] = [];
  for (let isEnd = false; !isEnd;) {
    const portion = await next();
    rows.push(...portion.rows);
    ({ isEnd } = portion);
  }
  return rows;
}

const say = (side: string, message: object, more: object = {}) =>
  JSON.stringify({ ms: 1, side, line: JSON.stringify({ jsonrpc: '2.0', ...message }), ...more });

describe('rows', () => {
  test('tell what each line is, where it lies and how long its request took', async () => {
    const lines = new RecordedLines();
    lines.ms = 10.5;
    lines.session(1, 'bread', '/srv/bakery', 1, 1);

    const rows = await rowsOf(recordingFile(lines.lines));

    const editors = rows.filter(({ child, side }) => side !== undefined && child === undefined);
    expect(
      editors.map(({ kind, method, update, text, tookMs }) => [kind, method, update, text, tookMs]),
    ).toEqual([
      ['request', 'session/new', undefined, '/srv/bakery', undefined],
      ['response', 'session/new', undefined, undefined, 140],
      ['request', 'session/prompt', undefined, 'Bake loaf 1, with more water', undefined],
      ['notification', 'session/update', 'tool_call', 'Run ./heat-the-oven --degrees 220', undefined],
      ['request', 'session/request_permission', undefined, 'Run ./heat-the-oven --degrees 220', undefined],
      ['response', 'session/request_permission', undefined, 'selected yes', 1_500],
      ['notification', 'session/update', 'tool_call_update', undefined, undefined],
      ['notification', 'session/update', 'agent_message_chunk', 'word 0 of loaf 1 ', undefined],
      ['notification', 'session/update', 'usage_update', undefined, undefined],
      ['response', 'session/prompt', undefined, 'end_turn', 2_605],
    ]);
    expect(rows[0]).toMatchObject({ line: 2, kind: 'event', child: 1, text: 'agent started /srv/bakery' });
    expect(rows[0]!.at).toBe(recordingHead.length + 1);
    expect(editors.map(({ session }) => session)).toEqual([undefined, ...Array<string>(9).fill('bread')]);
    expect(editors[5]!.to).toBe(editors[4]!.line);
    expect(editors[6]).toMatchObject({ tool: 'tool-1', status: 'completed' });
    expect(editors[1]!.size).toBe('{"jsonrpc":"2.0","id":"new-bread","result":{"sessionId":"bread"}}'.length);
  });

  test('keep the ids of the editor and of each agent apart', async () => {
    const call = { id: 1, method: 'initialize' };
    const rows = await rowsOf(
      recordingFile([
        say('from editor', call),
        say('to agent', call, { child: 1, ms: 2 }),
        say('to agent', call, { child: 2, ms: 3 }),
        say('from agent', { id: 1, result: {} }, { child: 2, ms: 7 }),
        say('to editor', { id: 1, error: { code: -32603, message: 'no oven' } }, { ms: 9 }),
        say('from agent', { id: 1, result: {} }, { child: 2, ms: 9 }),
      ]),
    );

    expect(rows.slice(3)).toMatchObject([
      { to: 4, tookMs: 4, method: 'initialize' },
      { to: 2, tookMs: 8, isError: true, text: 'no oven' },
      { kind: 'response', child: 2 },
    ]);
    expect(rows[5]).not.toHaveProperty('to');
  });

  test('count what was redacted, and only that', async () => {
    const message = { id: 1, method: 'x', params: { token: '<redacted>', env: ['<redacted>'] } };
    const rows = await rowsOf(
      recordingFile([say('from editor', message, { redacted: true }), say('from editor', message)]),
    );

    expect(rows.map(({ redacted }) => redacted)).toEqual([2, undefined]);
  });

  test('tell tokens and costs by workspace: each turn once, and what a session adds to its cost', async () => {
    const lines = new RecordedLines();
    lines.session(1, 'bread', '/srv/bakery', 2, 0);
    lines.session(2, 'roses', '/srv/garden', 1, 0);

    const spent = (await rowsOf(recordingFile(lines.lines))).flatMap((row) => row.spent ?? []);

    expect(spent).toMatchObject([
      { workspace: '/srv/bakery', cost: { amount: 0.02, currency: 'USD' } },
      { workspace: '/srv/bakery', tokens: { input: 1_840, output: 345, total: 2_185 } },
      { workspace: '/srv/bakery', cost: { amount: 0.02, currency: 'USD' } },
      { workspace: '/srv/bakery', tokens: { total: 1_880 + 370 } },
      { workspace: '/srv/garden', cost: { amount: 0.04, currency: 'USD' } },
      { workspace: '/srv/garden', tokens: { total: 3_640 + 345 } },
    ]);
  });

  test('do not count the cost of a session that was opened earlier', async () => {
    const update = (amount: number) => ({
      method: 'session/update',
      params: {
        sessionId: 's',
        update: { sessionUpdate: 'usage_update', cost: { amount, currency: 'USD' } },
      },
    });
    const rows = await rowsOf(
      recordingFile([5, 5.5].map((amount) => say('from agent', update(amount), { child: 1 }))),
    );

    expect(rows.map(({ spent }) => spent)).toEqual([
      undefined,
      { workspace: '', cost: { amount: 0.5, currency: 'USD' } },
    ]);
  });

  test('say which lines are damaged, are no messages, or are not held whole; the others stay', async () => {
    const rows = await rowsOf(
      recordingFile([
        'not JSON',
        '{"ms":1,"side":"from nobody","line":"{}"}',
        '{"side":"from editor","line":"{}"}',
        '{"ms":1,"side":"from agent","child":1,"begins":"Traceback","bytes":9000}',
        '{"ms":1,"side":"from editor","overlong":true}',
        '{"ms":1,"side":"from agent","begins":{"toString":1}}',
        '{"ms":1,"side":"from editor","base64":"/w=="}',
        say('from editor', { method: 'x' }),
        '{"ms":2,"event":"recording ended: too long"}',
      ]),
    );

    expect(rows.map(({ line, kind, text }) => [line, kind, text])).toEqual([
      [2, 'damaged', 'not JSON'],
      [3, 'damaged', '{"ms":1,"side":"from nobody","line":"{}"}'],
      [4, 'damaged', '{"side":"from editor","line":"{}"}'],
      [5, 'defect', 'Traceback'],
      [6, 'defect', 'a line above the limits'],
      [7, 'defect', 'a line above the limits'],
      [8, 'defect', '\ufffd'],
      [9, 'notification', undefined],
      [10, 'event', 'recording ended: too long'],
    ]);
  });

  test('come with what is added to the file, once a line is whole', async () => {
    const file = recordingFile([say('from editor', { method: 'a' })]);
    const next = (await opened(file)).reader();
    const second = say('from editor', { method: 'b' });

    expect((await next()).rows).toHaveLength(1);
    appendFileSync(file, second.slice(0, 20));
    expect(await next()).toMatchObject({ rows: [], isEnd: true });
    appendFileSync(file, `${second.slice(20)}\n`);
    expect(await next()).toMatchObject({ rows: [{ line: 3, method: 'b' }], isEnd: true });
  });

  test('come in portions; a line that is longer than one comes whole', async () => {
    const short = say('from editor', { method: 'a', params: { text: 'x'.repeat(100_000) } });
    const long = say('from editor', { method: 'b', params: { text: 'é'.repeat(5_000_000) } });
    const file = recordingFile([...Array<string>(60).fill(short), long, short]);
    const next = (await opened(file)).reader();

    const first = await next();

    expect(first.isEnd).toBe(false);
    expect(first.rows.length).toBeLessThan(60);
    const rows = await rowsOf(file);
    expect(rows.map(({ method }) => method)).toEqual([...Array<string>(60).fill('a'), 'b', 'a']);
    expect(rows[60]!.size).toBeGreaterThan(10_000_000);
  });
});

test('the text of a message is what passed, and of a very long one the beginning', async () => {
  const file = recordingFile([
    say('from editor', { method: 'é', params: { n: 1 } }),
    'damaged',
    say('from editor', { method: 'x', params: { text: 'y'.repeat(600_000) } }),
  ]);
  const recording = await opened(file);
  const texts = await Promise.all(
    (await rowsOf(file)).map(async ({ at, bytes }) => await recording.message(at, bytes)),
  );

  expect(texts[0]!.text).toBe('{"jsonrpc":"2.0","method":"é","params":{"n":1}}');
  expect(texts[1]).toEqual({ text: 'damaged', length: 7 });
  expect(texts[2]!.text).toHaveLength(512 * 1024);
  expect(texts[2]!.length).toBeGreaterThan(600_000);
  expect(await recording.message(1e9, 10)).toEqual({ text: '', length: 0 });
});

test('a search finds text as it was sent, in whatever case, and goes on with what is added', async () => {
  const file = recordingFile([
    say('from editor', { method: 'a', params: { text: 'Sourdough "loaf"' } }),
    'SOURDOUGH',
    say('from editor', { method: 'a', params: { text: 'rye' } }),
  ]);
  const recording = await opened(file);
  const { start } = recording.about;

  const found = await recording.search('sourdough', start, 2);
  expect(found).toMatchObject({ lines: [2, 3], line: 5, isEnd: true });
  expect((await recording.search('\\"LOAF', start, 2)).lines).toEqual([2]);
  appendFileSync(file, `${say('from editor', { method: 'sourdough' })}\n`);
  expect((await recording.search('sourdough', found.at, found.line)).lines).toEqual([5]);
});

describe('a file', () => {
  const folder = newFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  test.each([
    ['that is empty', () => file('empty', '')],
    ['of another kind', () => file('other', '{"from":"editor"}\n')],
    ['of another version', () => file('version', '{"recording":2}\n')],
    ['of bytes', () => file('bytes', '\u0000\u0001'.repeat(10_000))],
  ])('%s is no recording', async (_, make) => {
    const path = make();

    await expect(InspectedRecording.open(path)).rejects.toThrow(
      `${path} is no recording that this version of cai can read: make one by "cai --acp --record FILE AGENT"`,
    );
  });

  test('that is missing, a folder or a pipe cannot be read', async () => {
    const [missing, sub, pipe] = ['missing', 'sub', 'pipe'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(sub);
    execFileSync('mkfifo', [pipe]);

    await expect(InspectedRecording.open(missing)).rejects.toThrow(
      `${missing} cannot be read: no such file or directory`,
    );
    await expect(InspectedRecording.open(sub)).rejects.toThrow(`${sub} cannot be read: it is no file`);
    await expect(InspectedRecording.open(pipe)).rejects.toThrow(`${pipe} cannot be read: it is no file`);
  });
});

import { Playback } from '../../../src/acp/recording/playback';
import type { RecordedLine, Side } from '../../../src/acp/recording/recording';
import { lengthOf } from '../../../src/rpc/splice';

/** A recording of the editor's side; each line one of the sides and a message, the numbers from 2. */
function recording(...lines: [Side, object | string, number?][]): RecordedLine[] {
  return lines.map(([side, message, child], index) => {
    const text = typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message });
    return { number: index + 2, ms: index, side, child, bytes: Buffer.from(text) };
  });
}

/** A playback whose sent lines can be looked at. */
function play(
  lines: readonly RecordedLine[],
  role: 'agent' | 'editor' = 'agent',
  child?: number,
): { playback: Playback; sent: string[]; take: (message: object) => void } {
  const sent: string[] = [];
  const playback = new Playback(lines, {
    role,
    child,
    keepsTime: false,
    send: (line) => {
      expect(lengthOf(line)).toBeGreaterThan(0);
      sent.push((Buffer.isBuffer(line) ? line : Buffer.concat(line)).toString());
    },
  });
  const take = (message: object): void =>
    playback.take(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
  return { playback, sent, take };
}

const prompt = { id: 1, method: 'session/prompt', params: { sessionId: 's', prompt: [] } };
const update = '{"jsonrpc":"2.0", "method":"session/update","params":{"sessionId":"s","n":1.0}}';
const turn: [Side, object | string][] = [
  ['from editor', prompt],
  ['to editor', update],
  ['to editor', '{"result":{"big":12345678901234567890}, "id":1,"jsonrpc":"2.0"}'],
];

describe('Playback of an agent', () => {
  test('answers as recorded, with the id of the live request and all other bytes', async () => {
    const { playback, sent, take } = play(recording(...turn));

    take({ ...prompt, id: 'live' });
    playback.end('over');
    await playback.run(true);

    expect(sent).toEqual([
      `${update}\n`,
      '{"result":{"big":12345678901234567890}, "id":"live","jsonrpc":"2.0"}\n',
    ]);
  });

  test('waits for what it received before it sends what came later', async () => {
    const { playback, sent, take } = play(
      recording(
        ['from editor', prompt],
        ['to editor', { id: 7, method: 'session/request_permission', params: {} }],
        ['from editor', { id: 7, result: {} }],
        ['to editor', { id: 1, result: {} }],
      ),
    );

    const played = playback.run(false);
    take({ ...prompt, id: 5 });
    await new Promise(setImmediate);
    expect(sent).toHaveLength(1);
    take({ id: 7, result: { other: true } });
    await played;

    expect(sent[1]).toBe('{"jsonrpc":"2.0","id":5,"result":{}}\n');
  });

  test('takes live messages in another order than they were recorded in', async () => {
    const other = { id: 2, method: 'session/prompt', params: { sessionId: 't', prompt: [] } };
    const { playback, sent, take } = play(
      recording(
        ['from editor', prompt],
        ['from editor', other],
        ['to editor', { id: 2, result: {} }],
        ['to editor', { id: 1, result: {} }],
      ),
    );

    take({ ...other, id: 'first' });
    take({ ...prompt, id: 'second' });
    await playback.run(false);

    expect(sent.map((line) => (JSON.parse(line) as { id: unknown }).id)).toEqual(['first', 'second']);
  });

  test('names the live request in what the agent asks about it', async () => {
    const { playback, sent, take } = play(
      recording(
        ['from editor', { id: 1, method: 'authenticate', params: {} }],
        ['to editor', { id: 9, method: 'elicitation/create', params: { requestId: 1 } }],
        ['to editor', { method: '$/cancel_request', params: { requestId: 1 } }],
      ),
    );

    take({ id: 'x', method: 'authenticate', params: {} });
    await playback.run(false);

    expect(sent[0]).toContain('"requestId":"x"');
    // That one is about a request of the agent itself.
    expect(sent[1]).toContain('"requestId":1');
  });

  test('plays the connection of one agent alone', async () => {
    const lines = recording(
      ...turn,
      ['to agent', { ...prompt, id: 3 }, 1],
      ['from agent', { id: 3, result: {} }, 1],
      ['from agent', { id: 4, result: {} }, 2],
    );
    const { playback, sent, take } = play(lines, 'agent', 1);

    take({ ...prompt, id: 8 });
    await playback.run(false);

    expect(sent).toEqual(['{"jsonrpc":"2.0","id":8,"result":{}}\n']);
  });

  const hello = { id: 0, method: 'initialize', params: {} };

  test.each([
    [
      'another session',
      { ...prompt, params: { sessionId: 'u' } },
      'instead came the request session/prompt of session u (id 1)',
    ],
    ['a notification', { method: '_x' }, 'instead came the notification _x'],
    ['no message', { result: 1 }, 'instead came a line that is no message'],
  ])('fails for %s, naming the line and what came', async (_, live, message) => {
    const { playback, take } = play(recording(...turn));

    take(live);

    await expect(playback.run(false)).rejects.toThrow(
      `line 2 of the recording has the request session/prompt of session s (id 1); ${message}`,
    );
  });

  test('fails when the editor leaves early', async () => {
    const { playback } = play(recording(...turn));

    playback.end('instead the editor has left');

    await expect(playback.run(true)).rejects.toThrow(
      'line 2 of the recording has the request session/prompt',
    );
  });

  test('fails for an error where a result was recorded', async () => {
    const { playback, take } = play(
      recording(
        ['to editor', { id: 7, method: 'fs/read_text_file', params: {} }],
        ['from editor', { id: 7, result: {} }],
      ),
    );

    const played = playback.run(false);
    take({ id: 7, error: { code: 1, message: 'gone' } });

    await expect(played).rejects.toThrow(
      'line 3 of the recording has a result for request 7; instead came an error for request 7, "gone"',
    );
  });

  test('fails for what comes after the last record', async () => {
    const { playback, take } = play(recording(...turn));

    const played = playback.run(true);
    take(prompt);
    take(hello);

    await expect(played).rejects.toThrow(
      'nothing more is recorded; instead came the request initialize (id 0)',
    );
  });

  test('fails when what is recorded for later comes, and nothing else', async () => {
    jest.useFakeTimers();
    const { playback, take } = play(recording(['from editor', hello], ...turn));

    const failed = expect(playback.run(false)).rejects.toThrow(
      'line 2 of the recording has the request initialize (id 0); instead came the request session/prompt of session s (id 1)',
    );
    take(prompt);
    await jest.advanceTimersByTimeAsync(5_000);
    jest.useRealTimers();

    await failed;
  });
});

describe('Playback of an editor', () => {
  const opening: [Side, object][] = [
    ['from editor', { id: 1, method: 'session/new', params: {} }],
    ['to editor', { id: 1, result: { sessionId: 's' } }],
    ['from editor', { id: 2, method: 'session/prompt', params: { sessionId: 's' } }],
    ['to editor', { method: 'session/update', params: { sessionId: 's' } }],
    ['to editor', { id: 5, method: 'session/request_permission', params: { sessionId: 's' } }],
    ['from editor', { id: 5, result: { outcome: 'yes' } }],
    ['to editor', { id: 2, result: {} }],
  ];

  test('asks as recorded, with the sessions and request ids of the live agent', async () => {
    const { playback, sent, take } = play(recording(...opening), 'editor');

    const played = playback.run(false);
    take({ id: 1, result: { sessionId: 'live' } });
    take({ id: 'p', method: 'session/request_permission', params: { sessionId: 'live' } });
    take({ id: 2, result: {} });
    await played;

    expect(sent.map((line) => JSON.parse(line) as object)).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'session/new', params: {} },
      { jsonrpc: '2.0', id: 2, method: 'session/prompt', params: { sessionId: 'live' } },
      { jsonrpc: '2.0', id: 'p', result: { outcome: 'yes' } },
    ]);
  });

  test('fails when the agent ends early, and says how', async () => {
    const { playback } = play(recording(...opening), 'editor');

    playback.end('agent "x" exited with status 1');

    await expect(playback.run(false)).rejects.toThrow(
      'line 3 of the recording has a result for request 1; agent "x" exited with status 1',
    );
  });
});

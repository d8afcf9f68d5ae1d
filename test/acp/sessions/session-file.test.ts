import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as settled } from 'node:timers/promises';
import { openLog } from '../../../src/system/log';
import { ProcessLocks } from '../../../src/system/process-lock';
import { SessionFile } from '../../../src/acp/sessions/session-file';
import { lastUseOf, type SessionRecord } from '../../../src/acp/sessions/session-record';
import { newFolder } from '../../support/temp-folder';

const folder = newFolder();

let path: string;
let logPath: string;
let count = 0;

beforeEach(() => {
  path = join(folder, `${++count}`, 'state', 'sessions.ndjson');
  logPath = join(folder, `${count}.log`);
});

describe('SessionFile', () => {
  test('gives what another process has added, the last record of an id, in the order of the last changes', async () => {
    await add(record('a', { cwd: '/old' }), record('b'), record('a', { cwd: '/new' }));

    const records = newFile().load()!;

    expect([...records.values()]).toEqual([record('b'), record('a', { cwd: '/new' })]);
  });

  test('does not give what is gone, unless it comes again', async () => {
    await add(record('a'), record('b'), { id: 'a', gone: true }, { id: 'b', gone: true }, record('b'));

    expect([...newFile().load()!.keys()]).toEqual(['b']);
  });

  test('has written what was added before it gives anything', () => {
    const file = newFile();
    file.append(record('a'));
    file.append(record('b'));

    file.load();

    expect([...newFile().load()!.keys()]).toEqual(['a', 'b']);
  });

  test('gives nothing when nothing has changed since', async () => {
    const file = newFile();
    expect(file.load()).toBeUndefined();
    await add(record('a'));
    expect(file.load()?.size).toBe(1);
    expect(file.load()).toBeUndefined();

    await add(record('b'));

    expect(file.load()?.size).toBe(2);
    expect(logged()).toEqual([]);
  });

  test('is for its owner alone, and so is its folder', async () => {
    await add(record('a'));

    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  });

  test('keeps any text, and what is known of a session besides', async () => {
    const known = { title: 'A', updatedAt: 'then', openBy: '1.2' };
    const odd = record('a', { agentId: '"\n\\', cwd: '/é/\u2028/😀', root: '/\t', ...known });

    await add(odd);

    expect(newFile().load()!.get('a')).toEqual(odd);
  });

  test('gives what another process has added between two records of its own', async () => {
    const file = newFile();
    file.append(record('a'));
    file.load();
    await add(record('b'));
    file.append(record('c'));

    expect([...file.load()!.keys()]).toEqual(['a', 'b', 'c']);
  });

  test('does not read again what it has added itself', () => {
    const file = newFile();
    file.append(record('a'));
    file.load();
    file.append(record('b'));

    expect(file.load()).toBeUndefined();
  });

  test('writes the last of several records of one session only', async () => {
    await add(record('a', { title: 'old' }), record('b'), record('a', { title: 'new' }));

    expect(linesIn(path)).toEqual(
      [record('b'), record('a', { title: 'new' })].map((each) => JSON.stringify(each)),
    );
  });

  test('tells what is gone', async () => {
    await add(record('a'), record('b'));
    const file = newFile();
    file.load();
    await add({ id: 'a', gone: true });

    file.load();

    expect([...file.gone]).toEqual(['a']);
  });

  test('gives no record that has not been used for too long', async () => {
    const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
    await add(
      record('old', { at: ago(70_000) }),
      record('renewed', { at: ago(70_000) }),
      record('new', { at: ago(50_000) }),
    );
    await add(record('renewed', { at: ago(0) }), record('odd', { at: 'some day' }));

    const file = new SessionFile(path, 60_000, openLog({ CAI_LOG_FILE: logPath }));

    expect([...file.load()!.keys()]).toEqual(['new', 'renewed', 'odd']);
  });
});

describe('news', () => {
  test('are what was added since the first look; the past is found by its ids', async () => {
    await add(record('a', { title: 'old' }), record('b'), record('c'));
    await add(record('a', { title: 'é' }), { id: 'f', gone: true });
    // By another version.
    const { id, ...rest } = record('d');
    appendFileSync(path, `${JSON.stringify({ ...rest, id })}\n`);
    const file = newFile();

    expect(file.news()).toBeUndefined();
    expect(file.past('a')).toEqual(record('a', { title: 'é' }));
    expect(['b', 'd', 'e', 'f'].map((each) => file.past(each)?.id)).toEqual(['b', 'd', undefined, undefined]);
    await add(record('e'));

    expect([...file.news()!.keys()]).toEqual(['e']);
    expect(file.news()).toBeUndefined();
    expect([...file.load()!.keys()]).toEqual(['b', 'c', 'a', 'd', 'e']);
    expect(file.past('a')).toBeUndefined();
  });

  test('are all that is left where a session was deleted, of which the file then has no more than that', async () => {
    await add(record('a', { title: 'SECRET' }), record('b'));
    const file = newFile();
    expect(file.news()).toBeUndefined();
    await add({ id: 'a', gone: true });

    expect([...file.news()!.keys()]).toEqual(['b']);

    expect([...file.gone]).toEqual(['a']);
    expect(file.past('a')).toBeUndefined();
    expect(readFileSync(path, 'utf8')).not.toContain('SECRET');
  });

  test('take a record that is damaged for none, and give the one before it', async () => {
    await add(record('a'), record('b'));
    appendFileSync(path, '{"id":"a","agent":"claude","cut}\n{"id":"b","agent":"claude"');
    const file = newFile();

    file.news();

    expect([file.past('a'), file.past('b')]).toEqual([record('a'), record('b')]);
  });

  test('miss nothing that comes while they are looked at, whole or not', async () => {
    const file = newFile();
    file.news();
    await add(record('a'));
    file.news();
    const line = JSON.stringify(record('b'));
    appendFileSync(path, line.slice(0, 20));
    expect([...(file.news()?.keys() ?? [])]).toEqual([]);
    appendFileSync(path, `${line.slice(20)}\n`);

    expect([...file.news()!.keys()]).toEqual(['b']);
  });

  test('are all records once the file was loaded, or another is in its place', async () => {
    const file = newFile();
    expect(file.load()).toBeUndefined();
    await add(record('a'));
    expect([...file.news()!.keys()]).toEqual(['a']);
    fill(1_001, 2);
    newFile().load();

    expect([...file.news()!.keys()].sort()).toEqual(['0', '1']);
  });
});

describe('a record that another process is writing', () => {
  const line = `${JSON.stringify(record('late'))}\n`;

  test('is news when it is whole, after a load that saw half of it', async () => {
    await add(record('a'));
    appendFileSync(path, line.slice(0, 20));
    const file = newFile();
    file.load();

    appendFileSync(path, line.slice(20));

    expect([...file.news()!.keys()]).toEqual(['late']);
  });

  test('is kept by a compaction that sees half of it', () => {
    fill(1_001, 2);
    appendFileSync(path, line.slice(0, 20));
    newFile().load();

    appendFileSync(path, line.slice(20));

    expect([...newFile().load()!.keys()]).toEqual(['1', '0', 'late']);
  });
});

describe('a damaged file', () => {
  test.each([
    ['text', 'not JSON'],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0x00, 0x80])],
    ['half a record', '{"id":"x","agent":"a","agen'],
    ['another kind of value', '[]\n7\nnull\n"text"'],
    ['a record that lacks something', '{"id":"x","agent":"a"}'],
    ['a record with a wrong type', JSON.stringify({ ...record('x'), cwd: 7 })],
    ['an id that is no text', JSON.stringify({ ...record('x'), id: 7 })],
    ['the note of what is not gone', '{"id":"x","gone":false}'],
    ['blank lines', '\n\n'],
  ])('S2 with %s still gives the other records, and takes new ones', async (_, damage) => {
    await add(record('a'));
    appendFileSync(path, damage);

    await add(record('b'));

    expect([...newFile().load()!.keys()]).toEqual(['a', 'b']);
  });

  test('does not keep what a record of another version has besides', () => {
    mkdirSync(dirname(path), { recursive: true });
    const odd = { title: 7, updatedAt: null, openBy: {}, more: 1 };
    writeFileSync(path, `${JSON.stringify({ ...record('a'), ...odd })}\n`);

    expect(newFile().load()!.get('a')).toEqual(record('a'));
  });

  test('that cannot be read or written is told of in the log, and nothing more', async () => {
    mkdirSync(path, { recursive: true });
    const file = newFile();

    expect(file.load()).toBeUndefined();
    file.append(record('a'));
    await settled();

    expect(logged()).toEqual(['session table could not be read', 'session table could not be written']);
  });
});

describe('a file that can never be written', () => {
  test('is told of once, with what to do', async () => {
    mkdirSync(path, { recursive: true });
    const file = newFile();
    for (const id of ['a', 'b', 'c']) {
      file.append(record(id));
      await settled();
    }

    expect(logged()).toEqual(['session table could not be written']);
    expect(readFileSync(logPath, 'utf8')).toContain(`make ${dirname(path)} a folder that you can`);
  });
});

describe('compaction', () => {
  test('leaves nothing of a session that is gone but that it is, for a day', async () => {
    await add(record('a', { title: 'secret' }), record('b'));
    await add({ id: 'a', gone: true });

    newFile().load();

    expect(readFileSync(path, 'utf8')).not.toContain('secret');
    expect(linesIn(path)).toHaveLength(2);
    const file = newFile();
    file.load();
    expect([...file.gone]).toEqual(['a']);
    const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1_000).toISOString();
    appendFileSync(path, `${JSON.stringify({ id: 'c', gone: true, at: yesterday })}\n`);
    file.load();
    expect([...file.gone]).toEqual(['a']);
  });

  test('leaves nothing of a session that was not used for too long', async () => {
    await add(record('a', { title: 'secret', at: new Date(Date.now() - 70_000).toISOString() }));
    await add(record('b', { at: new Date().toISOString() }));

    new SessionFile(path, 60_000, openLog({ CAI_LOG_FILE: logPath })).load();

    expect(linesIn(path).map((line) => (JSON.parse(line) as SessionRecord).id)).toEqual(['b']);
  });

  test('takes out what is outdated, once that is most of many lines', () => {
    fill(1_001, 2);

    const records = newFile().load()!;

    expect(records.size).toBe(2);
    expect(linesIn(path)).toHaveLength(2);
    expect([...newFile().load()!.values()]).toEqual([...records.values()]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(path))).toEqual(['sessions.ndjson']);
  });

  test('is begun by the first look for news, too', async () => {
    await add(record('a', { title: 'secret' }));
    await add({ id: 'a', gone: true });
    newFile().news();
    expect(readFileSync(path, 'utf8')).not.toContain('secret');

    await add(record('b', { title: 'secret', at: new Date(Date.now() - 70_000).toISOString() }));
    new SessionFile(path, 60_000, openLog({ CAI_LOG_FILE: logPath })).news();
    expect(readFileSync(path, 'utf8')).not.toContain('secret');

    fill(1_001, 2);
    newFile().news();
    expect(linesIn(path)).toHaveLength(2);
  });

  test.each([
    ['few lines', 1_000, 1],
    ['lines that mostly count', 1_100, 550],
  ])('leaves %s alone', (_, lines, ids) => {
    fill(lines, ids);

    newFile().load();

    expect(linesIn(path)).toHaveLength(lines);
  });

  test('keeps the end of a file that has grown too long, and the file is not too long afterwards', () => {
    const title = 'x'.repeat(1_000);
    const lines = Array.from({ length: 25_000 }, (_, i) => JSON.stringify(record(`id ${i}`, { title })));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
    expect(statSync(path).size).toBeGreaterThan(24 * 1024 * 1024);

    const records = newFile().load()!;

    const later = newFile().load()!;
    for (const each of [records, later]) expect([...each.keys()].at(-1)).toBe('id 24999');
    expect(records.size).toBeLessThan(17_000);
    expect(statSync(path).size).toBeLessThan(12.5 * 1024 * 1024);
  });

  test('is left to the process that is at it', () => {
    fill(1_001, 2);
    const lock = new ProcessLocks(dirname(path)).tryTake(basename(path))!;

    expect(newFile().load()!.size).toBe(2);

    expect(linesIn(path)).toHaveLength(1_001);
    lock.release();
  });

  test('is done all the same when the process that was at it has died', () => {
    fill(1_001, 2);
    writeFileSync(`${path}.1.1.lock`, '');

    newFile().load();

    expect(linesIn(path)).toHaveLength(2);
    expect(readdirSync(dirname(path))).toEqual([basename(path)]);
  });

  test('removes what one has left that was killed, and nothing else', () => {
    fill(1_001, 2);
    const id = '01234567-89ab-4cde-8f01-23456789abcd';
    for (const name of [basename(path), 'other']) writeFileSync(join(dirname(path), `${name}.${id}`), 'half');
    writeFileSync(`${path}.backup`, 'mine');

    newFile().load();

    expect(readdirSync(dirname(path)).sort()).toEqual([
      `other.${id}`,
      basename(path),
      `${basename(path)}.backup`,
    ]);
  });

  // Root may write everywhere.
  const testAsUser = process.getuid?.() === 0 ? test.skip : test;
  testAsUser('is left alone in a folder that may not be written to', () => {
    fill(1_001, 2);
    chmodSync(dirname(path), 0o500);

    expect(newFile().load()?.size).toBe(2);
    chmodSync(dirname(path), 0o700);
  });
});

describe('lastUseOf', () => {
  test.each([
    ['the last activity', { updatedAt: '2026-01-01T00:00:05Z' }, Date.UTC(2026, 0) + 5_000],
    ['when it was written, without one', { at: '2026-01-01T00:00:01Z' }, Date.UTC(2026, 0) + 1_000],
    ['long ago for what is no time', { at: 'some day' }, 0],
  ])('is %s', (_, more, ms) => expect(lastUseOf(record('a', more))).toBe(ms));
});

/** Adds records as another process does. */
async function add(...records: Parameters<SessionFile['append']>[0][]): Promise<void> {
  const file = newFile();
  for (const each of records) file.append(each);
  await settled();
}

function newFile(): SessionFile {
  return new SessionFile(path, Infinity, openLog({ CAI_LOG_FILE: logPath }));
}

function record(id: string, more: Partial<SessionRecord> = {}): SessionRecord {
  return {
    id,
    agent: 'claude',
    agentId: 's1',
    root: '/w',
    cwd: '/w',
    at: '2026-01-01T00:00:00.000Z',
    ...more,
  };
}

/** A file of so many records of so few ids. */
function fill(lines: number, ids: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const records = Array.from({ length: lines }, (_, i) => `${JSON.stringify(record(`${i % ids}`))}\n`);
  writeFileSync(path, records.join(''), { mode: 0o600 });
}

function linesIn(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

/** The messages in the log. */
function logged(): unknown[] {
  return linesIn(logPath).map((line) => (JSON.parse(line) as { msg: unknown }).msg);
}

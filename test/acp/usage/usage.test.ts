import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readUsage, UsageFile, type NewRecord, type UsageRecord } from '../../../src/acp/usage/usage';
import { newFolder } from '../../support/temp-folder';

const dayMs = 24 * 60 * 60 * 1_000;
const warnings: unknown[] = [];
const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields: unknown) => void warnings.push(fields),
  error: () => undefined,
};

beforeEach(() => (warnings.length = 0));
afterEach(() => jest.useRealTimers());

function record(more: Partial<NewRecord> = {}): NewRecord {
  return {
    session: 's',
    agent: 'a',
    root: '/r',
    turns: 1,
    durationMs: 1,
    stop: 'end_turn',
    models: [],
    tools: 0,
    failedTools: 0,
    timedTools: 0,
    toolMs: 0,
    ...more,
  };
}

/** Has the file write such a record, which it does not wait for. */
function add(file: UsageFile, more?: Partial<NewRecord>): void {
  file.append(() => record(more));
  file.flush();
}

describe('UsageFile', () => {
  test('keeps records in a file a month, for its owner alone', () => {
    const folder = join(newFolder(), 'deep/usage');
    const file = new UsageFile(folder, 90 * dayMs, log);

    add(file, { session: 'one' });
    add(new UsageFile(folder, 90 * dayMs, log), { session: 'two' });

    const name = `${new Date().toISOString().slice(0, 7)}.ndjson`;
    expect(readdirSync(folder)).toEqual([name]);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readUsage(folder, 0).map(({ session }) => session)).toEqual(['one', 'two']);
  });

  test('removes months that do not count any more, and nothing else', () => {
    const folder = newFolder();
    for (const name of ['2001-01.ndjson', 'notes.txt', '9999-01.ndjson'])
      writeFileSync(join(folder, name), '');

    add(new UsageFile(folder, 90 * dayMs, log));

    expect(readdirSync(folder)).not.toContain('2001-01.ndjson');
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['notes.txt', '9999-01.ndjson']));
  });

  test('goes on behind a record that was cut short', () => {
    const folder = newFolder();
    const file = new UsageFile(folder, 90 * dayMs, log);
    add(file, { session: 'one' });
    const path = join(folder, readdirSync(folder)[0]!);
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"at":"2026-`);

    add(file, { session: 'two' });

    expect(readUsage(folder, 0).map(({ session }) => session)).toEqual(['one', 'two']);
  });

  test('writes what comes in a tenth of a second together, and then says when each has come', () => {
    const start = Date.parse('2026-01-31T23:59:59.950Z');
    jest.useFakeTimers({ now: start });
    const folder = newFolder();
    const file = new UsageFile(folder, 90 * dayMs, log);
    file.append(() => record({ session: 'one' }));
    jest.advanceTimersByTime(60);
    file.append(() => record({ session: 'two' }));
    expect(readUsage(folder, 0)).toEqual([]);

    jest.advanceTimersByTime(40);

    expect(readUsage(folder, 0).map(({ session, at }) => [session, Date.parse(at) - start])).toEqual([
      ['one', 0],
      ['two', 60],
    ]);
    expect(readdirSync(folder)).toEqual(['2026-01.ndjson', '2026-02.ndjson']);
  });

  test('is never a reason to fail, and is told of once', () => {
    const folder = join(newFolder(), 'file');
    writeFileSync(folder, '');

    const file = new UsageFile(folder, dayMs, log);
    add(file);
    add(file);

    expect(warnings).toMatchObject([{ folder, remedy: expect.stringContaining('XDG_STATE_HOME') as string }]);
  });

  test('warns once that a month has got too long to be written on, and goes on with the next', () => {
    jest.useFakeTimers({ now: Date.parse('2026-01-31T12:00:00Z') });
    const folder = newFolder();
    const path = join(folder, '2026-01.ndjson');
    writeFileSync(path, '');
    truncateSync(path, 32 * 1024 * 1024);
    const file = new UsageFile(folder, 90 * dayMs, log);

    add(file, { session: 'one' });
    add(file, { session: 'two' });
    jest.setSystemTime(Date.parse('2026-02-01T12:00:00Z'));
    add(file, { session: 'three' });

    expect(warnings).toEqual([{ file: path, maxBytes: 32 * 1024 * 1024 }]);
    expect(statSync(path).size).toBe(32 * 1024 * 1024);
    expect(readUsage(folder, Date.now()).map(({ session }) => session)).toEqual(['three']);
  });

  test('knows what a session has cost when that was told last', async () => {
    const file = new UsageFile(newFolder(), 90 * dayMs, log);
    add(file, { sessionCost: { amount: 1, currency: 'USD' } });
    file.append(() => record({ sessionCost: { amount: 2, currency: 'USD' } }));
    file.append(() => record());
    file.append(() => record({ session: 'other', sessionCost: { amount: 3, currency: 'USD' } }));

    expect(await file.costOf('s')).toEqual({ amount: 2, currency: 'USD' });
    expect(await file.costOf('none')).toBeUndefined();
  });

  test('writes at its end what is added by whoever was not told a cost yet', async () => {
    const folder = newFolder();
    const file = new UsageFile(folder, 90 * dayMs, log);
    add(file, { sessionCost: { amount: 1, currency: 'USD' } });
    const told = file.costOf('s').then((cost) => file.append(() => record({ sessionCost: cost, turns: 2 })));
    await file.end();

    expect(readUsage(folder, 0).map(({ turns }) => turns)).toEqual([1, 2]);
    await told;
  });
});

describe('readUsage', () => {
  test('reads what is not older than asked for, and leaves out what is damaged', () => {
    const folder = newFolder();
    const at = (ms: number): string => new Date(ms).toISOString();
    const [old, young]: UsageRecord[] = [
      { at: at(1_000), ...record() },
      { at: at(2_000), ...record() },
    ];
    const lines = [
      old,
      young,
      7,
      null,
      {},
      { ...young, turns: 'x' },
      { ...young, models: undefined },
      { ...young, tokens: { input: 1 } },
      { ...young, models: [{ model: 7 }] },
      { ...young, cost: null },
      { ...young, cost: { amount: 'x', currency: 'USD' } },
      { ...young, cost: { amount: 1 } },
      { ...young, sessionCost: { amount: null, currency: 'USD' } },
    ];
    // JSON has no such number, but reads one too large as that.
    const endless = JSON.stringify({ ...young, toolMs: 7 }).replace('"toolMs":7', '"toolMs":1e999');
    writeFileSync(
      join(folder, '1970-01.ndjson'),
      `${[...lines.map((line) => JSON.stringify(line)), endless].join('\n')}\n{"at`,
    );

    expect(readUsage(folder, 2_000)).toEqual([young]);
    expect(readUsage(folder, 0)).toEqual([old, young]);
  });

  test('reads nothing where nothing is', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'usage'));

    expect(readUsage(join(folder, 'usage'), 0)).toEqual([]);
    expect(readUsage(join(folder, 'none'), 0)).toEqual([]);
  });
});

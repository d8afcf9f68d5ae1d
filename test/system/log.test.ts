import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openLog } from '../../src/system/log';
import { compiled, run } from '../support/program';
import { newFolder } from '../support/temp-folder';

const folder = newFolder();
let file: string;
let count = 0;

beforeEach(() => (file = join(folder, `${++count}`, 'deep', 'cai.log')));

/** Logs as many lines as its argument says, says so, and exits when its stdin ends. */
const script = compiled(`
  import { openLog } from './src/system/log';
  const log = openLog(process.env);
  for (let i = 0; i < Number(process.argv[2]); i++) log.warn({ i }, 'line');
  process.stdout.write('done');
  process.stdin.resume().on('end', () => process.exit(0));
`);

const sayingScript = compiled(`
  import { openLog } from './src/system/log';
  openLog(process.env).warn({ said: 'x'.repeat(501) }, 'failed');
`);

describe('openLog', () => {
  test('writes a line an event, with its time, to the file that is named, and makes its folder', () => {
    const before = new Date().toISOString();

    const log = openLog({ CAI_LOG_FILE: file });
    log.warn({ method: 'session/new', id: 7 }, 'something\nodd');
    log.error('bad');

    const lines = linesIn(file);
    expect(lines).toMatchObject([
      { level: 40, method: 'session/new', id: 7, msg: 'something\nodd' },
      { level: 50, msg: 'bad' },
    ]);
    expect(String(lines[0]!.time) >= before).toBe(true);
  });

  test.each([
    [undefined, ['warn', 'error']],
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['error', ['error']],
    ['silent', []],
  ])('at level %s writes %j', (level, expected) => {
    const log = openLog({ CAI_LOG_FILE: file, CAI_LOG_LEVEL: level });

    for (const name of ['debug', 'info', 'warn', 'error'] as const) log[name](name);

    expect(linesIn(file).map(({ msg }) => msg)).toEqual(expected);
  });

  test.each(['loud', 'constructor', 'WARN'])('says that %s is no level, and writes warnings', (level) => {
    const log = openLog({ CAI_LOG_FILE: file, CAI_LOG_LEVEL: level });

    log.info('not written');
    log.warn('written');

    expect(linesIn(file)).toMatchObject([
      { level: 40, wanted: level, msg: expect.stringContaining('not a level') as string },
      { msg: 'written' },
    ]);
  });

  test.each([
    [undefined, ['warn'], ['info', 'warn']],
    ['error', [], ['info', 'warn']],
    ['debug', ['debug', 'info', 'warn'], ['info', 'warn']],
    ['silent', [], []],
  ])('at level %s shows %j and keeps %j', (level, shown, expected) => {
    const kept: string[] = [];
    const log = openLog(
      { CAI_LOG_FILE: file, CAI_LOG_LEVEL: level },
      { write: (line) => void kept.push((JSON.parse(line) as { msg: string }).msg) },
    );

    for (const name of ['debug', 'info', 'warn'] as const) log[name](name);

    expect(linesIn(file).map(({ msg }) => msg)).toEqual(shown);
    expect(kept).toEqual(expected);
  });

  test('writes what an agent may have said to no file', () => {
    const kept: string[] = [];
    const log = openLog({ CAI_LOG_FILE: file }, { write: (line) => void kept.push(line) });

    log.warn({ said: 'sk-hidden', code: 'X' }, 'failed');

    expect(linesIn(file)).toMatchObject([{ code: 'X', msg: 'failed' }]);
    expect(kept.map((line) => JSON.parse(line) as object)).toMatchObject([{ code: 'X', msg: 'failed' }]);
    expect(readFileSync(file, 'utf8') + kept.join('')).not.toContain('said');
  });

  test('writes of it the beginning to stderr', async () => {
    const program = run(sayingScript, []);

    expect((JSON.parse(await text(program.stderr)) as { said: string }).said).toBe('x'.repeat(500));
  });

  test('writes nothing by which a terminal could be steered, and nothing else than was said', () => {
    const reason = 'a\u001b[2J\u009b31m\u007f\u202e\u2028\u{e0001}é€𝄞"\\';

    openLog({ CAI_LOG_FILE: file }).warn({ reason }, 'failed');

    expect(readFileSync(file, 'utf8')).toMatch(/^[ -~é€𝄞]+\n$/u);
    expect(linesIn(file)).toMatchObject([{ reason }]);
  });

  test('adds to a file that is there', () => {
    openLog({ CAI_LOG_FILE: file }).warn('one');
    const { size } = statSync(file);

    openLog({ CAI_LOG_FILE: file }).warn('two');

    expect(linesIn(file).map(({ msg }) => msg)).toEqual(['one', 'two']);
    expect(statSync(file).size).toBeGreaterThan(size);
  });

  test('writes to the stream that it is given where no file is named', () => {
    const shown: string[] = [];
    const stream = { write: (line: string) => void shown.push(line) };

    openLog({}, undefined, stream).warn('one');
    openLog({ CAI_LOG_FILE: file }, undefined, stream).warn('two');

    expect(shown.map((line) => JSON.parse(line) as object)).toMatchObject([{ msg: 'one' }]);
    expect(linesIn(file)).toMatchObject([{ msg: 'two' }]);
  });

  test('closes its file at its end, and that in which it is kept, and drops what comes later', () => {
    const openFiles = (): number => readdirSync('/proc/self/fd').length;
    const before = openFiles();
    let ends = 0;
    const kept = { write: () => undefined, end: () => ends++ };
    const log = openLog({ CAI_LOG_FILE: file }, kept);
    log.warn('one');

    log.end();
    log.warn('two');

    expect(linesIn(file)).toMatchObject([{ msg: 'one' }]);
    expect({ ends, files: openFiles() }).toEqual({ ends: 1, files: before });
  });

  test('refuses a file that cannot be opened', () => {
    expect(() => openLog({ CAI_LOG_FILE: '/etc/hostname/cai.log' })).toThrow(
      /^CAI_LOG_FILE cannot be used: .*hostname/,
    );
  });

  test('drops lines that nobody takes from stderr, and goes on', async () => {
    const program = run(script, ['20000']);
    await once(program.stdout, 'data');

    program.stdin.end();

    const lines = (await text(program.stderr)).split('\n');
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.length).toBeLessThan(20_000);
  });

  test('writes to stderr and never to stdout', async () => {
    const program = run(script, ['100']);
    program.stdin.end();

    const [out, err] = await Promise.all([text(program.stdout), text(program.stderr)]);

    expect(out).toBe('done');
    expect(err.trim().split('\n')).toHaveLength(100);
  });
});

function linesIn(path: string): Record<string, unknown>[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { encodeHeader } from '../../../src/container/ssh/remote-command';
import { newFolder } from '../../support/temp-folder';

const inside = resolve(__dirname, '../../../src/container/inside');
const env = [['PATH', process.env.PATH!]] as const;

let session: ChildProcess;
let programs: Supervised[];

beforeEach(() => {
  session = fork(join(__dirname, 'session.mjs'));
  programs = [];
});

afterEach(async () => {
  // As if the session were gone: then the supervisor ends all that the command has started, stopped or not.
  for (const program of programs) program.signal('SIGPWR');
  await Promise.all(programs.map(({ ended }) => ended));
  session.disconnect();
  await once(session, 'exit');
});

/** A command under the supervisor, in the session. */
class Supervised {
  readonly ended: Promise<unknown>;
  readonly #id = programs.push(this);
  readonly #lines: AsyncIterator<string>;

  constructor(argv: readonly [string, ...string[]]) {
    const stdout = new PassThrough();
    this.ended = once(stdout, 'end');
    session.on('message', ({ id, text, isEnded }: { id: number; text?: string; isEnded?: true }) => {
      if (id !== this.#id) return;
      if (text !== undefined) stdout.write(text);
      if (isEnded === true) stdout.end();
    });
    const input = encodeHeader({ argv, cwd: '/', env }).toString('base64');
    session.send({ id: this.#id, argv: ['perl', join(inside, 'supervisor')], input });
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  signal(signal: NodeJS.Signals): void {
    session.send({ id: this.#id, signal });
  }

  /** The next line. */
  async next(): Promise<string> {
    const line = await this.#lines.next();
    return line.done === true ? 'the end' : line.value.replace(/^[0-9]*\0/, '');
  }

  /** What it says next besides its looks, however many have been told of that we have not read. */
  async hears(): Promise<string> {
    for (;;) {
      const line = await this.next();
      if (line !== 'look') return line;
    }
  }

  /** What it says during so many looks. */
  async says(looks: number): Promise<string[]> {
    const said: string[] = [];
    for (let count = 0; count < looks;) {
      const line = await this.next();
      if (line === 'look') count++;
      else said.push(line);
      if (line === 'the end') break;
    }
    return said;
  }
}

/**
 * What watches, with its supervisor where it is here; it looks 100 times as often, and tells when it has. `groups`: where
 * it finds the counters of control groups.
 */
function watcher(groups = '/no/such/folder'): Supervised {
  const copy = join(newFolder(), 'watch');
  const script = readFileSync(join(inside, 'watch'), 'utf8');
  const changed = script
    .replace('/run/cai/supervisor', join(inside, 'supervisor'))
    .replaceAll('/sys/fs/cgroup', groups)
    .replace('(3, 3)', '(0.03, 3)')
    .replace('  select undef', '  print "look\\n";\n  select undef');
  expect(changed.length).toBeGreaterThan(script.length + 15);
  writeFileSync(copy, changed);
  return new Supervised(['perl', copy]);
}

/** A command with a child; both wait. `how` starts the child. */
async function family(how: string): Promise<{ command: Supervised; parent: number; child: number }> {
  const script = `
    const { spawn } = require('node:child_process');
    const child = spawn('sleep', ['1000'], ${how});
    child.on('spawn', () => console.log(process.pid + ' ' + child.pid));
    setInterval(() => undefined, 1000);`;
  const command = new Supervised([process.execPath, '-e', script]);
  const [parent, child] = (await command.next()).split(' ').map(Number);
  return { command, parent: parent!, child: child! };
}

/** It needs Linux, as the containers have it. */
const describeOnLinux = platform() === 'linux' ? describe : describe.skip;

describeOnLinux('watch', () => {
  test('tells that the command is stopped, each time, and ends with it', async () => {
    const { command, parent } = await family(`{ stdio: 'ignore' }`);
    const watch = watcher();
    expect(await watch.says(5)).toEqual([]);

    for (let count = 0; count < 2; count++) {
      process.kill(parent, 'SIGSTOP');
      expect(await watch.hears()).toBe('stopped');
      process.kill(parent, 'SIGCONT');
      expect(await watch.says(5)).toEqual([]);
    }
    command.signal('SIGTERM');

    expect(await watch.says(1_000)).toEqual(['the end']);
  });

  test('tells it of a program that serves in its place, with the same input, and of that alone', async () => {
    const { parent, child } = await family(`{ stdio: 'inherit' }`);
    const watch = watcher();

    process.kill(parent, 'SIGSTOP');
    expect(await watch.says(5)).toEqual([]);
    process.kill(child, 'SIGSTOP');

    expect(await watch.hears()).toBe('stopped');
  });

  test('says nothing of a tool that is stopped, nor of what was stopped for a moment', async () => {
    const { parent, child } = await family(`{ stdio: ['pipe', 'ignore', 'ignore'] }`);
    const watch = watcher();

    process.kill(child, 'SIGSTOP');
    expect(await watch.says(5)).toEqual([]);
    process.kill(parent, 'SIGSTOP');
    await watch.says(1);
    process.kill(parent, 'SIGCONT');

    expect(await watch.says(5)).toEqual([]);
  });

  test.each([
    ['second', 'memory.events', 'low 0\noom 9\noom_kill 1\n', 'pids.events'],
    ['first', 'memory/memory.oom_control', 'oom_kill_disable 0\noom_kill 1\n', 'pids/pids.events'],
  ])('tells what has run out in the %s version of control groups', async (_, memory, text, pids) => {
    await family(`{ stdio: 'ignore' }`);
    const groups = newFolder();
    for (const folder of ['memory', 'pids']) mkdirSync(join(groups, folder));
    writeFileSync(join(groups, memory), text);
    writeFileSync(join(groups, pids), 'max 0\n');
    const watch = watcher(groups);
    expect(await watch.says(5)).toEqual(['memory 1', 'processes 0']);

    writeFileSync(join(groups, pids), 'max 12\n');

    expect(await watch.hears()).toBe('processes 12');
    expect(await watch.says(5)).toEqual([]);
  });

  test('is not misled by what takes the name of a supervisor', async () => {
    const { child } = await family(`{ argv0: '/usr/bin/perl /run/cai/supervisor', stdio: 'ignore' }`);
    const watch = watcher();

    process.kill(child, 'SIGSTOP');

    expect(await watch.says(5)).toEqual([]);
  });
});

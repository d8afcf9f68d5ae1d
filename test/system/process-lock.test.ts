import { once } from 'node:events';
import type * as fs from 'node:fs';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProcessLocks } from '../../src/system/process-lock';
import { compiled, run } from '../support/program';
import { newFolder } from '../support/temp-folder';

let folder: string;
let locks: ProcessLocks;

beforeEach(() => {
  folder = join(newFolder(), 'locks');
  locks = new ProcessLocks(folder);
});

/** Takes the lock, says so, and gives it back at the first input. */
const holder = compiled(`
  import { once } from 'node:events';
  import { ProcessLocks } from './src/system/process-lock';
  const [folder, name] = process.argv.slice(2);
  void new ProcessLocks(folder).take(name, { pollMs: 3 }).then(async (lock) => {
    process.stdout.write('mine\\n');
    await once(process.stdin, 'data');
    process.stdout.write('given back\\n', () => lock!.release());
    process.stdin.destroy();
  });
`);

async function held(name: string) {
  const other = run(holder, [folder, name]);
  await once(other.stdout, 'data');
  return other;
}

/** Of a process that was killed while it had it. */
async function left(name: string): Promise<void> {
  const other = await held(name);
  other.kill('SIGKILL');
  await once(other, 'close');
}

const shortly = () => ({ pollMs: 3, deadline: performance.now() + 50 });

describe('a lock', () => {
  test('is held until it is given back, and nothing is left of that', () => {
    const lock = locks.tryTake('a');

    expect(locks.holders()).toMatchObject([{ name: 'a', pid: process.pid, isAlive: true }]);
    expect(locks.tryTake('a')).toBeUndefined();

    lock!.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is taken without a look at who has the others, which may be thousands', () => {
    const readsFor = (name: string) => {
      const read = jest.spyOn(jest.requireActual<typeof fs>('node:fs'), 'readFileSync');
      locks.tryTake(name);
      const { length } = read.mock.calls;
      read.mockRestore();
      return length;
    };
    locks.tryTake('z')!.release();
    const withoutOthers = readsFor('a');
    for (const name of ['b.c', 'd', 'e']) locks.tryTake(name);

    expect(readsFor('b')).toBe(withoutOthers);
  });

  test('is waited for while another process has it, which is told once, and others are not', async () => {
    const other = await held('a.b');
    const closed = once(other, 'close');
    const told: number[] = [];

    expect(locks.tryTake('a')).toBeDefined();
    expect(locks.tryTake('a.b.c')).toBeDefined();
    expect(await locks.take('a.b', shortly())).toBeUndefined();
    const waiting = locks.take('a.b', {
      pollMs: 3,
      onWait: (pid) => {
        told.push(pid);
        other.stdin.write('go\n');
      },
    });

    expect(await waiting).toBeDefined();
    expect(told).toEqual([other.pid]);
    await closed;
  });

  test('is free where its process was killed, of which nothing is left', async () => {
    await left('a');
    expect(locks.holders()).toMatchObject([{ name: 'a', isAlive: false }]);

    locks.tryTake('a')!.release();

    expect(readdirSync(folder)).toEqual([]);
  });

  test('is not kept by another process that has the same pid as one that has died', async () => {
    const other = await held('other');
    writeFileSync(join(folder, `a.${other.pid}.1.lock`), '');

    expect(locks.tryTake('a')).toBeDefined();

    other.kill('SIGKILL');
  });

  test('is kept by a process of another container as long as that renews its file, and half a minute longer', () => {
    const file = join(folder, `a.1.5@elsewhere.lock`);
    mkdirSync(folder);
    writeFileSync(file, '');
    expect(locks.tryTake('a')).toBeUndefined();

    const long = Date.now() / 1_000 - 31;
    utimesSync(file, long, long);
    const lock = locks.tryTake('a');

    lock!.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is renewed for those in other containers until it is given back', () => {
    jest.useFakeTimers();
    try {
      const lock = locks.tryTake('a');
      const [name = ''] = readdirSync(folder);
      const long = Date.now() / 1_000 - 31;
      utimesSync(join(folder, name), long, long);

      jest.advanceTimersByTime(5_000);

      expect(statSync(join(folder, name)).mtimeMs).toBeGreaterThan(Date.now() - 6_000);
      lock!.release();
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  test('is held while something is done, and no longer, also where that fails', async () => {
    const isHeld = () => locks.holders().map(({ name }) => name);

    expect(await locks.hold('a', { pollMs: 3 }, isHeld)).toEqual(['a']);
    const failing = locks.hold('a', { pollMs: 3 }, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');

    expect(isHeld()).toEqual([]);
  });

  test('is waited for no longer than is said', async () => {
    const lock = locks.tryTake('a');
    const late = () => new Error('too late');
    const use = jest.fn();

    await expect(locks.hold('a', { pollMs: 3, limitMs: 10, late }, use)).rejects.toThrow('too late');

    expect(use).not.toHaveBeenCalled();
    lock!.release();
  });

  test('is had by one process at a time, however many want it at once', async () => {
    const others = Array.from({ length: 5 }, () => run(holder, [folder, 'a']));
    const said: string[] = [];
    for (const other of others) {
      other.stdout.setEncoding('utf8').on('data', (text: string) => {
        said.push(...text.split('\n').filter((line) => line !== ''));
        if (text.includes('mine')) other.stdin.write('go\n');
      });
    }
    await Promise.all(others.map((other) => once(other, 'close')));

    expect(said.join(' ')).toBe(Array(5).fill('mine given back').join(' '));
  }, 60_000);

  test('is had by one caller of the same process at a time', async () => {
    const order: string[] = [];
    const work = async (name: string) => {
      const lock = await locks.take('a', { pollMs: 3 });
      order.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} ends`);
      lock!.release();
    };

    await Promise.all(['one', 'two'].map(work));

    expect(order).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  test('cannot be had in a folder that cannot be made', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');

    expect(new ProcessLocks(file).holders()).toEqual([]);
    await expect(new ProcessLocks(file).take('a', { pollMs: 3 })).rejects.toThrow('EEXIST');
  });
});

test('what is no lock of anybody has no holder', () => {
  mkdirSync(folder);
  for (const name of ['README', 'ab12.lock', 'ab12.1.lock', '.ab12.1.1.lock'])
    writeFileSync(join(folder, name), '');

  expect(locks.holders()).toEqual([]);
});

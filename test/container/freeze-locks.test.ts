import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FreezeLocks } from '../../src/container/freeze-locks';
import { compiled, run } from '../support/program';
import { newFolder } from '../support/temp-folder';

const container = 'ab12';
const [soon, late] = [() => performance.now() + 50, () => performance.now() + 60_000];

let folder: string;
let locks: FreezeLocks;

beforeEach(() => {
  folder = join(newFolder(), 'frozen');
  locks = new FreezeLocks(folder);
});

/** Takes the lock, says so, and gives it back at the first input. */
const holder = compiled(`
  import { once } from 'node:events';
  import { FreezeLocks } from './src/container/freeze-locks';
  const [folder] = process.argv.slice(2);
  void new FreezeLocks(folder).take('${container}', 'a note', Infinity).then(async (lock) => {
    process.stdout.write('mine\\n');
    await once(process.stdin, 'data');
    lock!.release(true);
    process.stdout.write('given back\\n');
    process.stdin.destroy();
  });
`);

describe('a container that is to be frozen', () => {
  test('is held until it is given back, and nothing is left of that', async () => {
    const lock = await locks.take(container, 'a note', soon());

    expect(lock).toMatchObject({ container, isLeft: false });
    expect(locks.holders()).toMatchObject([{ container, isAlive: true, note: 'a note' }]);
    expect(await locks.take(container, '', soon())).toBeUndefined();

    lock!.release(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is waited for while another process has it, and others are not', async () => {
    const other = run(holder, [folder]);
    await once(other.stdout, 'data');

    expect(await locks.take('cd34', '', soon())).toBeDefined();
    expect(await locks.take(container, '', soon())).toBeUndefined();
    const waiting = locks.take(container, '', late());
    const closed = once(other, 'close');
    other.stdin.write('go\n');

    expect(await waiting).toMatchObject({ isLeft: false });
    await closed;
  });

  test('is told to have been left where its process was killed, until somebody has thawed it', async () => {
    const other = run(holder, [folder]);
    await once(other.stdout, 'data');
    other.kill('SIGKILL');
    await once(other, 'close');
    expect(locks.holders()).toMatchObject([{ container, isAlive: false }]);

    const first = await locks.take(container, '', late());
    expect(first!.isLeft).toBe(true);
    first!.release(false);
    const second = await locks.take(container, '', late());
    expect(second!.isLeft).toBe(true);
    second!.release(true);

    expect(locks.holders()).toEqual([]);
  });

  test('is had by one process at a time, however many want it at once', async () => {
    const others = Array.from({ length: 4 }, () => run(holder, [folder]));
    const said: string[] = [];
    for (const other of others) {
      other.stdout.setEncoding('utf8').on('data', (text: string) => {
        said.push(...text.split('\n').filter((line) => line !== ''));
        if (text.includes('mine')) other.stdin.write('go\n');
      });
    }
    await Promise.all(others.map((other) => once(other, 'close')));

    expect(said.join(' ')).toBe(Array(4).fill('mine given back').join(' '));
  }, 60_000);
});

test('what is no lock of anybody is no holder', () => {
  mkdirSync(folder);
  for (const name of ['README', 'ab12.lock', 'ab12.1.lock', '.ab12.1.1.lock'])
    writeFileSync(join(folder, name), '');

  expect(locks.holders()).toEqual([]);
});

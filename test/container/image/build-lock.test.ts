import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withBuildLock } from '../../../src/container/image/build-lock';
import { compiled, run } from '../../support/program';

const base = mkdtempSync(join(tmpdir(), 'cai-lock-'));
let folder: string;
let count = 0;

beforeEach(() => (folder = join(base, `${++count}`, 'builds')));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const nobody = (): void => {
  throw new Error('there is nobody to wait for');
};

/** Takes the lock, says so, and gives it back at the first input. */
const holder = compiled(`
  import { once } from 'node:events';
  import { withBuildLock } from './src/container/image/build-lock';
  const [folder, name] = process.argv.slice(2);
  void withBuildLock(folder, name, (pid) => process.stdout.write('waiting for ' + pid + '\\n'), async () => {
    process.stdout.write('mine\\n');
    await once(process.stdin, 'data');
    process.stdin.destroy();
  });
`);

describe('withBuildLock', () => {
  test('gives back what the work gives, and leaves nothing behind', async () => {
    expect(await withBuildLock(folder, 'a', nobody, () => Promise.resolve(7))).toBe(7);

    expect(readdirSync(folder)).toEqual([]);
  });

  test('is free again after work that has failed', async () => {
    const failing = withBuildLock(folder, 'a', nobody, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');

    expect(await withBuildLock(folder, 'a', nobody, () => Promise.resolve(7))).toBe(7);
  });

  test('waits for another process, tells once for whom, and goes on when that one is done', async () => {
    const first = run(holder, [folder, 'a']);
    await once(first.stdout, 'data');
    const told: number[] = [];
    let hasRun = false;

    const second = withBuildLock(
      folder,
      'a',
      (pid) => {
        told.push(pid);
        first.stdin.write('go');
      },
      () => {
        hasRun = true;
        expect(readdirSync(folder)).toEqual([expect.stringContaining(`.${process.pid}.`)]);
        return Promise.resolve();
      },
    );

    expect(hasRun).toBe(false);
    await second;
    expect(told).toEqual([first.pid]);
  });

  test('does not wait for a process that was killed at it', async () => {
    const first = run(holder, [folder, 'a']);
    await once(first.stdout, 'data');
    first.kill('SIGKILL');
    await once(first, 'exit');
    expect(readdirSync(folder)).toHaveLength(1);

    expect(await withBuildLock(folder, 'a', nobody, () => Promise.resolve(7))).toBe(7);

    expect(readdirSync(folder)).toEqual([]);
  });

  test('does not take a process for another one that had the same pid before', async () => {
    const other = run(holder, [folder, 'other']);
    await once(other.stdout, 'data');
    writeFileSync(join(folder, `a.${other.pid}.1.lock`), '');

    expect(await withBuildLock(folder, 'a', nobody, () => Promise.resolve(7))).toBe(7);

    other.kill('SIGKILL');
  });

  test('keeps names apart, also if one begins like the other', async () => {
    const other = run(holder, [folder, 'a.b']);
    await once(other.stdout, 'data');

    expect(await withBuildLock(folder, 'a', nobody, () => Promise.resolve(7))).toBe(7);

    other.kill('SIGKILL');
  });

  test('keeps calls in one process apart', async () => {
    const order: string[] = [];
    const work = (name: string) => async () => {
      order.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} ends`);
    };

    await Promise.all(['one', 'two'].map((name) => withBuildLock(folder, 'a', nobody, work(name))));

    expect(order).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  test('lets one of many processes in at a time', async () => {
    const log = join(base, `${count}.log`);
    const script = compiled(`
      import { appendFileSync } from 'node:fs';
      import { setTimeout as sleep } from 'node:timers/promises';
      import { withBuildLock } from './src/container/image/build-lock';
      const [folder, log] = process.argv.slice(2);
      void withBuildLock(folder, 'a', () => undefined, async () => {
        appendFileSync(log, process.pid + '\\n');
        await sleep(5);
        appendFileSync(log, process.pid + '\\n');
      });
    `);

    const programs = Array.from({ length: 6 }, () => run(script, [folder, log]));
    await Promise.all(programs.map((program) => once(program, 'exit')));

    const pids = readFileSync(log, 'utf8').trimEnd().split('\n');
    expect(pids).toHaveLength(12);
    expect(pids.filter((pid, index) => index % 2 === 1 && pid !== pids[index - 1])).toEqual([]);
  });

  test('says which folder cannot be used', async () => {
    writeFileSync(join(base, 'file'), '');

    const failing = withBuildLock(join(base, 'file'), 'a', nobody, () => Promise.resolve());

    await expect(failing).rejects.toMatchObject({
      code: 'IMAGE',
      message: expect.stringContaining(join(base, 'file')) as string,
    });
  });
});

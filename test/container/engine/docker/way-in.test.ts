import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type * as promises from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { wayInto } from '../../../../src/container/engine/docker/way-in';
import { NotYet } from '../../../../src/container/engine/engine';

jest.mock('node:fs/promises', () => {
  const real: typeof promises = jest.requireActual('node:fs/promises');
  return { ...real, readFile: jest.fn(real.readFile) };
});

describe('wayInto', () => {
  const stream = new PassThrough();

  test.each([
    ['has no such process', 4_194_305],
    ['counts this process as its first', process.pid],
    ['tells no process', 0],
    ['is not the engine’s', undefined],
  ])('has the engine start sshd, where this system %s', async (_, pid) => {
    const exec = jest.fn<Promise<PassThrough>, [readonly string[]]>(() => Promise.resolve(stream));
    expect(await wayInto(exec, pid, {})).toBe(stream);

    expect(exec.mock.calls.map(([argv]) => argv.at(-1))).toEqual(['/run/cai/sshd_config']);
  });

  test('has the engine start sshd, where this system tells no children of processes', async () => {
    const keeper = spawn('/bin/sh', ['-c', 'echo runs; read -r line', '/run/cai/keeper', '']);
    await once(keeper.stdout, 'data');
    const real: typeof promises = jest.requireActual('node:fs/promises');
    jest
      .mocked(readFile)
      .mockImplementation((path, ...options) =>
        real.readFile((path as string).replace(/children$/, 'none'), ...options),
      );

    expect(await wayInto(() => Promise.resolve(stream), keeper.pid, {})).toBe(stream);
    keeper.stdin.end();
  });

  test('is not there yet while the container stands still', async () => {
    await expect(wayInto(() => Promise.resolve(undefined), 0, {})).rejects.toBeInstanceOf(NotYet);
  });
});

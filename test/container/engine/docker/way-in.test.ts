import { PassThrough } from 'node:stream';
import { wayInto } from '../../../../src/container/engine/docker/way-in';
import { NotYet } from '../../../../src/container/engine/engine';

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

  test('is not there yet while the container stands still', async () => {
    await expect(wayInto(() => Promise.resolve(undefined), 0, {})).rejects.toBeInstanceOf(NotYet);
  });
});

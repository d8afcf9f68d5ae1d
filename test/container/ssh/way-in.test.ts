import { PassThrough } from 'node:stream';
import { NotYet, wayInto } from '../../../src/container/ssh/way-in';

describe('wayInto', () => {
  const started: unknown[] = [];
  const stream = new PassThrough();
  const engine = {
    exec: (id: string, argv: readonly string[]) => {
      started.push([id, argv.at(-1)]);
      return Promise.resolve(id === 'paused' ? undefined : stream);
    },
  };
  beforeEach(() => void started.splice(0));

  test.each([
    ['has no such process', 4_194_305],
    ['counts this process as its first', process.pid],
    ['tells no process', 0],
  ])('has the engine start sshd, where this system %s', async (_, pid) => {
    expect(await wayInto(engine, { id: 'there', pid }, {})).toBe(stream);

    expect(started).toEqual([['there', '/run/cai/sshd_config']]);
  });

  test('is not there yet while the container stands still', async () => {
    await expect(wayInto(engine, { id: 'paused', pid: 0 }, {})).rejects.toBeInstanceOf(NotYet);
  });
});

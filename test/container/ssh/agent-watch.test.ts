import { PassThrough } from 'node:stream';
import { watchCommand } from '../../../src/container/ssh/agent-watch';
import { CaiError } from '../../../src/errors';
import type { RemoteProcess } from '../../../src/container/ssh/remote-process';

/** A watcher that a test plays. */
class Played {
  readonly stdout = new PassThrough();
  end!: (status: number) => void;
  readonly process = {
    ...{ stdin: new PassThrough(), stdout: this.stdout, stderr: new PassThrough() },
    exited: new Promise((resolve) => (this.end = (status) => resolve({ status }))),
  } as unknown as RemoteProcess;
}

/** Watches a command; each time that the watcher is started, `start` gives it or fails. */
function watching(start: () => Played | undefined = () => new Played()) {
  const told: string[] = [];
  const played: Played[] = [];
  const connection = {
    isOver: false,
    run: () => {
      const next = start();
      if (next === undefined) return Promise.reject(new CaiError('SSH_CONNECT', 'no room'));
      played.push(next);
      return Promise.resolve(next.process);
    },
  };
  const command = { hasEnded: false };
  const heard = {
    stopped: (rest: string) => told.push(`stopped:${rest}`),
    disk: (rest: string) => told.push(`disk:${rest}`),
  };
  const onUnwatchable = () => told.push('unwatchable');
  let isOver = false;
  void watchCommand(connection, { command, heard, onUnwatchable }).then(() => (isOver = true));
  return { told, played, connection, command, isOver: () => isOver };
}

/** What is heard of a watcher that says this, chunk by chunk. */
async function heard(...chunks: readonly string[]): Promise<string[]> {
  const { told, played } = watching();
  await Promise.resolve();
  const { stdout } = played[0]!;
  for (const chunk of chunks) stdout.write(chunk, 'latin1');
  await new Promise((resolve) => stdout.end(resolve).on('end', resolve));
  return told;
}

describe('watchCommand', () => {
  test('hears words, with what belongs to them, however they arrive', async () => {
    expect(await heard('sto', 'pped\ndisk 80', ' of 100\ndisk 81\n')).toEqual([
      'stopped:',
      'disk:80 of 100',
      'disk:81',
    ]);
  });

  test('hears each line of a word once', async () => {
    expect(await heard('stopped\nstopped\ndisk 1\nstopped\ndisk 1\n')).toEqual(['stopped:', 'disk:1']);
  });

  test('hears nothing else, whatever the container says', async () => {
    const hostile = [
      'toString x\n',
      'constructor\n',
      'Stopped\n',
      'stopped\r\n',
      'disk \x1b[31m\n',
      'disk \xff\n',
    ];
    expect(await heard(...hostile, '{"kind":"stopped"}\n', `disk ${'x'.repeat(1_000)}\n`, 'disk 1')).toEqual(
      [],
    );
  });

  test('keeps no more of a line than it may have', async () => {
    expect(await heard(...Array<string>(100).fill('x'.repeat(10_000)), '\nstopped\n')).toEqual(['stopped:']);
  });

  describe('when its watcher ends', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());
    /** Longer than it waits before it starts a watcher again. */
    const againMs = 3_000;

    /** Ends the watcher that was started last, after it has run for so long. */
    async function endLast(
      { played }: ReturnType<typeof watching>,
      status = 137,
      afterMs = 0,
    ): Promise<void> {
      await jest.advanceTimersByTimeAsync(afterMs);
      played.at(-1)!.end(status);
      await jest.advanceTimersByTimeAsync(againMs);
    }

    test('starts another, which is heard as well', async () => {
      const run = watching();
      run.played[0]!.stdout.write('disk 80\nstop');
      await endLast(run);
      expect(run.played).toHaveLength(2);

      run.played[1]!.stdout.write('disk 80\nstopped\n');
      await jest.advanceTimersByTimeAsync(1);

      expect(run.told).toEqual(['disk:80', 'stopped:']);
    });

    test('gives up at the third that is ended before it would have seen anything', async () => {
      const run = watching();
      await endLast(run, 137, 1_000_000);
      await endLast(run, 0);
      expect(run.told).toEqual([]);

      await endLast(run, 1);

      expect(run.told).toEqual(['unwatchable']);
      expect(run.played).toHaveLength(3);
      expect(run.isOver()).toBe(true);
    });

    test('never gives up while each runs long enough', async () => {
      const run = watching();

      for (let count = 0; count < 20; count++) await endLast(run, 137, 10_000);

      expect(run.told).toEqual([]);
      expect(run.played).toHaveLength(21);
    });

    test.each(['command', 'connection'] as const)('starts none once the %s has ended', async (which) => {
      const run = watching();
      if (which === 'command') run.command.hasEnded = true;
      else run.connection.isOver = true;

      await endLast(run);

      expect(run.played).toHaveLength(1);
      expect(run.told).toEqual([]);
      expect(run.isOver()).toBe(true);
    });

    test('waits where there is no room for one, however long', async () => {
      let hasRoom = false;
      const run = watching(() => (hasRoom ? new Played() : undefined));
      await jest.advanceTimersByTimeAsync(1_000_000);
      expect(run.told).toEqual([]);
      hasRoom = true;

      await jest.advanceTimersByTimeAsync(10_000);

      expect(run.played).toHaveLength(1);
      expect(run.isOver()).toBe(false);
    });
  });
});

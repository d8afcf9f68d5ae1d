import type { Readable, Writable } from 'node:stream';
import type { Taker } from '../../rpc/status';
import { brokenPipeStatus } from '../../system/streams/printed';
import type { PipeStreams } from '../../system/streams/pipe-streams';
import type { RemoteProcess } from './remote-process';

/**
 * Joins a command to our own streams, byte by byte. The end of stdin is passed on and ends nothing. Resolves with
 * the exit status once all output is written; with 141 as soon as nobody reads stdout: the caller then ends the
 * connection, and so the command. Rejects with `SSH_CONNECT` if the connection is lost, after what had arrived.
 * `taker` may take the `pipes` of a command that has some, whose stdout is then no matter here.
 */
export async function relay(
  command: RemoteProcess,
  own: { readonly stdin: Readable; readonly stdout: Writable; readonly stderr: Writable },
  taker?: Taker,
): Promise<number> {
  const { stdin } = own;
  if (taker !== undefined && command.pipes !== undefined) letGo(command.stdout, command.pipes, taker);
  stdin.pipe(command.stdin);
  // A terminal that is gone has no more to say.
  stdin.on('error', () => command.stdin.end());
  // Who writes to us does not hear that the command reads no more.
  command.stdin.on('error', () => stdin.resume());
  const stderr = deliver(command.stderr, own.stderr).catch(() => void command.stderr.resume());
  try {
    await deliver(command.stdout, own.stdout);
    await stderr;
    return (await command.exited).status;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'EPIPE') return brokenPipeStatus;
    throw reason;
  } finally {
    stdin.unpipe(command.stdin);
    stdin.pause();
  }
}

function letGo(stdout: Readable, pipes: Pick<PipeStreams, 'release'>, taker: Taker): void {
  let writtenBytes = 0;
  stdout.on('data', (chunk: Buffer) => (writtenBytes += chunk.length));
  void taker.taken.then(() => {
    pipes.release();
    taker.released(writtenBytes);
  });
}

/** Resolves when everything is written; rejects when it cannot be. */
function deliver(from: Readable, to: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    to.on('error', reject);
    // What is written last is written after all else.
    for (const over of ['end', 'close']) from.on(over, () => to.write('', () => resolve()));
    from.pipe(to, { end: false });
  });
}

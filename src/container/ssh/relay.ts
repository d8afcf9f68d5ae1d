import type { Readable, Writable } from 'node:stream';
import { brokenPipeStatus } from '../../system/streams/printed';
import type { RemoteProcess } from './remote-process';

/**
 * Joins a command to our own streams, byte by byte. The end of stdin is passed on and ends nothing. Resolves with
 * the exit status once all output is written; with 141 as soon as nobody reads stdout: the caller then ends the
 * connection, and so the command. Rejects with `SSH_CONNECT` if the connection is lost, after what had arrived.
 */
export async function relay(
  command: RemoteProcess,
  own: { readonly stdin: Readable; readonly stdout: Writable; readonly stderr: Writable },
): Promise<number> {
  const { stdin } = own;
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

/** Resolves when everything is written; rejects when it cannot be. */
function deliver(from: Readable, to: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    to.on('error', reject);
    // What is written last is written after all else.
    from.on('end', () => to.write('', () => resolve()));
    from.pipe(to, { end: false });
  });
}

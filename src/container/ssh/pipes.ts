/** A command's stdin and stdout by named pipes of its container, past sshd. */
import { readSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { errorCodeOf } from '../../errors';
import type { OpenPipes } from '../engine/engine';

/** What the kernel keeps in a pipe is read in pieces of so many bytes. */
const pieceBytes = 64 * 1024;
/** A pipe holds no more than that many of them. Source: pipe(7), /proc/sys/fs/pipe-max-size. */
const mostPieces = 16;

/** Our ends of a command's pipes. */
export interface PipeStreams {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /**
   * Ends both, after what the command has written: for when it has ended, or is lost. Something else in the container may
   * hold its ends open.
   */
  end(): void;
}

/** The streams of open pipes, which they close. */
export function streamsOf({ input, output }: OpenPipes): PipeStreams {
  const stdin = new Socket({ fd: input, readable: false, writable: true });
  // What is written when the command has ended may be lost.
  stdin.on('error', () => undefined);
  const stdout = new Socket({ fd: output, readable: true, writable: false });
  let isOver = false;
  const push = stdout.push.bind(stdout);
  // Nothing comes after the end.
  stdout.push = (chunk: Buffer | null) => {
    if (isOver) return false;
    isOver = chunk === null;
    return push(chunk);
  };
  return {
    stdin,
    stdout,
    end() {
      stdin.destroy();
      if (isOver || stdout.destroyed) return;
      for (let count = 0; count < mostPieces; count++) {
        const rest = readNow(output);
        if (rest === undefined) break;
        stdout.push(rest);
      }
      stdout.push(null);
    },
  };
}

/** What is in a pipe; `undefined`: nothing. */
function readNow(descriptor: number): Buffer | undefined {
  const piece = Buffer.allocUnsafe(pieceBytes);
  try {
    const count = readSync(descriptor, piece);
    return count === 0 ? undefined : piece.subarray(0, count);
  } catch (reason) {
    if (errorCodeOf(reason) === 'EAGAIN') return undefined;
    throw reason;
  }
}

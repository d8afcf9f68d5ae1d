/** A command's stdin and stdout by named pipes, past the programs that have started it. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { errorCodeOf } from '../../errors';

/** What the kernel keeps in a pipe is read in pieces of so many bytes. */
const pieceBytes = 64 * 1024;
/** A pipe holds no more than that many of them. Source: pipe(7), /proc/sys/fs/pipe-max-size. */
const mostPieces = 16;

/** Our ends of the pipes that are a command's stdin and stdout, as open descriptors that do not block. */
export interface OpenPipes {
  /** To write to its stdin. */
  readonly input: number;
  /** To read its stdout. */
  readonly output: number;
}

/** What a command writes to its stdout. */
export interface PipeOutput {
  readonly stdout: Readable;
  /**
   * Ends it after what the command has written: for when it has ended, or is lost. Something else in the container may
   * hold its end open.
   */
  end(): void;
}

/** Our ends of a command's pipes. `end` ends both. */
export interface PipeStreams extends PipeOutput {
  readonly stdin: Writable;
  readonly descriptors: OpenPipes;
  /** Closes both, because another program has taken them. What `stdout` has read and not given yet is given before. */
  release(): void;
}

/** Opens once more what another process of this user has open, `undefined` where that cannot be. */
export function openPipesOf(pid: number, { input, output }: OpenPipes): OpenPipes | undefined {
  const opened: number[] = [];
  try {
    for (const [descriptor, way] of [
      [input, constants.O_WRONLY],
      [output, constants.O_RDONLY],
    ] as const) {
      const own = openSync(`/proc/${pid}/fd/${descriptor}`, way | constants.O_NONBLOCK);
      opened.push(own);
      if (!fstatSync(own).isFIFO()) throw new Error('not a pipe');
    }
    return { input: opened[0]!, output: opened[1]! };
  } catch {
    // It has ended, or there is no such way on this system.
    for (const each of opened) closeSync(each);
    return undefined;
  }
}

/** The streams of open pipes, which they close. The output is read from now on. */
export function streamsOf(descriptors: OpenPipes): PipeStreams {
  const stdin = inputOf(descriptors.input);
  const output = outputOf(descriptors.output);
  const { stdout } = output;
  return {
    stdin,
    stdout,
    descriptors,
    release() {
      stdin.destroy();
      stdout.pause();
      stdout.read();
      stdout.destroy();
    },
    end() {
      stdin.destroy();
      output.end();
    },
  };
}

/** The stream of a descriptor, which it closes. */
export function inputOf(input: number): Writable {
  const stdin = new Socket({ fd: input, readable: false, writable: true });
  // What is written when the command has ended may be lost.
  stdin.on('error', () => undefined);
  return stdin;
}

/** The stream of a descriptor, which it closes. It is read from now on. */
export function outputOf(output: number): PipeOutput {
  const stdout = new Socket({ fd: output, readable: true, writable: false });
  // It is closed then.
  stdout.on('error', () => undefined);
  let isOver = false;
  const push = stdout.push.bind(stdout);
  // Nothing comes after the end.
  stdout.push = (chunk: Buffer | null) => {
    if (isOver) return false;
    isOver = chunk === null;
    return push(chunk);
  };
  return {
    stdout,
    end() {
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

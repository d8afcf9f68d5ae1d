/**
 * stdout and stderr of an SSH channel, which share one window. ssh2 opens that window again when either of them is
 * read, so that a few bytes on the one make room for megabytes that nobody reads on the other. Here it is opened
 * only when both have room: memory is bounded by a window beyond what each of them may hold.
 */
import { Readable } from 'node:stream';

/** What each stream may hold before the window stays shut, in bytes. */
const highWaterMark = 256 * 1024;

/** A channel of ssh2, as far as its output goes. */
export interface OutputChannel extends Readable {
  /** The other stream of the same channel. */
  readonly stderr: Readable;
}

/** The two streams; each ends when the channel's does. Call before the channel has any data. */
export function openOutput(channel: OutputChannel): { readonly stdout: Readable; readonly stderr: Readable } {
  const full = new Set<Readable>();
  function divert(source: Readable): Readable {
    const stream: Readable = new Readable({
      highWaterMark,
      read: () => {
        full.delete(stream);
        // Opens the window if it was left shut.
        if (full.size === 0) channel._read(0);
      },
    });
    const push = source.push.bind(source);
    source.push = (chunk: Buffer | null) => {
      const hasRoom = stream.push(chunk);
      // What holds nothing must end all the same, for the channel to close.
      if (chunk === null) return push(null);
      if (!hasRoom) full.add(stream);
      // ssh2 leaves the window shut where a stream says that it is full.
      return full.size === 0;
    };
    source.resume();
    return stream;
  }
  return { stdout: divert(channel), stderr: divert(channel.stderr) };
}

/** The windows of SSH channels: how much the other end may send before it is given room for more. */
import { Readable } from 'node:stream';

/** What the other end of a channel may send before it is given room for more. */
interface ChannelWindow {
  /** The room that is left on all streams of a channel of ssh2, in bytes. */
  readonly incoming: { window: number };
}

/**
 * Calls `onExcess` once more has come on a channel than there was room for: ssh2 takes it all the same, unless no room at
 * all was left, and its streams keep what they are given. Source: RFC 4254, 5.2.
 */
export function heedWindow(channel: object, onExcess: () => void): void {
  const { incoming } = channel as ChannelWindow;
  let room = incoming.window;
  Object.defineProperty(incoming, 'window', {
    get: () => room,
    set: (bytes: number) => {
      // ssh2 drops what comes from now on.
      room = Math.max(bytes, 0);
      if (bytes < 0) onExcess();
    },
  });
}

/** What each stream may hold before the window stays shut, in bytes. */
const highWaterMark = 256 * 1024;
/** Shorter pieces are put together, so many of them, in bytes. */
const smallBytes = 1_024;
const maxPieces = 256;

/**
 * stdout and stderr of an SSH channel, each of which ends when the channel does. Call before the channel has any data.
 *
 * They share one window. ssh2 opens that window again when either of them is read, so that a few bytes on the one make
 * room for megabytes that nobody reads on the other. Here it is opened only when both have room: memory is bounded by a
 * window beyond what each of them may hold.
 */
export function openOutput(channel: Readable & { readonly stderr: Readable }) {
  const full = new Set<Readable>();
  function divert(source: Readable): Readable {
    /** What came in small pieces while it was full, put together: each takes far more memory than its bytes. */
    let pieces: Buffer[] = [];
    const take = (): void => {
      const all = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      if (!stream.push(all)) full.add(stream);
    };
    const stream: Readable = new Readable({
      highWaterMark,
      read: () => {
        full.delete(stream);
        if (pieces.length > 0) take();
        // Opens the window if it was left shut.
        if (full.size === 0) channel._read(0);
      },
    });
    const push = source.push.bind(source);
    source.push = (chunk: Buffer | null) => {
      if (chunk === null) {
        if (pieces.length > 0) take();
        stream.push(null);
        // What holds nothing must end all the same, for the channel to close.
        return push(null);
      }
      pieces.push(chunk);
      if (!full.has(stream) || chunk.length >= smallBytes || pieces.length >= maxPieces) take();
      // ssh2 leaves the window shut where a stream says that it is full.
      return full.size === 0;
    };
    source.resume();
    return stream;
  }
  return { stdout: divert(channel), stderr: divert(channel.stderr) };
}

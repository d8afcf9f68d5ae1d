/** The channels of one connection share what it may keep. */
import { once } from 'node:events';
import type { Duplex, Writable } from 'node:stream';

/** How much a channel keeps whose other end does not read, in bytes. Those inside open as many as they like. */
const keptBytes = 64 * 1024;

/**
 * For the channels of a connection over that stream: each then takes no more while the stream has enough to send. ssh2
 * heeds their windows alone, and those of many together are too much to keep.
 */
export function paceOf(stream: Duplex): <T extends Duplex>(channel: T) => T {
  let draining: Promise<unknown> | undefined;
  // What fails ends the channels, too.
  const drained = () =>
    (draining ??= once(stream, 'drain')
      .catch(() => undefined)
      .finally(() => (draining = undefined)));
  return (channel) => {
    // ssh2 has no option for it, and keeps 2 MiB.
    const { _writableState: state } = channel as unknown as { _writableState: { highWaterMark: number } };
    state.highWaterMark = keptBytes;
    const write = channel._write.bind(channel);
    channel._write = (chunk, encoding, done) => {
      if (stream.writableNeedDrain) void drained().then(() => channel._write(chunk, encoding, done));
      else write(chunk, encoding, done);
    };
    return channel;
  };
}

/**
 * Has what is written to a stream before the event loop goes on leave together: ssh2 writes each packet in three pieces,
 * and each piece would wake sshd up.
 */
export function together<T extends Writable>(stream: T): T {
  const write = stream.write.bind(stream) as (...all: unknown[]) => boolean;
  stream.write = (...all: unknown[]) => {
    if (stream.writableCorked === 0) {
      stream.cork();
      queueMicrotask(() => stream.uncork());
    }
    return write(...all);
  };
  return stream;
}

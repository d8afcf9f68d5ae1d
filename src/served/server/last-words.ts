/** The end of a socket, or of an answer, whose client may never end its side. */
import type { Duplex } from 'node:stream';

/** How long clients may take what is still due to them, in milliseconds. */
const lastMs = 10_000;

/** Ends a socket with these words. It is gone soon, whatever its client does. */
export function endWith(socket: Duplex, text: string | Buffer): void {
  socket.end(text);
  // Bytes that nobody has read would have the system throw the words away.
  socket.resume();
  goneSoon(socket);
}

/** Destroys what was ended and does not close. */
export function goneSoon(ended: {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}): void {
  const timer = setTimeout(() => ended.destroy(), lastMs).unref();
  ended.once('close', () => clearTimeout(timer));
}

/** What the other end of a channel may send before it is given room for more. */
interface ChannelInside {
  /** The room that is left on all streams of a channel of ssh2, in bytes. */
  readonly incoming: { window: number };
}

/**
 * Calls `onExcess` once more has come on a channel than there was room for: ssh2 takes it all the same, unless no room at
 * all was left, and its streams keep what they are given. Source: RFC 4254, 5.2.
 */
export function heedWindow(channel: object, onExcess: () => void): void {
  const { incoming } = channel as ChannelInside;
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

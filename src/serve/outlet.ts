/** What a connection needs of whatever carries its lines. */

/** Why a server ends what carries a connection. */
export type Closing =
  /** The client came back on another way. */
  | 'replaced'
  /** The server ends. */
  | 'ending'
  /** The process has ended. */
  | 'ended'
  /** The client does not read. */
  | 'slow'
  /** Nothing has passed for long. */
  | 'idle'
  /** The visitor may not come in any more. */
  | 'revoked';

/** What carries lines to a client: a WebSocket, a stream of events, a socket. */
export interface Outlet {
  /**
   * Sends a line, given without line end. False: it is full; `flush` of the connection says that it takes more.
   * `number` counts the lines of its stream from 1.
   */
  send(line: Buffer, number: number): boolean;
  /** Ends it; `reason` is for people. */
  close(why: Closing, reason: string): void;
}

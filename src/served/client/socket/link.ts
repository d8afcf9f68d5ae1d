/** What carries messages to a server and back, from the attempt to open it to its end. */
import { printableLine } from '../../../system/quoted';
import type { Access } from '../access';
import type { Address } from '../address';
import type { Ending } from './endings';

/** With more bytes than this on their way, no more are sent. */
export const maxWaitingBytes = 1024 * 1024;
/** How much of a server's words is told, in characters. */
const maxSaid = 300;

/** What the server says when it opens a socket. */
export interface Greeting {
  readonly id?: string;
  /** How many of our messages it has; absent: it cannot go on with a connection. */
  readonly received?: number;
  readonly cookies?: readonly string[];
}

export interface LinkOptions {
  readonly address: Address;
  readonly access: Access;
  /** Besides those of `access`. */
  readonly headers: Readonly<Record<string, string>>;
  /** It is to go on with a connection. */
  readonly isReturn: boolean;
  /** Of one message from the server. */
  readonly maxBytes: number;
  /** How many messages were sent on the connection. */
  readonly sentCount: () => number;
  /** The server has agreed. */
  readonly onOpen: (greeting: Greeting) => void;
  /** One message of the server, which may hold line ends. */
  readonly onLine: (line: Buffer) => void;
  /** The server has so many messages. */
  readonly onProven: (count: number) => void;
  /** More may be sent, after `isFull`. */
  readonly onRoom: () => void;
  /** Called once, the last of all. */
  readonly onEnd: (ending: Ending) => void;
}

/** One socket. It is opened at once; everything is told later, never while it is made. */
export interface Link {
  /** No more may be sent until `onRoom` is called. */
  readonly isFull: boolean;
  /** Sends one message, which must be UTF-8. */
  send(line: Buffer): void;
  /** Asks the server what it has. */
  ping(): void;
  /** Reads no more until it is told to. A little may still come. */
  setPaused(isPaused: boolean): void;
  /** Ends the connection for good; `onEnd` tells when that is done. */
  close(): void;
  /** What the server sends from now on comes too late. */
  drop(): void;
}

/** A server's words, as the beginning of a longer line for people. */
export function wordsOf(text: string): string {
  return printableLine(text).slice(0, maxSaid).replace(/\.$/, '');
}

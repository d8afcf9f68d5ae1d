/** What the server and its clients both know about a WebSocket that carries a connection. */

/** The connection that a request is about. Source: ACP, "Streamable HTTP & WebSocket Transport". */
export const connectionHeader = 'acp-connection-id';
/** Ours: how many messages of the connection its sender has received. */
export const receivedHeader = 'cai-received';

/** The number of messages that a header tells; undefined: it tells none. */
export function countIn(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

/** Codes with which the server ends a socket. Source: RFC 6455, section 7.4; from 4000 on they are ours. */
export const closeCodes = {
  /** The server ends. */
  ending: 1001,
  /** The visitor may not come in any more. */
  revoked: 1008,
  /** A bug. */
  failed: 1011,
  /** The client has come back on another way. */
  replaced: 4000,
  /** The process has ended, or the client has ended the connection. */
  ended: 4001,
  /** The client does not read. */
  slow: 4002,
  /** Nothing has passed for long. */
  idle: 4003,
} as const;

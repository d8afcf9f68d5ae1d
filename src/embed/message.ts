/** What passes between other programs and us: messages as ACP's SDK has them, or bytes. */

/** A JSON-RPC message, as `AnyMessage` of ACP's SDK. */
export type AnyMessage = { jsonrpc: '2.0' } & (
  | { id: string | number | null; method: string; params?: unknown }
  | { id: string | number | null; result: unknown }
  | { id: string | number | null; error: { code: number; message: string; data?: unknown } }
  | { method: string; params?: unknown }
);

/** Both directions of a connection. */
export interface StreamPair<T> {
  /** What the other end sends. It is not sent faster than it is read. Ends with the connection. */
  readonly readable: ReadableStream<T>;
  /** What the other end is to get. A write is over when that has taken it. Closing it ends the connection. */
  readonly writable: WritableStream<T>;
}

/** What `connect` of ACP's SDK takes: its `Stream`. */
export type MessageStream = StreamPair<AnyMessage>;

/** Lines of JSON, wherever they are cut into chunks. */
export type ByteStream = StreamPair<Uint8Array>;

/** Messages of JSON-RPC as ACP's SDK has them, which other programs see. */

/** A JSON-RPC message, as `AnyMessage` of ACP's SDK. */
export type AnyMessage = { jsonrpc: '2.0' } & (
  | { id: string | number | null; method: string; params?: unknown }
  | { id: string | number | null; result: unknown }
  | { id: string | number | null; error: { code: number; message: string; data?: unknown } }
  | { method: string; params?: unknown }
);

/** What `connect` of ACP's SDK takes: its `Stream`. */
export interface MessageStream {
  /** What the agent sends. It is not sent faster than it is read. Ends with the connection. */
  readonly readable: ReadableStream<AnyMessage>;
  /** What the agent is to get. A write is over when the proxy has taken it. Closing it ends the connection. */
  readonly writable: WritableStream<AnyMessage>;
}

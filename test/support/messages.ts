/** Messages as tests expect and send them, whole. */
import type { Json } from './inbox';

/** A response with a result. */
export function success(id: unknown, result: unknown): Json {
  return { jsonrpc: '2.0', id, result };
}

/** A response with an error of the proxy's own: its code, any text, and `data` or none. */
export function failure(id: unknown, code: number, data?: unknown): Json {
  const error = { code, message: expect.any(String) as string };
  return { jsonrpc: '2.0', id, error: data === undefined ? error : { ...error, data } };
}

/** The id of a response that was found by it, so that it need not be looked at again. */
export const itsId: unknown = expect.anything();

/** A message as a line, with its line end. */
export function lineOf(message: Json): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
}

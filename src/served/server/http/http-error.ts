/** What requests are refused with. */
import { CaiError, type FailureCode } from '../../../errors';

export class HttpError extends Error {
  /** `status`: of HTTP; the message is for people. */
  constructor(
    readonly status: number,
    message: string,
    /** `body`: a message of JSON-RPC, instead of the words. */
    readonly more: { readonly body?: Buffer; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
  }
}

const statuses: Partial<Record<FailureCode, number>> = {
  USAGE: 400,
  UNSUPPORTED_AGENT: 403,
  CONNECTION_UNKNOWN: 404,
  GONE: 410,
  LIMIT: 503,
};

/** The status for whatever has made a request fail. */
export function statusOf(reason: unknown): number {
  if (reason instanceof HttpError) return reason.status;
  return (reason instanceof CaiError ? statuses[reason.code] : undefined) ?? 500;
}

/** Messages that the proxy itself writes. Ids are JSON text, so that `1` and `"1"` stay what they were. */
import { randomUUID } from 'node:crypto';
import { CaiError, messageOf, rpcCode } from '../errors';
import type { Log } from '../system/log';
import type { JsonObject } from './json';
import { bodyOf, type Message } from './message';
import { objectOf } from '../system/unless';

export interface RpcError {
  /** Source: JSON-RPC 2.0 and ACP v1, `ErrorCode`. */
  readonly code: number;
  readonly message: string;
  /** Anything, or nothing. */
  readonly data?: unknown;
}

/** A prefix that nobody can guess, so that our ids never equal one of the editor's. */
const ownPrefix = `cai-${Math.random().toString(36).slice(2)}-`;
let lastOwnId = 0;

/** An id for a request of our own, JSON text, never given before. */
export function newOwnId(): string {
  return `"${ownPrefix}${++lastOwnId}"`;
}

/** A response with `result`, given as JSON text. */
export function resultLine(id: string, result: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
}

/** A response with `error`. */
export function errorLine(id: string, error: RpcError): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}\n`);
}

/** A request; `params` is JSON text, absent when undefined. */
export function requestLine(id: string, method: string, params: string | undefined): Buffer {
  const body = params === undefined ? '' : `,"params":${params}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${body}}\n`);
}

/** A notification; `params` is JSON text. */
export function notificationLine(method: string, params: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}\n`);
}

/** A `session/update`; `update` is JSON text. */
export function updateLine(sessionId: string, update: string): Buffer {
  return notificationLine('session/update', `{"sessionId":${JSON.stringify(sessionId)},"update":${update}}`);
}

/** In the params of a message in a thread: it is from us, and not from an agent. */
export const ownMark = { _meta: { containai: true } } as const;

/** A `session/update` from us. */
export function ownUpdateLine(sessionId: string, update: JsonObject): Buffer {
  return notificationLine('session/update', JSON.stringify({ sessionId, update, ...ownMark }));
}

/**
 * An update that editors show as a message of the agent. Its own id separates it from the agent's text; for editors that
 * ignore such ids, empty lines do.
 */
export function ownMessage(text: string): JsonObject {
  const content = { type: 'text', text: `\n\ncai: ${text}\n\n` };
  return { sessionUpdate: 'agent_message_chunk', messageId: randomUUID(), content };
}

/** `$/cancel_request` for a request: whoever has it need not answer. Source: ACP v1. */
export function cancelLine(id: string): Buffer {
  return notificationLine('$/cancel_request', `{"requestId":${id}}`);
}

/** The `error` for whatever made a request fail. */
export function rpcErrorOf(reason: unknown): RpcError {
  if (!(reason instanceof CaiError)) {
    return { code: rpcCode.internalError, message: 'Internal error', data: { details: messageOf(reason) } };
  }
  const { rpcCode: code, message, data } = reason;
  return data === undefined ? { code, message } : { code, message, data };
}

/**
 * Tells the editor, by `tell`, what an answer to a request of ours says of a session's mode and options, as the agent's
 * own updates would. `modeId`: the mode that the request has set. Source: ACP v1, `SessionUpdate`.
 */
export function tellSessionState(
  sessionId: string,
  answer: Message,
  tell: (line: Buffer) => void,
  log: Log,
  modeId?: unknown,
): void {
  const { modes, configOptions } = objectOf(bodyOf(answer));
  const currentModeId = modeId ?? objectOf(modes).currentModeId;
  const update = (content: JsonObject): void => tell(updateLine(sessionId, JSON.stringify(content)));
  try {
    if (typeof currentModeId === 'string') update({ sessionUpdate: 'current_mode_update', currentModeId });
    if (Array.isArray(configOptions)) update({ sessionUpdate: 'config_option_update', configOptions });
  } catch (reason) {
    // As options that are nested more deeply than can be written.
    log.warn({ reason: messageOf(reason) }, 'the editor cannot be told of a restored session');
  }
}

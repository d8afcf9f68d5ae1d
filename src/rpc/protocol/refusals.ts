/** What is refused, and the errors for it. */
import { CaiError, rpcCode } from '../../errors';
import type { Field } from '../json';
import type { FieldKind } from './fields';
import type { RpcError } from '../answer';
import { fieldOf, stringOf, type Message } from '../message';

/** The failure of a method that this agent does not have. */
export function notOffered(method: string): CaiError {
  return new CaiError('NOT_OFFERED', `"Method not found": this agent does not offer ${method}`, { method });
}

/** The failure of a session id that names no open session. */
export function unknownSession(editorId: string): CaiError {
  return new CaiError(
    'SESSION_UNKNOWN',
    `Session not found: ${editorId}. Load it again or start a new one.`,
    { sessionId: editorId },
  );
}

/** The failure of a fork that wants its session outside the workspace `root` of the one that is forked. */
export function forkElsewhere(root = ''): CaiError {
  const text = `session/fork: cwd must lie in the workspace of the session, ${root}`;
  return new CaiError('WORKSPACE', text);
}

/** The failure of a call that makes a session, if its result names none. */
export function noSession(method: string, result: Message): CaiError | undefined {
  if (stringOf(result, 'session') !== undefined) return undefined;
  return new CaiError('AGENT_ANSWER', `the agent has answered ${method} without a sessionId`);
}

/** The failure of a request that was cancelled before it reached an agent. */
export function cancelled(): CaiError {
  return new CaiError('CANCELLED', 'Request cancelled');
}

/** Why an `elicitation/create` may not be passed on: the editor opens its address, and another scheme could start a program. */
export function unsafeUrl(message: Message): string | undefined {
  const isSafe = fieldOf(message, 'url') === undefined || /^https?:/i.test(stringOf(message, 'url') ?? '');
  return isSafe ? undefined : 'only http and https addresses are passed on';
}

/** The error for an agent that calls a method which it was not offered. */
export function methodNotFound(method: string): RpcError {
  return { code: rpcCode.methodNotFound, message: `"Method not found": ${method}`, data: { method } };
}

/** Kinds of fields whose text is kept beyond the message, and the most that is kept of one, in bytes of JSON text. */
const keptKinds: ReadonlySet<string> = new Set<FieldKind>([
  'session',
  'sessionRef',
  'listed',
  'elicitationId',
  'mcpServer',
  'mcpRequest',
  'cursor',
]);
const maxKeptBytes = 4_096;

/** Whether a message with that field has to be refused, because it is an id that is too long to be kept. */
export function isTooLong({ kind, start, end }: Field): boolean {
  return end - start > maxKeptBytes && keptKinds.has(kind);
}

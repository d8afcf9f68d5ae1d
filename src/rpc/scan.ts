/**
 * The scanner: one pass over the bytes of a line tells what JSON-RPC message it is and where the wanted
 * places are. It agrees with `JSON.parse` on what is valid JSON.
 */
import { isUtf8 } from 'node:buffer';
import { quote, skipSpace, unquote } from './json';
import { Plan } from './plan';
import { Walk } from './walk';
import type { Field } from './walk';

/** Why a line is no message that may be passed on. */
export type Defect =
  /** Not JSON, or not UTF-8. */
  | 'json'
  /** A JSON array: batches do not exist in ACP. */
  | 'batch'
  /** JSON, but not a request, notification or response. */
  | 'envelope'
  /** A key stands twice (after unescaping) where two parsers could read different things. */
  | 'duplicate';

/** What one line is. Offsets are into `line`. */
export interface Message {
  /** The line as received, without its line end. */
  readonly line: Buffer;
  readonly kind: 'request' | 'notification' | 'response' | 'defect';
  /** Set when `kind` is `defect`. */
  readonly defect?: Defect;
  /** JSON text of the envelope's id (`7`, `"a"`, `null`), if there is one and it is of a legal type. */
  readonly id: string | undefined;
  readonly idStart: number;
  readonly idEnd: number;
  /** Unescaped; empty for responses. */
  readonly method: string;
  /** A response that carries `error`. */
  readonly isError: boolean;
  /** JSON text of `params`, `result` or `error`; `bodyStart` is -1 when there is none. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
  /** What the plan wanted, in the order of the starts. */
  readonly fields: readonly Field[];
}

/** Says what is wanted of a message once its envelope tells which it is. */
export interface Plans {
  /** For the params of `method`. */
  params(method: string): Plan | undefined;
  /** For the result of the request that `id` (JSON text) names. */
  result(id: string): Plan | undefined;
  /** For any `error`. */
  readonly error: Plan | undefined;
}

const enum Member {
  jsonrpc,
  id,
  method,
  params,
  result,
  error,
  count,
}

const envelope = new Plan();
for (const key of ['jsonrpc', 'id', 'method', 'params', 'result', 'error']) envelope.add(key, undefined);

/** Reads one line, given without its line end. */
export function scan(line: Buffer, plans: Plans): Message {
  const walk = new Walk(line, Member.count);
  const first = skipSpace(line, 0);
  if (!isUtf8(line) || !isWhole(walk, first, plans)) return defect(walk, 'json');
  if (line[first] === 0x5b) return defect(walk, 'batch');
  if (line[first] !== 0x7b || !isLegal(walk)) return defect(walk, 'envelope');

  const isMethod = has(walk, Member.method);
  const isError = has(walk, Member.error);
  const body = isMethod ? Member.params : isError ? Member.error : Member.result;
  const method = isMethod ? textOfMember(walk, Member.method) : '';
  const id = idOf(walk);
  if (cameEarly(walk, body)) {
    walk.value(walk.memberStarts[body]!, isMethod ? plans.params(method) : plans.result(id!));
  }
  if (walk.hasDuplicate) return defect(walk, 'duplicate');
  return {
    line,
    kind: !isMethod ? 'response' : id === undefined ? 'notification' : 'request',
    id,
    idStart: walk.memberStarts[Member.id]!,
    idEnd: walk.memberEnds[Member.id]!,
    method,
    isError,
    bodyStart: walk.memberStarts[body]!,
    bodyEnd: walk.memberEnds[body]!,
    fields: walk.fields,
  };
}

/** What a string field of the message stands for. */
export function textOf(message: Message, field: Field): string {
  return unquote(message.line, field.start, field.end);
}

/** The first field of that kind. */
export function fieldOf(message: Message, kind: string): Field | undefined {
  return message.fields.find((field) => field.kind === kind);
}

/** The line is one JSON value and nothing else. */
function isWhole(walk: Walk, first: number, plans: Plans): boolean {
  const { text } = walk;
  const end =
    text[first] === 0x7b
      ? walk.value(first, envelope, (member) => planOf(walk, member, plans))
      : walk.value(first, undefined);
  return end >= 0 && skipSpace(text, end) === text.length;
}

/** What is wanted of a member's value, as far as the members before it tell. */
function planOf(walk: Walk, member: Member, plans: Plans): Plan | undefined {
  if (member === Member.params && isString(walk, Member.method)) {
    return plans.params(textOfMember(walk, Member.method));
  }
  if (member === Member.result) {
    const id = idOf(walk);
    return id === undefined ? undefined : plans.result(id);
  }
  return member === Member.error ? plans.error : undefined;
}

/** The body stood before the member that tells its plan, so it was only checked. */
function cameEarly(walk: Walk, body: Member): boolean {
  const start = walk.memberStarts[body]!;
  if (start < 0 || body === Member.error) return false;
  return start < walk.memberStarts[body === Member.params ? Member.method : Member.id]!;
}

/** The members are those of a request, a notification or a response. */
function isLegal(walk: Walk): boolean {
  if (!isString(walk, Member.jsonrpc) || textOfMember(walk, Member.jsonrpc) !== '2.0') return false;
  const id = idOf(walk);
  if (has(walk, Member.id) && id === undefined) return false;
  const hasOutcome = has(walk, Member.result) || has(walk, Member.error);
  if (has(walk, Member.method)) return isString(walk, Member.method) && !hasOutcome;
  return id !== undefined && hasOutcome && has(walk, Member.result) !== has(walk, Member.error);
}

/** JSON text of the id, or undefined when there is none or it is no string, number or null. */
function idOf(walk: Walk): string | undefined {
  const start = walk.memberStarts[Member.id]!;
  const first = walk.text[start] ?? 0;
  const isScalar = first === quote || first === 0x2d || first === 0x6e || (first >= 0x30 && first <= 0x39);
  return isScalar ? walk.text.toString('utf8', start, walk.memberEnds[Member.id]) : undefined;
}

function has(walk: Walk, member: Member): boolean {
  return walk.memberStarts[member]! >= 0;
}

function isString(walk: Walk, member: Member): boolean {
  return walk.text[walk.memberStarts[member]!] === quote;
}

function textOfMember(walk: Walk, member: Member): string {
  return unquote(walk.text, walk.memberStarts[member]!, walk.memberEnds[member]!);
}

function defect(walk: Walk, reason: Defect): Message {
  const isJson = reason !== 'json';
  return {
    line: walk.text,
    kind: 'defect',
    defect: reason,
    id: isJson ? idOf(walk) : undefined,
    idStart: walk.memberStarts[Member.id]!,
    idEnd: walk.memberEnds[Member.id]!,
    method: isJson && isString(walk, Member.method) ? textOfMember(walk, Member.method) : '',
    isError: false,
    bodyStart: -1,
    bodyEnd: -1,
    fields: [],
  };
}

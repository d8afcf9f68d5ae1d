/**
 * Reads one line, in one pass over its bytes: which JSON-RPC message it is, and where the wanted places are. It agrees
 * with `JSON.parse` on what is valid JSON.
 */
import { isUtf8 } from 'node:buffer';
import { parsedUnlessLong } from '../system/unless';
import { minus, nine, openBrace, openBracket, quote, smallN, zero } from './json/bytes';
import { skipSpace } from './json/tokens';
import { unquote } from './json/string';
import { Plan, type Field } from './json/wanted-places';
import { Walk } from './json/walk';

/** Why a line may not be passed on. */
export type Defect =
  /** Not JSON, or not UTF-8. */
  | 'json'
  /** A JSON array: batches do not exist in ACP. */
  | 'batch'
  /** JSON, but not a request, notification or response. */
  | 'envelope'
  /** One of its fields may not be passed on (`Plans.isRefused`), or there are too many. */
  | 'long'
  /** A key stands twice (after unescaping) where two parsers could read different things. */
  | 'duplicate';

/** What one line is. Offsets are into `line`. */
export interface Message {
  /** The line as received, without its line end. Empty where a message is kept only for what else is known of it. */
  readonly line: Buffer;
  /** By its envelope: `method` with or without `id`, or `id` with `result` or `error`. */
  readonly kind: 'request' | 'notification' | 'response' | 'defect';
  /** Set when `kind` is `defect`. */
  readonly defect?: Defect;
  /** JSON text of the envelope's id (`7`, `"a"`, `null`), if there is one and it is of a legal type. */
  readonly id: string | undefined;
  /** Where the JSON text of the id lies; -1 for a message without an id. */
  readonly idStart: number;
  /** Offset after it. */
  readonly idEnd: number;
  /** Unescaped; empty for responses. */
  readonly method: string;
  /** A response that carries `error`. */
  readonly isError: boolean;
  /** JSON text of `params`, `result` or `error`; `bodyStart` is -1 for a message without them. */
  readonly bodyStart: number;
  /** Offset after it. */
  readonly bodyEnd: number;
  /** What the plan wanted, in the order of the starts. */
  readonly fields: readonly Field[];
}

/** The plans for a message, which are asked for once its envelope tells which message it is. */
export interface Plans {
  params(method: string): Plan | undefined;
  /** For the result of the request that `id` (JSON text) names. */
  result(id: string): Plan | undefined;
  readonly error: Plan | undefined;
  /** Whether a message with that field is a defect. */
  readonly isRefused?: (field: Field) => boolean;
}

/** The members of an envelope, by their index in its plan. */
const member = { jsonrpc: 0, id: 1, method: 2, params: 3, result: 4, error: 5 } as const;
const memberCount = 6;

const envelope = new Plan();
for (const key of Object.keys(member)) envelope.add(key, undefined);

/** Reads one line, given without its line end. */
export function scan(line: Buffer, plans: Plans): Message {
  return read(newWalk(line), plans);
}

/** As `scan`, for a call whose params' plan is known whatever its method. */
export function scanCall(line: Buffer, plan: Plan): Message {
  return scan(line, { params: () => plan, result: () => undefined, error: undefined });
}

export function newWalk(line: Buffer): Walk {
  return new Walk(line, memberCount);
}

/** As `scan`, with a new walk, which has more facts about the line afterwards. */
export function read(walk: Walk, plans: Plans): Message {
  const line = walk.text;
  const first = skipSpace(line, 0);
  if (!isUtf8(line) || !isWhole(walk, first, plans)) return defect(walk, walk.hasTooMany ? 'long' : 'json');
  if (line[first] === openBracket) return defect(walk, 'batch');
  const id = idOf(walk);
  if (line[first] !== openBrace || !isLegal(walk, id)) return defect(walk, 'envelope');

  const isMethod = has(walk, member.method);
  const isError = has(walk, member.error);
  const body = isMethod ? member.params : isError ? member.error : member.result;
  const method = isMethod ? textOfMember(walk, member.method) : '';
  if (cameEarly(walk, body)) {
    walk.value(walk.memberStarts[body]!, isMethod ? plans.params(method) : plans.result(id!));
  }
  if (walk.hasDuplicate) return defect(walk, 'duplicate');
  if (walk.hasTooMany || (plans.isRefused && walk.fields.some(plans.isRefused))) return defect(walk, 'long');
  return {
    line,
    kind: !isMethod ? 'response' : id === undefined ? 'notification' : 'request',
    id,
    idStart: walk.memberStarts[member.id]!,
    idEnd: walk.memberEnds[member.id]!,
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

/** What the first field of that kind stands for, if it is a string. */
export function stringOf(message: Message, kind: string): string | undefined {
  const field = fieldOf(message, kind);
  return field?.isString === true ? textOf(message, field) : undefined;
}

/** A field of the message as JSON text. */
export function jsonOf(message: Message, field: Field): string {
  return message.line.toString('utf8', field.start, field.end);
}

/** Params, result or error of a message as JSON text; undefined for a message without them. */
export function bodyTextOf({ line, bodyStart, bodyEnd }: Message): string | undefined {
  return bodyStart < 0 ? undefined : line.toString('utf8', bodyStart, bodyEnd);
}

/** Params, result or error, parsed unless that is too long: only for rare messages. */
export function bodyOf(message: Message): unknown {
  return parsedUnlessLong(bodyTextOf(message));
}

/** The first field of that kind. */
export function fieldOf(message: Message, kind: string): Field | undefined {
  return message.fields.find((field) => field.kind === kind);
}

/** The line is one JSON value and nothing else. */
function isWhole(walk: Walk, first: number, plans: Plans): boolean {
  const { text } = walk;
  const end =
    text[first] === openBrace
      ? walk.value(first, envelope, (index) => planOfMember(walk, index, plans))
      : walk.value(first, undefined);
  return end >= 0 && skipSpace(text, end) === text.length;
}

/** What is wanted of a member's value, as far as the members before it tell. */
function planOfMember(walk: Walk, index: number, plans: Plans): Plan | undefined {
  if (index === member.params && isString(walk, member.method)) {
    return plans.params(textOfMember(walk, member.method));
  }
  if (index === member.result) {
    const id = idOf(walk);
    return id === undefined ? undefined : plans.result(id);
  }
  return index === member.error ? plans.error : undefined;
}

/** The body stood before the member that tells its plan, so it was only checked. */
function cameEarly(walk: Walk, body: number): boolean {
  const start = walk.memberStarts[body]!;
  if (start < 0 || body === member.error) return false;
  return start < walk.memberStarts[body === member.params ? member.method : member.id]!;
}

/** The members make a request, a notification or a response; `id` is what `idOf` gives. */
function isLegal(walk: Walk, id: string | undefined): boolean {
  if (!isString(walk, member.jsonrpc) || textOfMember(walk, member.jsonrpc) !== '2.0') return false;
  if (has(walk, member.id) && id === undefined) return false;
  const hasOutcome = has(walk, member.result) || has(walk, member.error);
  if (has(walk, member.method)) {
    const isShort = walk.memberEnds[member.method]! - walk.memberStarts[member.method]! <= maxNameBytes;
    return isString(walk, member.method) && isShort && !hasOutcome;
  }
  return id !== undefined && hasOutcome && has(walk, member.result) !== has(walk, member.error);
}

/** Longest id and method of an envelope, in bytes of JSON text: they are kept while a request is open. */
const maxNameBytes = 1_024;

/** JSON text of the id, or undefined when the id is missing, too long, or no string, number or null. */
function idOf(walk: Walk): string | undefined {
  const start = walk.memberStarts[member.id]!;
  const first = walk.text[start] ?? 0;
  const isNumber = first === minus || (first >= zero && first <= nine);
  const isScalar = isNumber || first === quote || first === smallN;
  const isShort = walk.memberEnds[member.id]! - start <= maxNameBytes;
  return isScalar && isShort ? walk.text.toString('utf8', start, walk.memberEnds[member.id]) : undefined;
}

function has(walk: Walk, index: number): boolean {
  return walk.memberStarts[index]! >= 0;
}

function isString(walk: Walk, index: number): boolean {
  return walk.text[walk.memberStarts[index]!] === quote;
}

function textOfMember(walk: Walk, index: number): string {
  return unquote(walk.text, walk.memberStarts[index]!, walk.memberEnds[index]!);
}

function defect(walk: Walk, reason: Defect): Message {
  const isJson = reason !== 'json';
  return {
    line: walk.text,
    kind: 'defect',
    defect: reason,
    id: isJson ? idOf(walk) : undefined,
    idStart: walk.memberStarts[member.id]!,
    idEnd: walk.memberEnds[member.id]!,
    method: isJson && isString(walk, member.method) ? textOfMember(walk, member.method) : '',
    isError: false,
    bodyStart: -1,
    bodyEnd: -1,
    fields: [],
  };
}

/**
 * What the scanner ought to see, found the slow way: `JSON.parse` says what is valid, a tree of the text
 * says where everything lies, and the places are looked up in that.
 */
import type { Message } from '../../src/rpc/message';
import type { PlanSource } from '../../src/rpc/json/wanted-places';

/** A value with its place in the text. */
export interface Node {
  readonly start: number;
  readonly end: number;
  readonly type: 'object' | 'array' | 'string' | 'other';
  /** Members in their order, keys unescaped. */
  readonly members: readonly (readonly [string, Node])[];
  readonly items: readonly Node[];
}

/** A message as tests compare it. */
export type Seen = Omit<Message, 'line'>;

/** `JSON.parse` of bytes, undefined when they are not JSON in UTF-8. */
export function parsed(line: Buffer): { value: unknown } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** The tree of valid JSON. Offsets are in bytes. */
export function treeOf(line: Buffer): Node {
  // One character a byte.
  const text = line.toString('latin1');
  let at = 0;

  const skip = (): void => void (at += /^[ \t\r\n]*/.exec(text.slice(at))![0].length);
  const string = (): string => {
    const [raw] = /^"(?:[^"\\]|\\.)*"/s.exec(text.slice(at))!;
    at += raw.length;
    return JSON.parse(Buffer.from(raw, 'latin1').toString('utf8')) as string;
  };
  /** What `read` reads, until `close`, with commas between. */
  const list = <T>(close: string, read: () => T): T[] => {
    const found: T[] = [];
    for (at++; ;) {
      skip();
      if (text[at] === ',') at++;
      else if (text[at] !== close) found.push(read());
      else break;
    }
    at++;
    return found;
  };
  const member = (): [string, Node] => {
    const key = string();
    skip();
    at++;
    return [key, value()];
  };
  const value = (): Node => {
    skip();
    const start = at;
    const node = { members: [] as [string, Node][], items: [] as Node[], type: 'other' as Node['type'] };
    if (text[at] === '{') Object.assign(node, { type: 'object', members: list('}', member) });
    else if (text[at] === '[') Object.assign(node, { type: 'array', items: list(']', value) });
    else if (text[at] === '"') Object.assign(node, { type: 'string', key: string() });
    else at += /^[^\s,\]}]*/.exec(text.slice(at))![0].length;
    return { ...node, start, end: at };
  };
  return value();
}

/** What `scan` ought to make of a line, when `plan` is what is wanted of any params, result or error. */
export function expectedOf(line: Buffer, plan: PlanSource | string): Seen {
  const json = parsed(line);
  if (json === undefined) return defect('json');
  const top = treeOf(line);
  if (top.type === 'array') return defect('batch');
  if (top.type !== 'object') return defect('envelope');

  const members = new Map(top.members);
  const message = json.value as Record<string, unknown>;
  const idNode = members.get('id');
  const hasLegalId = idNode !== undefined && isLegalId(message.id);
  const id = hasLegalId ? line.toString('utf8', idNode.start, idNode.end) : undefined;
  const method = typeof message.method === 'string' ? message.method : '';
  const known = { id, idStart: idNode?.start ?? -1, idEnd: idNode?.end ?? -1, method };
  if (!isLegal(message, id)) return { ...defect('envelope'), ...known };

  const isMethod = 'method' in message;
  const isError = 'error' in message;
  const body = members.get(isMethod ? 'params' : isError ? 'error' : 'result');
  const found = placesIn(line, body, plan);
  const checked = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
  if (found.hasDuplicate || hasTwice(top, checked)) return { ...defect('duplicate'), ...known };
  return {
    ...known,
    kind: !isMethod ? 'response' : id === undefined ? 'notification' : 'request',
    isError,
    bodyStart: body?.start ?? -1,
    bodyEnd: body?.end ?? -1,
    fields: found.fields,
  };
}

function defect(reason: NonNullable<Message['defect']>): Seen {
  const nothing = { id: undefined, idStart: -1, idEnd: -1, method: '', bodyStart: -1, bodyEnd: -1 };
  return { ...nothing, kind: 'defect', defect: reason, isError: false, fields: [] };
}

function isLegalId(id: unknown): boolean {
  return id === null || typeof id === 'string' || typeof id === 'number';
}

function isLegal(message: Record<string, unknown>, id: string | undefined): boolean {
  const outcomes = ['result', 'error'].filter((key) => Object.hasOwn(message, key)).length;
  if (message.jsonrpc !== '2.0' || (Object.hasOwn(message, 'id') && id === undefined)) return false;
  if (Object.hasOwn(message, 'method')) return typeof message.method === 'string' && outcomes === 0;
  return id !== undefined && outcomes === 1;
}

interface Found {
  fields: { kind: string; start: number; end: number; isString: boolean }[];
  hasDuplicate: boolean;
}

function placesIn(line: Buffer, body: Node | undefined, plan: PlanSource | string): Found {
  const found: Found = { fields: [], hasDuplicate: false };
  const look = (node: Node, source: PlanSource | string | undefined): void => {
    if (source === undefined) return;
    const kind = typeof source === 'string' ? source : source['='];
    if (typeof kind === 'string') {
      found.fields.push({ kind, start: node.start, end: node.end, isString: node.type === 'string' });
    }
    if (typeof source === 'string') return;
    for (const item of node.items) look(item, source['*']);
    const { wanted, checked } = membersOf(line, node, source);
    if (hasTwice(node, checked)) found.hasDuplicate = true;
    for (const [key, value] of node.members) if (Object.hasOwn(wanted, key)) look(value, wanted[key]);
  };
  if (body !== undefined) look(body, plan);
  return found;
}

/** What is wanted of an object's members, and which of its keys may not stand twice. */
function membersOf(line: Buffer, node: Node, source: PlanSource): { wanted: PlanSource; checked: string[] } {
  const tagKey = Object.keys(source).find((key) => key.startsWith('?'));
  const common = memberPlans(source);
  if (tagKey === undefined) return { wanted: common, checked: Object.keys(common) };
  const { [tagKey]: variants, ...others } = common;
  const tag = new Map(node.members).get(tagKey.slice(1));
  const text = line.toString('utf8', tag?.start, tag?.end);
  const name = tag === undefined ? '' : tag.type === 'string' ? (JSON.parse(text) as string) : undefined;
  const hasVariant = name !== undefined && Object.hasOwn(variants as PlanSource, name);
  // A tag that is there and empty is not an absent one, though both are told by the same row.
  const below = hasVariant ? ((variants as PlanSource)[name] as PlanSource) : {};
  return {
    wanted: { ...others, ...below },
    checked: [...Object.keys({ ...others, ...below }), tagKey.slice(1)],
  };
}

/** What a plan wants of members: all but what it says of the value itself and of elements. */
export function memberPlans(source: PlanSource): PlanSource {
  return Object.fromEntries(Object.entries(source).filter(([key]) => key !== '*' && key !== '='));
}

/** One of the keys stands twice, or in another case, which some parsers take for the same. */
function hasTwice(node: Node, keys: readonly string[]): boolean {
  const met = node.members.map(([key]) => key);
  return keys.some((key) => {
    const inAnyCase = new RegExp(`^${key}$`, 'iu');
    const found = met.filter((each) => inAnyCase.test(each));
    return found.length > 1 || found.some((each) => each !== key && !keys.includes(each));
  });
}

/** What bytes without white space around them stand for; undefined when they are not JSON. */
export function tight(bytes: Buffer): unknown {
  const isPadded = /^[ \t\r\n]|[ \t\r\n]$/.test(bytes.toString('latin1'));
  return isPadded ? undefined : parsed(bytes)?.value;
}

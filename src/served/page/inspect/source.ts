/** What the page asks `cai inspect`: all from its own program, but texts in it are an agent's. */
import { fieldsOf, listOf, numberOf, textOf } from '../fields';
import { ask } from '../server';
import type { Row, Spent } from './row';

/** The recording as a whole. */
export interface About {
  readonly reader: number;
  readonly name: string;
  readonly agent: string;
  readonly cai: string;
  readonly at: string;
  /** Offset of its second line. */
  readonly start: number;
  /** It may still grow. */
  readonly isLive: boolean;
}

/** Begins to read; rejects with `Refused`, as do all of these. */
export async function open(): Promise<About> {
  const { reader, about } = await post('open', {});
  const { name, agent, cai, at, start, isLive } = fieldsOf(about);
  return {
    reader: numberOf(reader) ?? 0,
    name: textOf(name) ?? '',
    agent: textOf(agent) ?? '',
    cai: textOf(cai) ?? '',
    at: textOf(at) ?? '',
    start: numberOf(start) ?? 0,
    isLive: isLive === true,
  };
}

/** The next rows. */
export async function nextRows({ reader }: About) {
  const { rows, isEnd, read, size } = await post('rows', { reader });
  return {
    rows: listOf(rows).map(rowOf),
    isEnd: isEnd === true,
    read: numberOf(read) ?? 0,
    size: numberOf(size) ?? 0,
  };
}

/** The text of a message, and how long all of it is. */
export async function messageOf({ at, bytes }: Row) {
  const { text, length } = await post('message', { at, bytes });
  return { text: textOf(text) ?? '', length: numberOf(length) ?? 0 };
}

/** Lines that have a text, from one on. */
export async function search(text: string, at: number, line: number) {
  const found = await post('search', { text, at, line });
  return {
    lines: found.lines as readonly number[],
    at: numberOf(found.at) ?? at,
    line: numberOf(found.line) ?? line,
    isEnd: found.isEnd === true,
  };
}

async function post(name: string, body: object) {
  const response = await ask(`inspect/${name}`, { method: 'POST', body: JSON.stringify(body) });
  return fieldsOf(await response.json());
}

function rowOf(fields: Readonly<Record<string, unknown>>): Row {
  return {
    line: numberOf(fields.line)!,
    at: numberOf(fields.at)!,
    bytes: numberOf(fields.bytes)!,
    kind: fields.kind as Row['kind'],
    ms: numberOf(fields.ms),
    side: textOf(fields.side),
    child: numberOf(fields.child),
    id: textOf(fields.id),
    method: textOf(fields.method),
    session: textOf(fields.session),
    update: textOf(fields.update),
    tool: textOf(fields.tool),
    status: textOf(fields.status),
    text: textOf(fields.text),
    size: numberOf(fields.size),
    redacted: numberOf(fields.redacted) ?? 0,
    isError: fields.isError === true,
    other: numberOf(fields.to),
    tookMs: numberOf(fields.tookMs),
    spent: fields.spent as Spent | undefined,
  };
}

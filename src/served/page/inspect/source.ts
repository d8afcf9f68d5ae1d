/** What the page asks `cai inspect`: all from its own program, but texts in it are an agent's. */
import { ask } from '../server';
import type { Row } from './row';

/** A row as it is sent: what is absent is not known, or does not exist. */
interface SentRow extends Omit<Row, 'redacted' | 'isError' | 'other'> {
  readonly redacted?: number;
  readonly isError?: boolean;
  /** The line of the request that it answers. */
  readonly to?: number;
}

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
  const { reader, about } = (await post('open', {})) as { reader: number; about: About };
  return { ...about, reader };
}

export async function nextRows({ reader }: About) {
  const next = await post('rows', { reader });
  const { rows, ...rest } = next as { rows: SentRow[]; isEnd: boolean; read: number; size: number };
  return { ...rest, rows: rows.map(rowOf) };
}

/** The text of a message, and how long all of it is. */
export async function messageOf({ at, bytes }: Row) {
  return (await post('message', { at, bytes })) as { text: string; length: number };
}

/** Lines that have a text, from one on. */
export async function search(text: string, at: number, line: number) {
  const found = await post('search', { text, at, line });
  return found as { lines: readonly number[]; at: number; line: number; isEnd: boolean };
}

async function post(name: string, body: object): Promise<unknown> {
  const response = await ask(`inspect/${name}`, { method: 'POST', body: JSON.stringify(body) });
  return await response.json();
}

function rowOf({ redacted = 0, isError = false, to: other, ...row }: SentRow): Row {
  return { ...row, redacted, isError, other };
}

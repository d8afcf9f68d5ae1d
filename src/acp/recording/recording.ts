/**
 * The form of a recording: one JSON object a line. First a head,
 * `{"recording":1,"cai":VERSION,"agent":NAME,"at":TIME}`; then what happened, in order, `ms` milliseconds after the
 * start: a line, `{"ms","side","line":TEXT}`, or `{"ms","event"}`. `child` numbers the agents. `redacted`: secrets were
 * replaced. `base64` holds a line that is not UTF-8, `overlong` stands for one above the limits; a long line of an
 * agent that is no message has only how it `begins` and its `bytes`.
 */
import { CaiError } from '../../errors';
import { objectIn } from '../../system/unless';

export const recordingVersion = 1;

/** Longest recording, in bytes: more than a day of work, and half of the longest text that Node can read. */
export const maxRecordingBytes = 256 * 1024 * 1024;

/** Who has sent a line to whom; the other end is the proxy. */
export type Side = 'from editor' | 'to editor' | 'from agent' | 'to agent';

const sides: readonly unknown[] = ['from editor', 'to editor', 'from agent', 'to agent'] satisfies Side[];

export interface RecordedLine {
  /** Number of its line in the file, from 1. */
  readonly number: number;
  /** When it was seen, in milliseconds after the start. */
  readonly ms: number;
  /** Who has sent it to whom. */
  readonly side: Side;
  /** Number of the agent; `undefined` on the editor's side. */
  readonly child: number | undefined;
  /** The line without its line end. */
  readonly bytes: Buffer;
}

/**
 * The whole lines of a recording, in order. Fails with `CaiError('REPLAY')` for a text that is no recording. `name`: its file.
 */
export function readRecording(text: string, name: string): RecordedLine[] {
  const texts = text.split('\n').slice(0, -1);
  const [head, ...records] = texts.map((line, index) => parse(line, name, index + 1));
  if (head?.recording !== recordingVersion) {
    throw new CaiError('REPLAY', `${name} is no recording that this version of cai can read`);
  }
  return records.flatMap((record, index) => {
    const bytes = contentOf(record);
    const { side } = record;
    if (bytes === undefined || !isSide(side)) return [];
    const { ms, child } = record as { ms: number; child?: number };
    return [{ number: index + 2, ms, side, child, bytes }];
  });
}

export function isSide(side: unknown): side is Side {
  return sides.includes(side);
}

/** The line that a record holds; undefined: it holds no whole line. */
export function contentOf({ line, base64 }: Readonly<Record<string, unknown>>): Buffer | undefined {
  if (typeof line === 'string') return Buffer.from(line);
  return typeof base64 === 'string' ? Buffer.from(base64, 'base64') : undefined;
}

function parse(line: string, name: string, number: number): Readonly<Record<string, unknown>> {
  const record = objectIn(line);
  if (record !== undefined) return record;
  throw new CaiError('REPLAY', `${name}:${number} is no JSON object: the recording is damaged`);
}

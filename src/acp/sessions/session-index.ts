/**
 * Where the last record of each session stands in a session file, found without parsing the records: a process that opens
 * a session needs to know at most one of tens of thousands.
 */
import { parseLine, type SessionRecord } from './session-record';

const lineEnd = 0x0a;
const closingBrace = 0x7d;
/** Of a record as it is written, what comes first, with an id as ours are; in the first bytes of a line. */
const plainHead = /^\{"id":"([\w-]+)","agent":"/;
const headBytes = 80;

export class SessionIndex {
  /** Where the line begins, by session, in the order of the last changes. */
  readonly #starts = new Map<string, number>();
  /** Most lines do not count, or one stands there of a session that is gone. */
  readonly isOutdated: boolean;

  /** Of whole lines, each with its end. `compactAboveLines`: fewer are never outdated. */
  constructor(
    private readonly bytes: Buffer,
    compactAboveLines: number,
  ) {
    let lines = 0;
    let hasRemains = false;
    let gone = 0;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(lineEnd, start);
      if (end > start) lines++;
      const head = plainHead.exec(bytes.toString('latin1', start, Math.min(start + headBytes, end)));
      const id = bytes[end - 1] === closingBrace ? head?.[1] : undefined;
      const value = id === undefined ? parseLine(bytes.toString('utf8', start, end)) : { id };
      if (value !== undefined) {
        // Deleted first, for the order.
        const wasKnown = this.#starts.delete(value.id);
        if (!('gone' in value)) this.#starts.set(value.id, start);
        else gone++;
        hasRemains ||= wasKnown && 'gone' in value;
      }
      start = end + 1;
    }
    const counted = this.#starts.size + gone;
    this.isOutdated = hasRemains || (lines > compactAboveLines && lines > 2 * counted);
  }

  /** What was remembered longest ago. */
  get oldest(): SessionRecord | undefined {
    const [id] = this.#starts.keys();
    return id === undefined ? undefined : this.find(id);
  }

  /** The last record of a session that is not damaged. */
  find(id: string): SessionRecord | undefined {
    const { bytes } = this;
    for (let start = this.#starts.get(id) ?? -1; start >= 0;) {
      const value = parseLine(bytes.toString('utf8', start, bytes.indexOf(lineEnd, start)));
      if (value !== undefined) return 'gone' in value ? undefined : value;
      start = start === 0 ? -1 : bytes.lastIndexOf(`{"id":"${id}"`, start - 1);
    }
    return undefined;
  }

  delete(id: string): void {
    this.#starts.delete(id);
  }
}

/**
 * A recording for `cai inspect`: its rows in portions, the text of a message, and a search. It is read in pieces, also
 * while it is still being written. Its form: `recording.ts`.
 */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { CaiError, messageOf } from '../../errors';
import { newline } from '../../rpc/json';
import { objectIn } from '../../system/unless';
import { contentOf, recordingVersion } from './recording';
import { RecordingRows, type RecordingRow } from './recording-rows';

/** Bytes that are read at once; a line that is longer is read whole. */
const pieceBytes = 4 * 1024 * 1024;
/** A head is shorter. */
const maxHeadBytes = 4_096;
/** Of a longer message only the beginning is shown, in characters. */
const maxShownLength = 512 * 1024;

/** What is known of it as a whole: times are ISO 8601. */
interface RecordingAbout extends Readonly<Record<'name' | 'cai' | 'agent' | 'at', string>> {
  /** Offset of the second line. */
  readonly start: number;
}

/** Some rows, in the order of the file. */
interface RowPortion {
  readonly rows: readonly RecordingRow[];
  /** There are no more now. */
  readonly isEnd: boolean;
  /** How much of the file has been read, and its size, in bytes. */
  readonly read: number;
  readonly size: number;
}

/** What a search has found in a part of the file. */
interface FoundLines {
  readonly lines: readonly number[];
  /** The offset and number of the line to go on with. */
  readonly at: number;
  readonly line: number;
  /** There are no more lines now. */
  readonly isEnd: boolean;
}

/** One recording, open until `close`. */
export class InspectedRecording {
  private constructor(
    private readonly file: FileHandle,
    readonly about: RecordingAbout,
  ) {}

  /** Rejects with `CaiError('REPLAY')` for a file that cannot be read, or is no recording. */
  static async open(name: string): Promise<InspectedRecording> {
    let file: FileHandle | undefined;
    try {
      // Whoever opens a pipe to read would wait for somebody who writes.
      file = await open(name, constants.O_RDONLY | constants.O_NONBLOCK);
      if (!(await file.stat()).isFile()) throw new Error('it is no file');
      const [first = ''] = (await bytesOf(file, 0, maxHeadBytes)).toString().split('\n');
      const { recording, cai, agent, at } = objectIn(first) ?? {};
      if (recording === recordingVersion) {
        const head = { cai: textOf(cai), agent: textOf(agent), at: textOf(at) };
        return new InspectedRecording(file, { ...head, name, start: Buffer.byteLength(first) + 1 });
      }
    } catch (reason) {
      await file?.close();
      throw new CaiError('REPLAY', `${name} cannot be read: ${messageOf(reason)}`);
    }
    await file.close();
    throw new CaiError(
      'REPLAY',
      `${name} is no recording that this version of cai can read: make one by "cai --acp --record FILE AGENT"`,
    );
  }

  /** A function that gives the next rows with each call, from the first on. */
  reader(): () => Promise<RowPortion> {
    const rows = new RecordingRows();
    let at = this.about.start;
    return async () => {
      const { lines, next, isEnd } = await this.#piece(at);
      at = next;
      const { size } = await this.file.stat();
      return { rows: lines.map((line) => rows.next(line.at, line.bytes)), isEnd, read: next, size };
    };
  }

  /** The message in a row, or the row itself if it has none. */
  async message(at: number, bytes: number): Promise<{ readonly text: string; readonly length: number }> {
    const text = messageIn(await bytesOf(this.file, at, bytes));
    return { text: text.slice(0, maxShownLength), length: text.length };
  }

  /** The next lines from the one that stands `at` an offset on that have a text, in whatever case. */
  async search(text: string, at: number, line: number): Promise<FoundLines> {
    const { lines, next, isEnd } = await this.#piece(at);
    const wanted = text.toLowerCase();
    const found = lines.flatMap(({ bytes }, index) =>
      messageIn(bytes).toLowerCase().includes(wanted) ? [line + index] : [],
    );
    return { lines: found, at: next, line: line + lines.length, isEnd };
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  /**
   * The whole lines from the offset of one on, some megabytes of them, and where the next piece begins. `isEnd`: the file
   * has no whole line behind these.
   */
  async #piece(from: number) {
    for (let length = pieceBytes; ; length *= 2) {
      const bytes = await bytesOf(this.file, from, length);
      const end = bytes.lastIndexOf(newline) + 1;
      const isEnd = bytes.length < length;
      if (end > 0 || isEnd) return { lines: linesOf(bytes.subarray(0, end), from), next: from + end, isEnd };
    }
  }
}

/** A read may give less than there is. Fewer bytes where the file ends. */
async function bytesOf(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const size = Math.max(Math.min(length, (await file.stat()).size - at), 0);
  const bytes = Buffer.allocUnsafe(size);
  let read = 0;
  while (read < size) {
    const { bytesRead } = await file.read(bytes, read, size - read, at + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

/** Each with the offset of its first byte, without its line end. */
function linesOf(bytes: Buffer, from: number) {
  const lines: { readonly at: number; readonly bytes: Buffer }[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(newline, start);
    lines.push({ at: from + start, bytes: bytes.subarray(start, end) });
    start = end + 1;
  }
  return lines;
}

function messageIn(row: Buffer): string {
  const text = row.toString();
  const record = objectIn(text);
  return (record && contentOf(record))?.toString() ?? text;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

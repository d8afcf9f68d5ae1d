/** A recording for `cai inspect`: its rows in portions, the text of a message, and a search. */
import { objectIn } from '../../system/unless';
import { RecordingFile, type RecordingHead } from './recording-file';
import { RecordingRows, type RecordingRow } from './recording-rows';
import { contentOf } from './recording';

/** Of a longer message only the beginning is shown, in characters. */
const maxShownLength = 512 * 1024;

/** Some rows, in the order of the file. */
export interface RowPortion {
  readonly rows: readonly RecordingRow[];
  /** There are no more now. */
  readonly isEnd: boolean;
  /** How much of the file has been read, and its size, in bytes. */
  readonly read: number;
  readonly size: number;
}

/** What a search has found in a part of the file. */
export interface FoundLines {
  /** Numbers of lines. */
  readonly lines: readonly number[];
  /** The offset and number of the line to go on with. */
  readonly at: number;
  readonly line: number;
  /** There are no more lines now. */
  readonly isEnd: boolean;
}

/** One recording. */
export class InspectedRecording {
  private constructor(
    private readonly file: RecordingFile,
    private readonly name: string,
  ) {}

  /** Rejects with `CaiError('REPLAY')`. */
  static async open(path: string): Promise<InspectedRecording> {
    return new InspectedRecording(await RecordingFile.open(path), path);
  }

  /** What is known of it as a whole. */
  get about(): RecordingHead & { readonly name: string; readonly start: number } {
    return { ...this.file.head, name: this.name, start: this.file.start };
  }

  /** A function that gives the next rows with each call, from the first on. */
  reader(): () => Promise<RowPortion> {
    const rows = new RecordingRows();
    let at = this.file.start;
    return async () => {
      const { lines, next, isEnd, size } = await this.file.piece(at);
      at = next;
      return { rows: lines.map((line) => rows.next(line.at, line.bytes)), isEnd, read: next, size };
    };
  }

  /** The message in a row, or the row itself if it has none. */
  async message(at: number, bytes: number): Promise<{ readonly text: string; readonly length: number }> {
    const raw = await this.file.bytes(at, bytes);
    const record = objectIn(raw.toString());
    const text = ((record && contentOf(record)) ?? raw).toString();
    return { text: text.slice(0, maxShownLength), length: text.length };
  }

  /** The next lines from the one that stands `at` an offset on that have a text, in whatever case. */
  async search(text: string, at: number, line: number): Promise<FoundLines> {
    const { lines, next, isEnd } = await this.file.piece(at);
    const wanted = text.toLowerCase();
    const found = lines.flatMap(({ bytes }, index) => {
      const raw = bytes.toString();
      const record = objectIn(raw);
      const content = (record && contentOf(record))?.toString() ?? raw;
      return content.toLowerCase().includes(wanted) ? [line + index] : [];
    });
    return { lines: found, at: next, line: line + lines.length, isEnd };
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}

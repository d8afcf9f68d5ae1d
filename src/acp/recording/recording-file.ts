/** A recording that is read in pieces, also while it is still being written. Its form: `recording.ts`. */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { newline } from '../../rpc/json';
import { CaiError, messageOf } from '../../errors';
import { objectIn } from '../../system/unless';
import { recordingVersion } from './recording';

/** Bytes that are read at once; a line that is longer is read whole. */
const pieceBytes = 4 * 1024 * 1024;
/** A head is shorter. */
const maxHeadBytes = 4_096;

/** What the first line of a recording says. */
export interface RecordingHead {
  /** The version of `cai` that recorded. */
  readonly cai: string;
  /** The agent's name. */
  readonly agent: string;
  /** When it began, ISO 8601. */
  readonly at: string;
}

/** Whole lines in the order of the file. */
export interface Piece {
  /** Each with the offset of its first byte, without its line end. */
  readonly lines: readonly { readonly at: number; readonly bytes: Buffer }[];
  /** Where the next piece begins. */
  readonly next: number;
  /** The file has no whole line behind these. */
  readonly isEnd: boolean;
  /** Bytes that the file has now. */
  readonly size: number;
}

/** One recording, open until `close`. */
export class RecordingFile {
  private constructor(
    private readonly file: FileHandle,
    /** Its first line. */
    readonly head: RecordingHead,
    /** Offset of the second line. */
    readonly start: number,
  ) {}

  /** Rejects with `CaiError('REPLAY')` for a file that cannot be read, or is no recording. */
  static async open(path: string): Promise<RecordingFile> {
    let file: FileHandle | undefined;
    try {
      // Whoever opens a pipe to read would wait for somebody who writes.
      file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      if (!(await file.stat()).isFile()) throw new Error('it is no file');
      const [first = ''] = (await bytesOf(file, 0, maxHeadBytes)).toString().split('\n');
      const { recording, cai, agent, at } = objectIn(first) ?? {};
      if (recording === recordingVersion) {
        const head = { cai: textOf(cai), agent: textOf(agent), at: textOf(at) };
        return new RecordingFile(file, head, Buffer.byteLength(first) + 1);
      }
    } catch (reason) {
      await file?.close();
      throw new CaiError('REPLAY', `${path} cannot be read: ${messageOf(reason)}`);
    }
    await file.close();
    throw new CaiError(
      'REPLAY',
      `${path} is no recording that this version of cai can read: make one by "cai --acp --record FILE AGENT"`,
    );
  }

  /** The lines from the offset of one on, some megabytes of them. A last line without a line end is left out. */
  async piece(from: number): Promise<Piece> {
    for (let length = pieceBytes; ; length *= 2) {
      const bytes = await bytesOf(this.file, from, length);
      const end = bytes.lastIndexOf(newline) + 1;
      const isEnd = bytes.length < length;
      if (end === 0 && !isEnd) continue;
      const { size } = await this.file.stat();
      return { lines: linesOf(bytes.subarray(0, end), from), next: from + end, isEnd, size };
    }
  }

  /** Bytes of the file; fewer where it ends. */
  async bytes(at: number, length: number): Promise<Buffer> {
    return await bytesOf(this.file, at, length);
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}

/** A read may give less than there is. */
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

function linesOf(bytes: Buffer, from: number): Piece['lines'] {
  const lines: { at: number; bytes: Buffer }[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(newline, start);
    lines.push({ at: from + start, bytes: bytes.subarray(start, end) });
    start = end + 1;
  }
  return lines;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

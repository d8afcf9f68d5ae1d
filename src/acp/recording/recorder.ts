/**
 * Records all lines, without secrets, in the form that `recording.ts` describes. While the disk is slow, no lines are
 * read. A full disk ends the recording and nothing else, and so does the limit of its length.
 */
import { isUtf8 } from 'node:buffer';
import { createWriteStream, existsSync, openSync, type WriteStream } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import type { Log } from '../../system/log';
import type { OverlongLine } from '../../rpc/long-line';
import { joined, type Line } from '../../rpc/splice';
import { maxRecordingBytes, recordingVersion, type Side } from './recording';
import { redact } from './redact';

/** Bytes that may wait for the disk before nothing more is read. */
const maxWaitingBytes = 8 * 1024 * 1024;
/** Of a long line that is no message only the start is recorded, in characters. */
const maxDefectLength = 4_096;
const maxFiles = 10_000;
/** How long the disk may take at the end, in milliseconds. */
const endMs = 5_000;

/** Records the lines of one agent process, both ways. */
export interface ChildRecorder {
  /** A line for the agent's stdin, with its line end. */
  readonly toAgent: (line: Line) => void;
  /** A line of its stdout; `isDefect`: no message. Pauses the agent while too much waits for the disk. */
  fromAgent(line: Buffer | OverlongLine, isDefect: boolean, agent: { pause(): void; resume(): void }): void;
  ended(): void;
}

export class Recorder {
  readonly #file: string;
  readonly #stream: WriteStream;
  readonly #log: Log;
  readonly #maxBytes: number;
  readonly #startedAt = performance.now();
  readonly #waiting: (() => void)[] = [];
  #childCount = 0;
  #isOver = false;
  #bytes = 0;

  /** Makes a new file: `path`, or with the first free number before its last dot. Fails with `CaiError('USAGE')`. */
  constructor(
    path: string,
    about: Readonly<{ agent: string; version: string; log: Log; maxBytes?: number }>,
  ) {
    const { agent, version, log } = about;
    const { file, descriptor } = create(posix.resolve(path));
    this.#file = file;
    this.#log = log;
    this.#maxBytes = about.maxBytes ?? maxRecordingBytes;
    this.#stream = createWriteStream(file, { fd: descriptor, highWaterMark: maxWaitingBytes });
    this.#stream.on('error', (reason) => {
      this.#isOver = true;
      log.warn({ file, reason: messageOf(reason) }, 'the recording has ended: it cannot be written');
      this.#release();
    });
    this.#stream.on('drain', () => this.#release());
    this.#write({ recording: recordingVersion, cai: version, agent, at: new Date().toISOString() });
    log.warn({ file }, 'all messages are recorded, also what you and the agent write');
  }

  /** Whether too much waits for the disk: then nothing should be read until `whenRoom`. */
  get isFull(): boolean {
    return !this.#isOver && this.#stream.writableNeedDrain;
  }

  /** Calls `run` once the disk has caught up. */
  whenRoom(run: () => void): void {
    this.#waiting.push(run);
  }

  fromEditor(line: Buffer | OverlongLine): void {
    this.#line('from editor', line, {});
  }

  /** A line for the editor, with its line end, when it is written. */
  toEditor(line: Line): void {
    this.#line('to editor', joined(line), {});
  }

  /** Records an agent process from its start on; `root`: that of its workspace, if it has one. */
  child(root: string | undefined): ChildRecorder {
    const child = ++this.#childCount;
    this.#write({ ms: this.#now(), event: 'agent started', child, workspace: root ?? null });
    return {
      toAgent: (line) => this.#line('to agent', joined(line), { child }),
      fromAgent: (line, isDefect, agent) => {
        this.#line('from agent', line, { child }, isDefect);
        if (!this.isFull) return;
        agent.pause();
        this.whenRoom(() => agent.resume());
      },
      ended: () => this.#write({ ms: this.#now(), event: 'agent ended', child }),
    };
  }

  /** Resolves when all is written, or after 5 s. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, endMs).unref();
      this.#stream.on('error', () => resolve());
      this.#stream.end(() => resolve());
    });
  }

  #line(side: Side, line: Buffer | OverlongLine, about: { readonly child?: number }, isDefect = false): void {
    if (this.#isClosed) return;
    const told = Buffer.isBuffer(line) ? contentOf(line, isDefect) : { overlong: true };
    this.#write({ ms: this.#now(), side, ...about, ...told });
  }

  get #isClosed(): boolean {
    return this.#isOver || this.#bytes > this.#maxBytes;
  }

  #write(record: Readonly<Record<string, unknown>>): void {
    if (this.#isClosed) return;
    const maxBytes = this.#maxBytes;
    const text = `${JSON.stringify(record)}\n`;
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes <= maxBytes) {
      this.#stream.write(text);
    } else {
      this.#stream.write(`${JSON.stringify({ ms: this.#now(), event: 'recording ended: too long' })}\n`);
      this.#log.warn({ file: this.#file, maxBytes }, 'the recording has ended: it is as long as it may be');
    }
  }

  #now(): number {
    return Math.round((performance.now() - this.#startedAt) * 100) / 100;
  }

  #release(): void {
    for (const run of this.#waiting.splice(0)) run();
  }
}

/** What is recorded of a line, without secrets. */
function contentOf(line: Buffer, isDefect: boolean): Readonly<Record<string, unknown>> {
  const { text, isRedacted } = redact(line);
  const flag = isRedacted ? { redacted: true } : {};
  if (isDefect && line.length > maxDefectLength)
    return { ...flag, begins: text.slice(0, maxDefectLength), bytes: line.length };
  return isRedacted || isUtf8(line) ? { ...flag, line: text } : { base64: line.toString('base64') };
}

/** Makes a separate file for each start, because an editor starts us each time with the same arguments. */
function create(path: string): { file: string; descriptor: number } {
  const { dir, name, ext } = posix.parse(path);
  for (let number = 1; ; number++) {
    const file = number === 1 ? path : posix.join(dir, `${name}-${number}${ext}`);
    try {
      return { file, descriptor: openSync(file, 'wx', 0o600) };
    } catch (reason) {
      if (existsSync(`${path}/`))
        throw new CaiError('USAGE', `--record: ${path} is a folder: name a file in it`);
      const isTaken = (reason as NodeJS.ErrnoException).code === 'EEXIST' && number < maxFiles;
      if (!isTaken) throw new CaiError('USAGE', `--record: ${file} cannot be made: ${messageOf(reason)}`);
    }
  }
}

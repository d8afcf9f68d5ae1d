/** The editor's two byte streams and the proxy between them and the agents. */
import type { Readable, Writable } from 'node:stream';
import { Proxy, dueMs, Recorder } from '../../acp';
import { sweepTokens } from '../../agent/editor-token';
import { messageOf } from '../../errors';
import { LineReader } from '../../rpc/line';
import type { Line } from '../../rpc/splice';
import { LineWriter } from '../../rpc/writer';
import { surroundings, type ConnectionOptions } from './surroundings';

/** How much of the editor's input may wait in memory before it is no longer read, in bytes. */
const maxWaitingBytes = 1024 * 1024;
/** How long the editor may take no byte of what is still due at the end, in milliseconds. */
const stallMs = 5_000;

/** One editor, for as long as it is there. Nothing of the process is used or changed: it may have several. */
export class Connection {
  readonly #reader: LineReader;
  readonly #writer: LineWriter;
  readonly #proxy: Proxy;
  readonly #recorder: Recorder | undefined;
  #resolve: (status: number) => void = () => undefined;
  readonly #hurried: Promise<void>;
  #hurry: () => void = () => undefined;
  #status = 0;
  #isInputOver = false;
  /** When the end of its input was noticed, by `performance.now()`. */
  #goneAt: number | undefined;
  #isEnding = false;

  /** `input`: what the editor sends, not read before `run`. `output`: what it gets, not ended at the end. */
  constructor(
    private readonly options: ConnectionOptions,
    private readonly input: Readable,
    output: Writable,
  ) {
    const { about, config, early, log, recordFile } = options;
    const recorder = recordFile === undefined ? undefined : new Recorder(recordFile, { ...about, log });
    this.#recorder = recorder;
    this.#hurried = new Promise((resolve) => (this.#hurry = resolve));
    this.#reader = new LineReader({
      maxLineBytes: config.acp.maxLineFromEditorBytes,
      maxSearchBytes: Infinity,
    });
    const onBroken = (reason: Error): void => {
      log.info({ reason: reason.message }, 'the editor does not read any more');
      this.end();
    };
    const onWrite = recorder === undefined ? undefined : (line: Line): void => recorder.toEditor(line);
    this.#writer = new LineWriter(output, config.acp.queueToEditorBytes, onBroken, onWrite);
    this.#proxy = new Proxy({
      ...options,
      ...surroundings(options),
      recorder,
      writer: this.#writer,
      answered: early?.answer,
      onRoom: () => this.#pull(),
    });
  }

  /** Resolves with the exit status when the editor is gone and nothing is left. Never rejects. */
  run(): Promise<number> {
    const { input } = this;
    const { received, unsent } = this.options.early ?? {};
    if (unsent !== undefined && unsent.length > 0) this.#writer.lane(() => undefined).queue(unsent);
    if (received !== undefined) this.#reader.push(received);
    input.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#pull();
    });
    input.on('end', () => {
      this.#reader.end();
      this.#isInputOver = true;
      this.#goneAt = performance.now();
      // An agent that hangs keeps neither initialize nor any other request open.
      setTimeout(() => this.end(), dueMs).unref();
      this.#pull();
    });
    input.on('error', (reason) => {
      this.options.log.error({ reason: messageOf(reason) }, 'the editor cannot be read any more');
      this.end(1);
    });
    this.#pull();
    // Removes what a killed proxy has left.
    setImmediate(() => sweepTokens(this.options.host));
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Takes the lines that have come, as long as the proxy takes them. */
  #pull(): void {
    while (!this.#isEnding && !this.#stopIfBusy()) {
      const line = this.#reader.next();
      if (line === undefined) break;
      this.#recorder?.fromEditor(line);
      this.#proxy.fromEditor(line);
    }
    if (this.#recorder?.isFull === true) this.#recorder.whenRoom(() => this.#pull());
    const isBusy = this.#stopIfBusy() || this.#isEnding;
    // Some bytes are read all the same, so that the end of the editor is noticed.
    if (isBusy && this.#reader.waitingBytes > maxWaitingBytes) this.input.pause();
    else if (this.#isInputOver && !isBusy) void this.#finish();
    else this.input.resume();
  }

  #stopIfBusy(): boolean {
    return this.#proxy.stopIfBusy() || this.#recorder?.isFull === true;
  }

  /** Ends without waiting for what agents still have to answer, also if that wait has begun; `status` is for `run`. */
  end(status = this.#status): void {
    this.#status = status;
    this.#hurry();
    void this.#finish();
  }

  async #finish(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    try {
      await this.#endAll();
    } catch (error) {
      // A bug: whoever waits for the end must not wait for ever.
      this.options.log.error({ err: error }, 'internal error: the connection did not end in order');
      this.#status = 1;
    }
    this.options.signIn.end();
    this.#resolve(this.#status);
  }

  async #endAll(): Promise<void> {
    await this.#proxy.end(this.#hurried, this.#goneAt ?? performance.now());
    // Lines that have come and were not served are refused.
    for (let line = this.#reader.next(); line !== undefined; line = this.#reader.next()) {
      this.#recorder?.fromEditor(line);
      this.#proxy.fromEditor(line);
    }
    await this.#writer.drain(stallMs);
    await this.#recorder?.end();
  }
}

/** An editor's two byte streams and the bridge between them and a server. */
import type { Readable, Writable } from 'node:stream';
import type { Config } from '../../config/config';
import { CaiError, messageOf } from '../../errors';
import { rpcErrorOf } from '../../rpc/answer';
import { LineReader } from '../../rpc/line';
import { LineWriter } from '../../rpc/writer';
import { within } from '../../system/time-limit';
import { Bridge, type BridgeOptions } from './bridge';

/** How much of the editor's input may wait in memory before it is no longer read, in bytes. */
const maxWaitingBytes = 1024 * 1024;
/** When the editor is gone: how long what it has sent may take to reach the server, and its answers to come. In milliseconds. */
const flushMs = 5_000;
const dueMs = 2_000;
/** How long the editor may take no byte of what is still due at the end, in milliseconds. */
const stallMs = 5_000;
/** How long a request is waited for that can be answered with why there is no server, in milliseconds. */
const firstLineMs = 5_000;

export interface EditorConnectionOptions extends Pick<BridgeOptions, 'address' | 'access' | 'guard' | 'log'> {
  readonly limits: Config['acp'];
}

/** One editor, for as long as it is there. */
export class EditorConnection {
  readonly #reader: LineReader;
  readonly #writer: LineWriter;
  readonly #bridge: Bridge;
  #resolve: (status: number) => void = () => undefined;
  #reject: (reason: CaiError) => void = () => undefined;
  #hurry: () => void = () => undefined;
  readonly #hurried = new Promise<void>((resolve) => (this.#hurry = resolve));
  /** Called when something was read, and nothing waits. */
  #onRead: () => void = () => undefined;
  #hasRead = false;
  #status = 0;
  #isInputOver = false;
  #isEnding = false;

  /** `input`: what the editor sends, not read before `run`. `output`: what it gets, not ended at the end. */
  constructor(
    private readonly input: Readable,
    output: Writable,
    private readonly options: EditorConnectionOptions,
  ) {
    const { limits, log } = options;
    this.#reader = new LineReader({
      maxLineBytes: limits.maxLineFromEditorBytes,
      maxSearchBytes: Infinity,
    });
    this.#writer = new LineWriter(output, limits.queueToEditorBytes, (reason) => {
      log.info({ reason: reason.message }, 'the editor does not read any more');
      this.end();
    });
    this.#bridge = new Bridge({
      ...options,
      maxLineBytes: limits.maxLineToEditorBytes,
      maxUnprovenBytes: limits.queueToAgentBytes,
      lane: this.#writer.lane(() => this.#bridge.remote.setPaused(false)),
      onRoom: () => this.#pull(),
      onGivenUp: (reason) => void this.#giveUp(reason),
    });
  }

  /** Resolves with the exit status when the editor is gone; rejects with why there is no server. */
  run(): Promise<number> {
    const { input } = this;
    input.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#bridge.remote.wake();
      this.#pull();
    });
    input.on('end', () => {
      this.#reader.end();
      this.#isInputOver = true;
      this.#pull();
      void this.#finish();
    });
    input.on('error', (reason) => this.fail('the editor cannot be read any more', reason));
    this.#bridge.remote.start();
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Takes the lines that have come, as long as they are taken. */
  #pull(): void {
    let line: ReturnType<LineReader['next']>;
    while (this.#bridge.canTake && (line = this.#reader.next()) !== undefined) {
      this.#bridge.fromEditor(line);
      this.#hasRead = true;
    }
    const { canTake } = this.#bridge;
    const isAllRead = canTake || this.#reader.waitingBytes === 0;
    if (isAllRead && (this.#isInputOver || this.#hasRead)) this.#onRead();
    // Some bytes are read all the same, so that the end of the editor is noticed.
    if (!canTake && this.#reader.waitingBytes > maxWaitingBytes) this.input.pause();
    else this.input.resume();
  }

  /** As `end`, with exit status 1: `what` has happened, which is logged. */
  fail(what: string, reason: unknown): void {
    this.options.log.error({ reason: messageOf(reason) }, what);
    this.#status = 1;
    this.end();
  }

  /** Ends without waiting for the server, also if that wait has begun. */
  end(): void {
    this.#hurry();
    void this.#finish();
  }

  async #finish(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const hasRead = this.#whenRead();
    await Promise.race([this.#hurried, within(flushMs, this.#flush(hasRead))]);
    await Promise.race([this.#hurried, within(dueMs, this.#bridge.whenIdle())]);
    const { remote } = this.#bridge;
    const failure = remote.failure ?? new CaiError('NO_SERVER', 'the connection is ending');
    await remote.close();
    this.#bridge.fail(rpcErrorOf(failure));
    this.#pull();
    await this.#writer.drain(stallMs);
    this.#resolve(this.#status);
  }

  /** Resolves when all that has come was read, and that is not nothing, unless nothing can come. */
  #whenRead(): Promise<void> {
    const done = new Promise<void>((resolve) => (this.#onRead = resolve));
    this.#pull();
    return done;
  }

  async #flush(hasRead: Promise<void>): Promise<void> {
    await hasRead;
    await this.#bridge.remote.flush();
  }

  /** What the editor asks is answered with why, at least its first request, which may be still to come. */
  async #giveUp(reason: CaiError): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    await Promise.race([this.#hurried, within(firstLineMs, this.#whenRead())]);
    await this.#writer.drain(stallMs);
    this.#reject(reason);
  }
}

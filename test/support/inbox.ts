import { patienceMs } from './patience';

/** A JSON-RPC message as tests compare it. */
export type Json = Record<string, unknown>;

/** What one waits for: a method, or anything else that can be told from the message. */
export type Expectation = string | ((message: Json) => boolean);

/**
 * The lines that one side has received. Waiting ends with a verdict: the message came, or the side is
 * over and it can never come, or it did not come in time; the last two fail with all that did come.
 */
export class Inbox {
  /** Every line as received, without its line end. */
  readonly lines: Buffer[] = [];
  /** What came after the last line end. */
  #pieces: Buffer[] = [];
  readonly #unread: Json[] = [];
  #over: string | undefined;
  #wake: (() => void)[] = [];

  /** `name` says whose lines these are, in failures; `limitMs` is how long one wait may last. */
  constructor(
    private readonly name: string,
    private readonly limitMs = patienceMs,
  ) {}

  /** Adds received bytes. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...this.#pieces, chunk.subarray(start, end)]);
      this.#pieces = [];
      start = end + 1;
      this.lines.push(line);
      this.#unread.push(parse(line));
    }
    this.#pieces.push(chunk.subarray(start));
    this.#notify();
  }

  /** Nothing more will come. */
  end(reason: string): void {
    this.#over ??= reason;
    this.#notify();
  }

  /** The received bytes after the last line end. */
  get rest(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  /** Takes out the first message that fits; the others stay, in order. */
  async next(expected: Expectation): Promise<Json> {
    const fits = typeof expected === 'string' ? (m: Json) => m.method === expected : expected;
    const what = typeof expected === 'string' ? expected : expected.toString();
    const deadline = Date.now() + this.limitMs;
    for (;;) {
      const index = this.#unread.findIndex(fits);
      if (index >= 0) return this.#unread.splice(index, 1)[0]!;
      const end = this.#over ?? (Date.now() >= deadline ? 'it did not come in time' : undefined);
      // The text of all that is unread is only made when it is needed: it may be megabytes.
      if (end !== undefined) {
        throw new Error(`${this.name}: no ${what}: ${end}; unread: ${JSON.stringify(this.#unread)}`);
      }
      await this.#changed(deadline - Date.now());
    }
  }

  /** Takes out the response to the request with that id. */
  async response(id: unknown): Promise<Json> {
    return await this.next((m) => m.method === undefined && JSON.stringify(m.id) === JSON.stringify(id));
  }

  /** Takes out all messages that have come and were not waited for. */
  takeAll(): Json[] {
    return this.#unread.splice(0);
  }

  async #changed(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake.push(resolve);
      timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const resolve of waiting) resolve();
  }
}

function parse(line: Buffer): Json {
  try {
    return JSON.parse(line.toString('utf8')) as Json;
  } catch {
    return { unparsable: line.toString('utf8') };
  }
}

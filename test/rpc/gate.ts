import { Writable } from 'node:stream';

/** A stream that takes one batch at a time, and the next only when the test says so. */
export class Gate extends Writable {
  /** The batches that have come: each is what was written in one go. */
  readonly batches: string[] = [];
  #takeMore: ((error?: Error) => void) | undefined;
  #wake: () => void = () => undefined;

  constructor() {
    super({ highWaterMark: 1 });
  }

  /** Resolves with a batch once so many have come. */
  async batch(count: number): Promise<string> {
    while (this.batches.length < count) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.batches[count - 1]!;
  }

  /** Takes what has come; the next may come. */
  open(): void {
    const takeMore = this.#takeMore;
    this.#takeMore = undefined;
    takeMore?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#take([chunk], done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  #take(chunks: readonly Buffer[], done: (error?: Error | null) => void): void {
    this.batches.push(Buffer.concat(chunks).toString());
    this.#takeMore = done;
    this.#wake();
  }
}

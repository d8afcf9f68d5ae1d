/** Messages over a pair of byte streams, where each is a line of JSON: the form in which ACP's SDK takes a connection. */
import type { Duplex } from 'node:stream';
import { LineReader } from '../rpc/line';
import type { AnyMessage, MessageStream } from './message';

/** One end of a connection as messages. */
export class Messages implements MessageStream {
  /** As `MessageStream` says. */
  readonly readable: ReadableStream<AnyMessage>;
  /** As `MessageStream` says. */
  readonly writable: WritableStream<AnyMessage>;
  #reading!: ReadableStreamDefaultController<AnyMessage>;
  #writing!: WritableStreamDefaultController;
  #isReadableOver = false;

  /** `onDrop`: whoever uses it has cancelled the reading or aborted the writing, and wants nothing more. */
  constructor(
    private readonly bytes: Duplex,
    onDrop: () => void,
  ) {
    const lines = new LineReader({ maxLineBytes: Infinity, maxSearchBytes: 0 });
    bytes.on('data', (chunk: Buffer) => this.#onBytes(lines, chunk));
    bytes.on('end', () => this.#endReading());
    bytes.pause();
    this.readable = new ReadableStream<AnyMessage>(
      {
        start: (controller) => void (this.#reading = controller),
        pull: () => void bytes.resume(),
        cancel: () => {
          this.#isReadableOver = true;
          onDrop();
        },
      },
      { highWaterMark: 0 },
    );
    this.writable = new WritableStream<AnyMessage>({
      start: (controller) => void (this.#writing = controller),
      write: (message) => new Promise((taken) => bytes.write(`${JSON.stringify(message)}\n`, () => taken())),
      close: () => void bytes.end(),
      abort: onDrop,
    });
  }

  /** Ends both directions: what was not read yet is dropped, and writing fails with `reason`. */
  drop(reason: Error): void {
    this.#endReading();
    this.refuse(reason);
    // The other end must not wait for ever with what it still writes.
    this.bytes.resume();
  }

  /** Writing fails from now on. */
  refuse(reason: Error): void {
    this.#writing.error(reason);
  }

  /** Reads no more until all messages in these bytes were taken. */
  #onBytes(lines: LineReader, chunk: Buffer): void {
    if (this.#isReadableOver) return;
    this.bytes.pause();
    lines.push(chunk);
    let count = 0;
    for (let line = lines.next(); Buffer.isBuffer(line); line = lines.next(), count++)
      this.#reading.enqueue(JSON.parse(line.toString()) as AnyMessage);
    if (count === 0) this.bytes.resume();
  }

  #endReading(): void {
    if (!this.#isReadableOver) this.#reading.close();
    this.#isReadableOver = true;
  }
}

/** A pair of byte streams of Node as Web Streams, of messages or of bytes: the form in which other programs have a connection. */
import type { Duplex } from 'node:stream';
import { LineReader } from '../rpc/line';
import type { AnyMessage, StreamPair } from './message';

/** What passes as an item of a Web Stream, and how it is made of bytes. */
export interface Form<T> {
  /** The items that these bytes complete. */
  itemsIn(bytes: Buffer): T[];
  /** Throws for what is no such item. */
  bytesOf(item: T): Uint8Array | string;
}

/** Messages of JSON-RPC, each a line. */
export function messageForm(): Form<AnyMessage> {
  const lines = new LineReader({ maxLineBytes: Infinity, maxSearchBytes: 0 });
  return {
    itemsIn: (bytes) => {
      const messages: AnyMessage[] = [];
      lines.push(bytes);
      for (let line = lines.next(); Buffer.isBuffer(line); line = lines.next())
        messages.push(JSON.parse(line.toString()) as AnyMessage);
      return messages;
    },
    bytesOf: (message) => `${JSON.stringify(message)}\n`,
  };
}

/** Bytes, wherever they are cut. */
export const byteForm: Form<Uint8Array> = {
  // Others may hand its memory on to other threads, and with it what else of ours lies there.
  itemsIn: (bytes) => [new Uint8Array(bytes)],
  bytesOf: (item) => {
    if (item instanceof Uint8Array) return item;
    throw new TypeError('a stream of bytes has Uint8Arrays alone');
  },
};

export class WebStreams<T> implements StreamPair<T> {
  readonly readable: ReadableStream<T>;
  readonly writable: WritableStream<T>;
  #reading!: ReadableStreamDefaultController<T>;
  #writing!: WritableStreamDefaultController;
  #isReadableOver = false;

  /** `onDrop`: whoever uses it has cancelled the reading or aborted the writing, and wants nothing more. */
  constructor(
    private readonly bytes: Duplex,
    private readonly form: Form<T>,
    onDrop: () => void,
  ) {
    bytes.on('data', (chunk: Buffer) => this.#onBytes(chunk));
    bytes.on('end', () => this.#endReading());
    bytes.pause();
    this.readable = new ReadableStream<T>(
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
    this.writable = new WritableStream<T>({
      start: (controller) => void (this.#writing = controller),
      write: (item) => new Promise((taken) => bytes.write(form.bytesOf(item), () => taken())),
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

  /** Reads no more until all items in these bytes were taken. */
  #onBytes(chunk: Buffer): void {
    if (this.#isReadableOver) return;
    this.bytes.pause();
    const items = this.form.itemsIn(chunk);
    for (const item of items) this.#reading.enqueue(item);
    if (items.length === 0) this.bytes.resume();
  }

  #endReading(): void {
    if (!this.#isReadableOver) this.#reading.close();
    this.#isReadableOver = true;
  }
}

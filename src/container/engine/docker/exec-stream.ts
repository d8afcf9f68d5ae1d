/** stdin and stdout of a program that the engine has started in a container. */
import { Duplex } from 'node:stream';

/** Of a frame: the stream it belongs to (1: stdout, 2: stderr), three bytes of nothing, the length of what follows. */
const headerBytes = 8;
const stdout = 1;

/** What is written goes to stdin as it is; what comes is cut out of frames. Source: Docker Engine API, ContainerAttach. */
export class ExecStream extends Duplex {
  /** As much of a frame's header as has come. */
  #header = Buffer.alloc(0);
  #isStdout = false;
  /** How many bytes of the frame are still to come. */
  #left = 0;

  /** `connection` is the engine's, of which nothing has been read. */
  constructor(private readonly connection: Duplex) {
    super();
    connection.on('data', (chunk: Buffer) => this.#take(chunk));
    connection.on('end', () => this.push(null));
    connection.on('error', (reason) => this.destroy(reason));
    connection.on('close', () => {
      // What has come before its end may still be read.
      if (!connection.readableEnded || this.readableEnded) this.destroy();
      else this.once('end', () => this.destroy());
    });
  }

  override _read(): void {
    this.connection.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.connection.write(chunk, done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.connection.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: () => void): void {
    this.connection.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.connection.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0;) {
      if (this.#left === 0) {
        const missing = headerBytes - this.#header.length;
        this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (this.#header.length < headerBytes) return;
        this.#isStdout = this.#header[0] === stdout;
        this.#left = this.#header.readUInt32BE(4);
        this.#header = Buffer.alloc(0);
        continue;
      }
      const piece = rest.subarray(0, this.#left);
      rest = rest.subarray(piece.length);
      this.#left -= piece.length;
      // What sshd says on stderr is for nobody.
      if (this.#isStdout && !this.push(piece)) this.connection.pause();
    }
  }
}

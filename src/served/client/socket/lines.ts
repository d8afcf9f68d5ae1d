/**
 * As `Link`, by a socket that carries plain lines, as `cai serve` has it at `tcp://` and `tls://`. Neither end counts
 * messages, so no other socket can go on where it breaks.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { placeOfUrl } from '../../../config/host-rules';
import { LineReader } from '../../../rpc/line';
import { tooLong } from '../../../rpc/long-line';
import { isBlank } from '../../../rpc/white-space';
import { openMs, specialWay, type Way } from './dial';
import { endingOfError, endingOfStatus, type Ending } from './endings';
import { maxWaitingBytes, wordsOf, type Link, type LinkOptions } from './link';

/** After this time without a byte the system asks whether the other machine is still there, in milliseconds. */
const quietMs = 30_000;
const lineEnd = '\n';

export class LineLink implements Link {
  readonly #reader: LineReader;
  #socket: Socket | undefined;
  #isOpen = false;
  #hasHeard = false;
  #written = 0;
  #error: Error | undefined;
  #hasEnded = false;
  #isPaused = false;

  /** Everything is told later, never from here. */
  constructor(private readonly options: LinkOptions) {
    const { address, access, maxBytes } = options;
    this.#reader = new LineReader({ maxLineBytes: maxBytes, maxSearchBytes: 0 });
    const to = { ...placeOfUrl(address.url.replace(/^ws/, 'http'))!, ...access.tls };
    const way: Way =
      specialWay(address, access) ??
      ((_to, done) => done(null, address.isEncrypted ? connectTls(to) : connect(to)));
    way(to, (error, socket) => {
      if (this.#hasEnded) socket?.destroy();
      else if (socket === undefined || error !== null) this.#end(endingOfError(error!, false));
      else this.#take(socket);
    });
  }

  get isFull(): boolean {
    return !this.#isOpen || this.#socket!.writableLength >= maxWaitingBytes;
  }

  send(line: Buffer): void {
    const socket = this.#socket!;
    socket.cork();
    socket.write(line);
    socket.write(lineEnd, (error) => {
      if (error != null || this.#hasEnded) return;
      // More than that the system has it, nobody can know here.
      this.options.onProven(++this.#written);
      if (!this.isFull) this.options.onRoom();
    });
    socket.uncork();
  }

  ping(): void {
    // What is written is told as soon as it is.
  }

  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#pull();
  }

  close(): void {
    this.setPaused(false);
    if (this.#isOpen) this.#socket!.end();
    else this.drop();
  }

  drop(): void {
    this.#end({ kind: 'again', reason: 'dropped' });
  }

  #take(socket: Socket): void {
    this.#socket = socket;
    socket.on('error', (error) => (this.#error = error));
    socket.on('close', () => {
      this.#reader.end();
      this.#isPaused = false;
      this.#pull();
      this.#end(
        this.#error === undefined
          ? { kind: 'again', reason: 'the server has ended the connection' }
          : endingOfError(this.#error, false),
      );
    });
    const { isEncrypted } = this.options.address;
    if (!isEncrypted && !socket.connecting) {
      this.#open(socket);
      return;
    }
    socket.setTimeout(openMs, () => socket.destroy(new Error(`no answer in ${openMs / 1_000} s`)));
    socket.once(isEncrypted ? 'secureConnect' : 'connect', () => {
      socket.setTimeout(0);
      if (!this.#hasEnded) this.#open(socket);
    });
  }

  #open(socket: Socket): void {
    this.#isOpen = true;
    socket.setKeepAlive(true, quietMs);
    for (const [name, value] of Object.entries(this.options.access.headers))
      socket.write(`${name}: ${value}\r\n`);
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#pull();
    });
    this.options.onOpen({});
  }

  #pull(): void {
    while (!this.#isPaused && !this.#hasEnded) {
      const line = this.#reader.next();
      if (line === undefined) break;
      if (!Buffer.isBuffer(line)) {
        this.#end({
          kind: 'over',
          reason: `it sent what it must not: a line that ${tooLong(line, 'acp.max_line_to_editor')}`,
        });
      } else if (this.#hasHeard || line.toString('latin1').trimStart().startsWith('{')) {
        this.#hasHeard = true;
        this.options.onLine(line);
      } else if (!isBlank(line)) this.#end(endingOfWords(wordsOf(line.toString())));
    }
    if (this.#isPaused) this.#socket?.pause();
    else this.#socket?.resume();
  }

  /** What has opened cannot go on by another socket. */
  #end({ kind, reason }: Ending): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#socket?.destroy();
    this.options.onEnd({ kind: kind === 'again' && this.#isOpen ? 'over' : kind, reason });
  }
}

/** Of a server that says something else than messages: why it lets nobody in, behind a status of HTTP, if it is `cai serve`. */
function endingOfWords(said: string): Ending {
  const [, status, why] = /^(\d{3}) (.*)$/.exec(said) ?? [];
  if (status !== undefined) return endingOfStatus(Number(status), why!, false);
  return { kind: 'refused', reason: `it sends no ACP: ${said}` };
}

/**
 * stdin and stdout of an agent: those of the process that was started for it, or, once they are taken, the agent's own pipes
 * past that process.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import {
  inputOf,
  openPipesOf,
  outputOf,
  type OpenPipes,
  type PipeOutput,
} from '../system/streams/pipe-streams';
import { TurnWriter } from '../system/streams/turn-writer';
import type { Line } from '../rpc/splice';

/** Who is told of an agent's streams. */
export interface StreamsOwner {
  onData(chunk: Buffer): void;
  /** stdout of the process has ended; the process may not have. Once pipes are taken, nobody is told. */
  onEnd(): void;
  /** The process is over, and so is all output. */
  onClose(): void;
  /** All that was written has been read, after it had not for a while. */
  onDrain(): void;
}

export class AgentStreams {
  #stdin!: Writable;
  #input!: TurnWriter;
  #stdout!: Readable;
  /** The agent's own, once they are taken. */
  #pipes: OpenPipes | undefined;
  /** Once the process reads it no more: two readers would share out what comes. */
  #output: PipeOutput | undefined;
  #isPaused = false;
  #readBytes = 0;
  /** How much of the agent's output its process passes on, before the rest comes by the pipes. */
  #passedOnBytes = Infinity;

  constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly owner: StreamsOwner,
  ) {
    // A pipe error only says that the process is gone, which its exit tells better.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on('error', () => undefined);
    this.#writeTo(child.stdin);
    this.#readFrom(child.stdout);
    child.stdout.on('end', () => {
      if (!this.areTaken) owner.onEnd();
    });
    child.on('close', () => this.#close());
  }

  /**
   * From now on the agent is written to by these pipes, descriptors of its process; false if they cannot be opened. Nothing was
   * written before.
   */
  take(descriptors: OpenPipes): boolean {
    this.#pipes = openPipesOf(this.child.pid!, descriptors);
    if (this.#pipes === undefined) return false;
    this.#writeTo(inputOf(this.#pipes.input));
    return true;
  }

  /** The process reads the agent's output no more, of which it has passed on so many bytes. */
  released(passedOnBytes: number): void {
    this.#passedOnBytes = passedOnBytes;
    this.#turnToPipes();
  }

  get areTaken(): boolean {
    return this.#pipes !== undefined;
  }

  get isWritable(): boolean {
    return this.#stdin.writable;
  }

  /** Bytes that the system has not taken yet. */
  get unreadBytes(): number {
    return this.#input.waitingBytes;
  }

  /** Writes a line, with what else is added in this turn of the event loop. */
  add(line: Line): void {
    this.#input.add(line);
  }

  /** Ends stdin, after what was written. */
  end(): void {
    this.#input.flush();
    this.#stdin.end();
  }

  pause(): void {
    this.#isPaused = true;
    this.#stdout.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#stdout.resume();
  }

  #writeTo(stdin: Writable): void {
    this.#stdin = stdin;
    this.#input = new TurnWriter(stdin);
    stdin.on('drain', () => this.owner.onDrain());
  }

  #readFrom(stdout: Readable): void {
    this.#stdout = stdout;
    stdout.on('data', (chunk: Buffer) => {
      this.#readBytes += chunk.length;
      this.owner.onData(chunk);
      this.#turnToPipes();
    });
    if (this.#isPaused) stdout.pause();
  }

  #turnToPipes(): void {
    if (this.#pipes === undefined || this.#output !== undefined) return;
    if (this.#readBytes < this.#passedOnBytes) return;
    // Its end is waited for.
    this.child.stdout.resume();
    this.#output = outputOf(this.#pipes.output);
    this.#readFrom(this.#output.stdout);
  }

  /** The process has ended, and all that it has passed on was read. */
  #close(): void {
    this.released(0);
    if (this.areTaken) this.#stdin.destroy();
    this.#output?.end();
    if (this.#output?.stdout.closed === false) this.#output.stdout.on('close', () => this.owner.onClose());
    else this.owner.onClose();
  }
}

/**
 * One connection: a client, wherever it is, and the `cai --acp` process that serves it. What carries the lines may break
 * and be replaced; the process lives on for a while.
 */
import { AgentProcess, type AgentProcessOptions } from '../../agent/process';
import { proxyStop } from '../../agent/process-end';
import type { ProcessEvent } from '../../agent/process-event';
import { CaiError } from '../../errors';
import { isBlank } from '../../rpc/white-space';
import { ClientStream, type Closing, type Outlet } from './client-stream';
import { type KeepLimits, Keeper } from './kept-lines';
import type { LiveSession } from './traffic/live-session';
import type { Visitor } from './door/visitor';
import type { SessionClaims } from './traffic/session-claims';
import { Traffic } from './traffic/traffic';

/** Bytes that the process has not read yet, above which the client is not read. */
const maxUnreadBytes = 1024 * 1024;

/** Streams of a connection that something carries at a time. */
const maxCarried = 256;

export interface ConnectionOptions {
  /** `Acp-Connection-Id`; nobody can guess it, and it is no secret. */
  readonly id: string;
  readonly visitor: Visitor;
  readonly process: AgentProcessOptions;
  /** Hears what concerns the server: what the process writes to stderr, and its status. */
  hear(event: ProcessEvent): void;
  /** Each session has its own stream, as in Streamable HTTP. */
  readonly isSplit: boolean;
  /** For lines that were sent, and again for what sessions have said. */
  readonly keep: KeepLimits;
  /** How long the process lives without anything that carries lines, in milliseconds. */
  readonly graceMs: number;
  /** How long a client may take nothing of what waits for it, in milliseconds. */
  readonly stallMs: number;
  /** The sessions of all connections of the visitor to the same agent. */
  readonly sessions: Map<string, LiveSession>;
  readonly claims: SessionClaims;
  answered(method: string, ms: number, isError: boolean): void;
  /** The process has ended, once; `isExpected`: because the connection was over. */
  onEnd(isExpected: boolean): void;
}

export class ServedConnection {
  received = 0;
  /** When something last passed, by `performance.now()`. */
  activeAt = performance.now();
  readonly id: string;
  readonly visitor: Visitor;
  readonly isSplit: boolean;
  readonly #process: AgentProcess;
  readonly #traffic: Traffic;
  readonly #keeper: Keeper;
  readonly #streams = new Map<string, ClientStream>();
  #waitingForRoom: (() => void)[] = [];
  #isPaused = false;
  #isOver = false;
  #hasEnded = false;
  #grace: NodeJS.Timeout | undefined;

  /** Starts the process; the client has the grace time to attach. */
  constructor(private readonly options: ConnectionOptions) {
    const { keep, sessions, claims } = options;
    ({ id: this.id, visitor: this.visitor, isSplit: this.isSplit } = options);
    this.#keeper = new Keeper(keep);
    this.#traffic = new Traffic(
      {
        deliver: (line, stream) => this.#deliver(line, options.isSplit ? stream : ''),
        toAgent: (line) => this.#process.send(line),
        lastGuestLeft: () => {
          if (this.#isOver) void this.#stop();
        },
        answered: (...call) => options.answered(...call),
      },
      sessions,
      claims,
      new Keeper(keep),
    );
    this.#process = new AgentProcess(options.process, (event) => this.#hear(event));
    this.#startGrace();
  }

  #hear(event: ProcessEvent): void {
    if (event.kind === 'line') {
      const { line } = event;
      this.activeAt = performance.now();
      if (Buffer.isBuffer(line)) this.#guard(() => this.#traffic.fromAgent(line));
    } else if (event.kind === 'drained') this.#tellRoom();
    else if (event.kind === 'end') this.#onEnd(event.reason.message);
    // The process asks its own editor.
    else if (event.kind === 'asks') event.answer(undefined);
    else this.options.hear(event);
  }

  /** Ids of the sessions that are open in its process. */
  get sessionIds(): readonly string[] {
    return this.#traffic.own.map(({ id }) => id);
  }

  get isWorking(): boolean {
    return this.#traffic.isWorking;
  }

  /** The client has ended it, or has been away for too long. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isAttached(): boolean {
    return this.#carried.length > 0;
  }

  /** Whether `attach` would fail. Fails in the same way. What is gone for one client, its next connection can join. */
  check(after?: number, name = ''): void {
    const known = this.#streams.get(name);
    if (known?.outlet === undefined && this.#carried.length >= maxCarried)
      throw new CaiError('LIMIT', `a connection has at most ${maxCarried} streams at a time`);
    (known ?? this.#newStream(name)).check(after);
  }

  /**
   * Gives a stream's lines to that outlet, in the place of any other: those behind the line of number `after`, or,
   * without one, where the last outlet stopped. Fails with `CaiError('GONE')` if lines behind it are no longer kept,
   * and with `USAGE` for a number that no line had.
   */
  attach(outlet: Outlet, after?: number, name = ''): void {
    this.#stream(name).carryBy(outlet, after);
    clearTimeout(this.#grace);
    this.activeAt = performance.now();
    this.flush(name);
  }

  /** An outlet is gone; `isOver`: the client has said that it ends the connection. */
  detach(outlet: Outlet, isOver: boolean, name = ''): void {
    const stream = this.#streams.get(name);
    if (stream?.outlet !== outlet) return;
    stream.drop();
    // Clients can name any number of sessions.
    if (stream.isNew) this.#streams.delete(name);
    // Who has said nothing has nothing to come back for.
    if (isOver || this.received === 0) this.end();
    else if (!this.isAttached) this.#startGrace();
    this.#pauseOrResume();
  }

  flush(name = ''): void {
    this.#stream(name).flush();
    this.#pauseOrResume();
  }

  /** Takes one message of the client, without line end. False: read no more, and use `whenRoom`. */
  receive(line: Buffer): boolean {
    this.received++;
    this.activeAt = performance.now();
    if (!this.isAttached) this.#startGrace();
    // As in ACP's lines, blank ones mean nothing.
    if (!isBlank(line)) this.#guard(() => this.#traffic.fromClient(line));
    return this.#process.unreadBytes < maxUnreadBytes;
  }

  /** After `receive` was false: calls `then` once, when more may be read or the process has ended. */
  whenRoom(then: () => void): void {
    this.#waitingForRoom.push(then);
  }

  /** The client says no more, and still reads: the process answers what is due soon, and ends. */
  inputIsOver(): void {
    if (this.#isOver || this.#isNeeded) this.end();
    else void this.#stop();
  }

  /** The client is gone for good: the process ends, unless other connections follow its sessions. */
  end(): void {
    clearTimeout(this.#grace);
    if (this.#isOver) return;
    this.#isOver = true;
    for (const [name, stream] of this.#streams)
      this.#closeOutlet(stream, name, 'ended', 'the client has ended the connection');
    // Otherwise the process ends, and answers itself what agents have asked.
    if (this.#isNeeded) this.#traffic.clientGone();
    else void this.#stop();
  }

  /** Ends what carries it, and the process; resolves when nothing is left. */
  async close(why: Closing, reason: string): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#grace);
    for (const [name, stream] of this.#streams) this.#closeOutlet(stream, name, why, reason);
    await this.#stop();
  }

  async #stop(): Promise<void> {
    this.#traffic.isStopping = true;
    await this.#process.stop(proxyStop);
  }

  get #carried(): readonly ClientStream[] {
    return [...this.#streams.values()].filter(({ outlet }) => outlet !== undefined);
  }

  get #isNeeded(): boolean {
    return this.#traffic.own.some(({ isShared }) => isShared);
  }

  #startGrace(): void {
    clearTimeout(this.#grace);
    if (this.#isOver) return;
    this.#grace = setTimeout(() => this.end(), this.options.graceMs).unref();
  }

  #tellRoom(): void {
    for (const then of this.#waitingForRoom.splice(0)) then();
  }

  /** A bug that a message meets ends this connection, and no other. */
  #guard(pass: () => void): void {
    try {
      pass();
    } catch (reason) {
      const { log } = this.options.process;
      log.error({ err: reason, connection: this.id }, 'internal error: a connection is ended');
      void this.close('failed', 'internal error');
    }
  }

  #deliver(line: Buffer, name: string): void {
    if (this.#isOver) return;
    this.#stream(name).push(line);
    this.#pauseOrResume();
  }

  #stream(name: string): ClientStream {
    const stream = this.#streams.get(name) ?? this.#newStream(name);
    this.#streams.set(name, stream);
    return stream;
  }

  /** A client that does not keep up may come back, and gets the rest if it is still kept. */
  #newStream(name: string): ClientStream {
    const onSlow = (reason: string): void => this.#closeOutlet(stream, name, 'slow', reason);
    const stream = new ClientStream(this.#keeper, this.options.stallMs, onSlow);
    return stream;
  }

  /** The process waits for its client, but not where others follow its sessions: a slow client harms nobody else. */
  #pauseOrResume(): void {
    const unsent = this.#carried.reduce((bytes, { unsentBytes }) => bytes + unsentBytes, 0);
    const isTooMuch = unsent >= this.options.keep.bytes / 2 && !this.#isNeeded;
    if (isTooMuch === this.#isPaused) return;
    this.#isPaused = isTooMuch;
    if (isTooMuch) this.#process.pause();
    else this.#process.resume();
  }

  #closeOutlet(stream: ClientStream, name: string, why: Closing, reason: string): void {
    const { outlet } = stream;
    if (outlet === undefined) return;
    this.detach(outlet, false, name);
    outlet.close(why, reason);
  }

  #onEnd(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const isExpected = this.#isOver || this.#traffic.isStopping;
    this.#traffic.end();
    for (const [name, stream] of this.#streams) this.#closeOutlet(stream, name, 'ended', reason);
    this.#isOver = true;
    clearTimeout(this.#grace);
    this.#tellRoom();
    this.options.onEnd(isExpected);
  }
}

/**
 * The connection to a server, whatever socket carries it. Both ends count the messages of a connection; where a
 * socket breaks, the connection goes on by another one, with the messages that the other end does not have. Where
 * that is impossible, another connection begins.
 */
import { CaiError } from '../../errors';
import type { Log } from '../../system/log';
import { within } from '../../system/time-limit';
import { connectionHeader, receivedHeader } from '../carried';
import type { Access } from './access';
import type { Address } from './address';
import { BackOff } from './back-off';
import { Cookies } from './cookies';
import type { Ending } from './socket/endings';
import { LineLink } from './socket/lines';
import type { Greeting, Link } from './socket/link';
import { WebSocketLink } from './socket/websocket';
import { UnprovenLines } from './unproven';

/** How long a server is tried for from which nothing has ever come, in milliseconds. */
const firstMs = 30_000;
/** How long the server may take to notice the end, in milliseconds. */
const closeMs = 1_500;

/** What a connection is made with, and who is told. */
export interface RemoteOptions {
  readonly address: Address;
  readonly access: Access;
  /** Of one message from the server. */
  readonly maxLineBytes: number;
  /** With more unproven bytes than this, no more are taken. */
  readonly maxUnprovenBytes: number;
  /** Is told of every end of a socket. */
  readonly log: Log;
  /** A connection has begun that knows nothing of any other. */
  readonly onBegin: () => void;
  /** One message of the server, which may hold line ends. */
  readonly onLine: (line: Buffer) => void;
  /** `hasRoom` may be true again. */
  readonly onRoom: () => void;
  /** What was begun is over, with all that was under way; another connection will be tried for. */
  readonly onLost: (reason: string) => void;
  /** There is no connection, and no other attempt is made. */
  readonly onGivenUp: (reason: CaiError) => void;
}

/**
 * `trying`: a socket is being opened, or waits for its attempt. `open`: there is one. `asleep`: the server has closed it
 * because nothing passed. `over`: no other attempt is made.
 */
type State = 'trying' | 'open' | 'asleep' | 'over';

export class Remote {
  #state: State = 'trying';
  #link: Link | undefined;
  /** The connection that has begun; `id`: under this the server goes on with it by another socket. */
  #begun: { readonly id: string | undefined } | undefined;
  /** Our messages, the number of the one that the socket gets next, and how many of the server's have come. */
  #sent = new UnprovenLines();
  #next = 1;
  #received = 0;
  readonly #backOff = new BackOff();
  #timer: NodeJS.Timeout | undefined;
  /** Until the first message of the server. */
  #firstTimer: NodeJS.Timeout | undefined;
  #lastReason = 'it does not answer';
  #isPaused = false;
  readonly #cookies = new Cookies();
  /** `flush` looks again. */
  #look: () => void = () => undefined;
  #onEnded: () => void = () => undefined;

  constructor(private readonly options: RemoteOptions) {}

  /** Tries to connect, for ever once anything has come from the server. */
  start(): void {
    this.#limitTrying();
    this.#connect();
  }

  /** There is a connection, and it takes more. */
  get hasRoom(): boolean {
    return this.#isOpen && !this.isCrowded && !this.#isBehind;
  }

  /** Why there is no socket; undefined: there is one, or none is wanted. */
  get failure(): CaiError | undefined {
    return this.#state === 'trying' ? this.#failureFor(this.#lastReason) : undefined;
  }

  /** Sends one message, which must be UTF-8: now, or when the socket takes more. Only while a connection is begun. */
  send(line: Buffer): void {
    this.#sent.add(line);
    this.#pump();
  }

  /** There is something to send: a server that has closed an idle socket is connected to again. */
  wake(): void {
    if (this.#state !== 'asleep') return;
    this.#state = 'trying';
    this.#connect();
  }

  /** Takes no more lines until it is told to. A few may still come. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (this.#isOpen) this.#link!.setPaused(isPaused);
  }

  /** Resolves when the server has all that was sent. */
  async flush(): Promise<void> {
    while (this.#sent.proven < this.#sent.last && this.#state !== 'over') {
      this.wake();
      if (this.#isOpen && !this.#isBehind) this.#link!.ping();
      await new Promise<void>((resolve) => (this.#look = resolve));
    }
  }

  /** Ends the connection for good; resolves when the server knows, or does not answer. */
  async close(): Promise<void> {
    const link = this.#link;
    this.#stop();
    if (link === undefined) return;
    const ended = new Promise<void>((resolve) => (this.#onEnded = resolve));
    link.close();
    await within(closeMs, ended);
    link.drop();
  }

  get #isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Nothing has ever come from the server. */
  get #isUnknown(): boolean {
    return this.#firstTimer !== undefined;
  }

  /** More was sent than the server may have unproven. */
  get isCrowded(): boolean {
    return this.#sent.bytes > this.options.maxUnprovenBytes;
  }

  get #isBehind(): boolean {
    return this.#next <= this.#sent.last;
  }

  /** A socket that is open may take its time: agents start slowly. */
  #limitTrying(): void {
    this.#firstTimer = setTimeout(() => {
      if (this.#state === 'trying') this.#giveUp(this.#lastReason);
      else this.#limitTrying();
    }, firstMs);
  }

  #connect(): void {
    const id = this.#begun?.id;
    const about =
      id === undefined ? {} : { [connectionHeader]: id, [receivedHeader]: String(this.#received) };
    const Kind = this.options.address.isLines === true ? LineLink : WebSocketLink;
    this.#link = new Kind({
      address: this.options.address,
      access: this.options.access,
      headers: { ...this.#cookies.headers, ...about },
      isReturn: id !== undefined,
      maxBytes: this.options.maxLineBytes,
      sentCount: () => this.#next - 1,
      onOpen: (greeting) => this.#opened(greeting),
      onLine: (line) => this.#take(line),
      onProven: (count) => this.#prove(count),
      onRoom: () => this.#goOn(),
      onEnd: (ending) => this.#ended(ending),
    });
  }

  #opened({ id, received, cookies }: Greeting): void {
    if (this.#state === 'over') return;
    this.#cookies.take(cookies);
    const isSame = id !== undefined && id === this.#begun?.id && received !== undefined;
    const goesOn = isSame && this.#sent.prove(received);
    if (!goesOn && this.#begun !== undefined) this.#lose('the server has begun a new one');
    if (isSame && !goesOn) {
      // It counts what we never sent: nothing that it says of this connection can be trusted.
      this.#link!.drop();
      return;
    }
    this.#state = 'open';
    // As loud as what was said when it broke.
    const level = this.#backOff.isTrying ? 'warn' : 'info';
    this.#link!.setPaused(this.#isPaused);
    if (goesOn) {
      this.options.log[level]({ resent: this.#sent.last - this.#sent.proven }, 'the connection goes on');
      this.#next = this.#sent.proven + 1;
      this.#pump();
      this.#goOn();
    } else {
      this.#begun = { id: received === undefined ? undefined : id };
      this.options.log[level]({ canGoOn: this.#begun.id !== undefined }, 'a connection has begun');
      this.options.onBegin();
    }
    this.#look();
  }

  #take(line: Buffer): void {
    this.#received++;
    this.#backOff.works();
    if (this.#isUnknown) {
      clearTimeout(this.#firstTimer);
      this.#firstTimer = undefined;
    }
    this.options.onLine(line);
  }

  #prove(count: number): void {
    // The answer to a ping of a moment ago may tell less than is known by now, and nothing can be more than sent.
    if (count >= this.#next || !this.#sent.prove(count)) return;
    this.#backOff.works();
    this.#goOn();
  }

  #goOn(): void {
    this.#pump();
    this.#look();
    if (this.hasRoom) this.options.onRoom();
  }

  #pump(): void {
    if (!this.#isOpen) return;
    while (this.#isBehind && !this.#link!.isFull) this.#link!.send(this.#sent.at(this.#next++)!);
    // More is taken when the server is known to have some of it.
    if (this.isCrowded && !this.#isBehind) this.#link!.ping();
  }

  #ended(ending: Ending): void {
    const { kind, reason } = ending;
    const wasOpen = this.#isOpen;
    this.#link = undefined;
    this.#onEnded();
    if (this.#state === 'over') return;
    const isIdle = kind === 'idle' && this.#sent.proven === this.#sent.last;
    this.#state = isIdle ? 'asleep' : 'trying';
    this.#lastReason = reason;
    if (kind === 'refused' || (kind === 'absent' && this.#isUnknown)) {
      this.#giveUp(reason);
      return;
    }
    this.#logEnd(ending, wasOpen);
    if (this.#begun !== undefined && (kind === 'over' || this.#begun.id === undefined)) this.#lose(reason);
    if (isIdle) return;
    if (kind === 'over' && wasOpen) this.#backOff.ended();
    this.#timer = setTimeout(() => this.#connect(), this.#backOff.next());
  }

  #logEnd({ kind, reason }: Ending, wasOpen: boolean): void {
    const { log } = this.options;
    if (wasOpen)
      log[kind === 'idle' ? 'info' : 'warn']({ said: reason }, 'the connection to the server is interrupted');
    else if (this.#isUnknown && !this.#backOff.isTrying)
      log.warn({ said: reason }, `the server could not be connected to; trying for ${firstMs / 1_000} s`);
    else log.info({ said: reason }, 'the server could not be connected to');
  }

  /** The connection cannot go on: neither end knows what the other has. */
  #lose(reason: string): void {
    this.#begun = undefined;
    this.#sent = new UnprovenLines();
    this.#next = 1;
    this.#received = 0;
    this.options.log.warn({ said: reason }, 'the connection to the server is lost; another is tried for');
    this.#look();
    this.options.onLost(reason);
  }

  #giveUp(reason: string): void {
    const link = this.#link;
    this.#stop();
    link?.drop();
    this.options.onGivenUp(this.#failureFor(reason));
  }

  #failureFor(reason: string): CaiError {
    const { shown } = this.options.address;
    return new CaiError('NO_SERVER', `the server at ${shown} cannot be used: ${reason}`);
  }

  #stop(): void {
    this.#state = 'over';
    clearTimeout(this.#timer);
    clearTimeout(this.#firstTimer);
    this.#look();
  }
}

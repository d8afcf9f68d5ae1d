/**
 * What passes between one client and the `cai --acp` process that serves it: each line is read once, to know which
 * session it is about, and passed on as it is. What is about a session that is open in another connection of the same
 * visitor goes there (`live-session.ts`).
 */
import { cancelLine, errorLine, findById, newOwnId, resultLine } from '../rpc/answer';
import { planOf } from '../rpc/json';
import { fieldOf, jsonOf, scanCall, stringOf, type Message } from '../rpc/message';
import { Scanner } from '../rpc/scanner';
import { ended, joined, withId, type Line } from '../rpc/splice';
import { rpcCode } from '../errors';
import { KnownIds } from './known-ids';
import { isForGuests, LiveSession, type CallOfSession, type Home, type Participant } from './live-session';
import type { Keeper } from './outbox';

/** Calls after which the client has a session that they, or their answers, name. */
const openingMethods = new Set(['session/new', 'session/load', 'session/resume', 'session/fork']);
/** Calls that open a session that exists, perhaps in another connection. */
const joiningMethods = new Set(['session/load', 'session/resume']);
/** Calls after which the session is gone. */
const endingMethods = new Set(['session/close', 'session/delete']);

const callPlan = planOf({
  sessionId: 'session',
  requestId: 'requestId',
  modeId: 'mode',
  prompt: { '*': 'block' },
});
const agentPlan = planOf({ sessionId: 'session', requestId: 'requestId' });

/** What a connection does for its traffic. */
export interface TrafficPorts extends Participant {
  /** Writes a line, with its line end, to the process. */
  toAgent(line: Line): void;
  /** No other connection follows its sessions any more. */
  lastGuestLeft(): void;
  /** A request of a client was answered, after so many milliseconds. */
  answered(method: string, ms: number): void;
}

/** A request of a client that is open in the process. */
interface OpenCall extends CallOfSession {
  /** JSON text. */
  readonly id: string;
  readonly sessionId: string | undefined;
  readonly since: number;
  readonly by: Participant;
  answer(message: Message): void;
}

/** Both directions of one connection. */
export class Traffic implements Home {
  readonly #calls = new Map<string, OpenCall>();
  /** Requests of the agent that are open, by its ids. */
  readonly #asked = new Map<string, { readonly id: string; readonly session: LiveSession | undefined }>();
  /** Those that a guest has answered: the client's answer is not wanted any more. */
  readonly #answeredByGuest = new Set<string>();
  /** The sessions of other connections that the client follows. */
  readonly #joined = new Set<LiveSession>();
  /** The client's requests in these: by its ids, those that they have there. */
  readonly #callsElsewhere = new Map<string, { readonly home: Home; readonly id: string }>();
  /** Those that the client has named or was told: it cannot follow a stream of any other. */
  readonly #known = new KnownIds();
  readonly #agentScanner = new Scanner({
    params: () => agentPlan,
    result: () => agentPlan,
    error: undefined,
  });
  #isClientGone = false;

  /** `sessions`: of all connections of the visitor to this agent, by id; `keeper`: for the histories of its own. */
  constructor(
    private readonly ports: TrafficPorts,
    private readonly sessions: Map<string, LiveSession>,
    private readonly keeper: Keeper,
  ) {}

  /** The sessions that are open in the process. */
  get own(): readonly LiveSession[] {
    return [...this.sessions.values()].filter(({ home }) => home === this);
  }

  /** Whether a request is open in the process. */
  get isWorking(): boolean {
    return this.#calls.size > 0;
  }

  /** One line of the client. */
  fromClient(line: Buffer): void {
    const message = scanCall(line, callPlan);
    if (message.kind === 'response') {
      this.#answer(message);
      return;
    }
    const id = stringOf(message, 'session');
    const session = id === undefined ? undefined : this.sessions.get(id);
    if (id !== undefined) this.#known.add(id);
    if (message.method === '$/cancel_request' && this.#cancelElsewhere(message)) return;
    if (session !== undefined && session.home !== this && this.#passElsewhere(session, message)) return;
    if (message.kind === 'request') this.#call(message, id, session);
    this.toAgent(ended(line));
  }

  /** One line of the process. */
  fromAgent(line: Buffer): void {
    const message = this.#agentScanner.scan(line);
    if (message.kind === 'response') {
      this.#answerOfAgent(message);
      return;
    }
    const id = stringOf(message, 'session');
    const session = id === undefined ? undefined : this.#ownSession(id);
    if (message.kind === 'request') this.#question(message, session);
    else if (session !== undefined) session.said(line);
    else {
      if (message.method === '$/cancel_request') this.#withdraw(message);
      this.deliver(line, id ?? '');
    }
  }

  /** The client is gone for good, and guests go on: what only it could answer is refused. */
  clientGone(): void {
    this.#isClientGone = true;
    for (const { id, session } of this.#asked.values()) if (session?.isAsking(id) !== true) this.#refuse(id);
  }

  /** The process has ended: whoever waits for it is told. */
  end(): void {
    for (const session of this.#joined) session.leave(this);
    for (const session of this.own) this.#forget(session);
    const message = 'the connection that had the session has ended: load the session again';
    for (const call of this.#calls.values()) {
      const line = joined(errorLine(call.id, { code: rpcCode.internalError, message }));
      if (call.by !== this) call.answer(scanCall(line, agentPlan));
    }
  }

  /** As of `Participant`. */
  deliver(line: Buffer, stream: string): void {
    if (!this.#isClientGone) this.ports.deliver(line, this.#known.has(stream) ? stream : '');
  }

  /** As of `Home`. */
  toAgent(line: Line): void {
    this.ports.toAgent(line);
  }

  /** As of `Home`. */
  callFor(guest: Participant, message: Message, answer: (line: Buffer) => void): string {
    const id = newOwnId();
    const sessionId = stringOf(message, 'session');
    this.#begin(id, message, sessionId, guest, (its) => answer(withId(its, message.id!)));
    this.toAgent(ended(withId(message, id)));
    return id;
  }

  /** As of `Home`. */
  answeredByGuest(agentId: string): void {
    this.#asked.delete(agentId);
    this.#answeredByGuest.add(agentId);
    this.deliver(joined(cancelLine(agentId)), '');
  }

  /** As of `Home`. */
  lastGuestLeft(): void {
    if (this.own.every((session) => !session.isShared)) this.ports.lastGuestLeft();
  }

  /** A request of the client that its own process gets. */
  #call(message: Message, sessionId: string | undefined, session: LiveSession | undefined): void {
    // SDK 2.4: the answer to `session/load` comes in the connection's stream, others in that of their session.
    const stream = message.method === 'session/load' ? '' : (sessionId ?? '');
    this.#begin(message.id!, message, sessionId, this, ({ line }) => this.deliver(line, stream));
    if (session?.home !== this) return;
    if (message.method === 'session/prompt') session.prompted(this, message);
    if (joiningMethods.has(message.method)) session.opening();
  }

  #begin(
    id: string,
    message: Message,
    sessionId: string | undefined,
    by: Participant,
    answer: OpenCall['answer'],
  ): void {
    const { method } = message;
    const modeId = stringOf(message, 'mode');
    this.#calls.set(id, { id, method, modeId, sessionId, since: performance.now(), by, answer });
  }

  /** False: the session's home is not concerned. */
  #passElsewhere(session: LiveSession, message: Message): boolean {
    const { kind, method } = message;
    if (kind === 'request' && joiningMethods.has(method)) {
      this.#joined.add(session);
      session.join(this, message);
      return true;
    }
    // A fork is a session of whoever has asked for it.
    if (!session.hasGuest(this) || method === 'session/fork') return false;
    if (kind === 'notification') session.home.toAgent(ended(message.line));
    else if (method === 'session/close') {
      this.#joined.delete(session);
      session.leave(this);
      this.deliver(joined(resultLine(message.id!, '{}')), session.id);
    } else {
      const { home } = session;
      const id = home.callFor(this, message, (line) => {
        this.#callsElsewhere.delete(message.id!);
        this.deliver(line, session.id);
      });
      this.#callsElsewhere.set(message.id!, { home, id });
      if (method === 'session/prompt') session.prompted(this, message);
    }
    return true;
  }

  #cancelElsewhere(message: Message): boolean {
    const requestId = fieldOf(message, 'requestId');
    const call = requestId && findById(this.#callsElsewhere, jsonOf(message, requestId));
    call?.home.toAgent(cancelLine(call.id));
    return call !== undefined;
  }

  /** The client answers a request of an agent, which the first answer settles. */
  #answer(message: Message): void {
    for (const session of this.#joined) if (session.answerOfGuest(this, message)) return;
    if (this.#answeredByGuest.delete(message.id!)) return;
    const asked = findById(this.#asked, message.id!);
    if (asked !== undefined) {
      this.#asked.delete(asked.id);
      asked.session?.settle(asked.id);
    }
    this.toAgent(ended(message.line));
  }

  #answerOfAgent(message: Message): void {
    const call = findById(this.#calls, message.id!);
    if (call === undefined) {
      this.deliver(message.line, '');
      return;
    }
    this.#calls.delete(call.id);
    const { method, sessionId, by } = call;
    this.ports.answered(method, performance.now() - call.since);
    if (!message.isError && openingMethods.has(method)) {
      const id = stringOf(message, 'session') ?? sessionId;
      if (id !== undefined) {
        this.#known.add(id);
        this.#ownSession(id, true)?.hasOpened(method, message);
      }
    }
    if (sessionId !== undefined) {
      const session = this.#ownSession(sessionId);
      session?.answered(by, call, message);
      if (!message.isError && endingMethods.has(method) && session !== undefined) this.#forget(session);
    }
    call.answer(message);
  }

  /** A session of this process; it begins with what the agent says while it opens one. */
  #ownSession(id: string, isOpened = false): LiveSession | undefined {
    const known = this.sessions.get(id);
    if (known !== undefined) return known.home === this ? known : undefined;
    const isOpening = (): boolean =>
      [...this.#calls.values()].some(({ method }) => openingMethods.has(method));
    if (!isOpened && !isOpening()) return undefined;
    const session = new LiveSession(id, this, this.keeper);
    this.sessions.set(id, session);
    return session;
  }

  #forget(session: LiveSession): void {
    this.sessions.delete(session.id);
    session.forget();
  }

  #question(message: Message, session: LiveSession | undefined): void {
    const id = message.id!;
    this.#asked.set(id, { id, session });
    if (session === undefined) this.deliver(message.line, stringOf(message, 'session') ?? '');
    else session.asks(message);
    if (this.#isClientGone && !isForGuests(message)) this.#refuse(id);
  }

  #withdraw(message: Message): void {
    const requestId = fieldOf(message, 'requestId');
    const asked = requestId && findById(this.#asked, jsonOf(message, requestId));
    if (asked === undefined) return;
    this.#asked.delete(asked.id);
    asked.session?.settle(asked.id);
  }

  #refuse(agentId: string): void {
    this.#asked.delete(agentId);
    const message = 'the client that could answer this has left the session';
    this.toAgent(errorLine(agentId, { code: rpcCode.internalError, message }));
  }
}

/**
 * What passes between one client and the `cai --acp` process that serves it: each line is read once, to know which
 * session it is about, and passed on as it is. What is about a session that is open in another connection of the same
 * visitor goes there: `live-session.ts` is the session there, `guest.ts` the client's part in it.
 *
 * A request has the id of whoever has sent it: the client, the agent, or ourselves, where a guest's request goes to the
 * agent of its home, and where the agent's question goes to a guest.
 */
import { cancelLine, errorLine, newOwnId } from '../../../rpc/answer';
import { planOf } from '../../../rpc/json';
import { fieldOf, jsonOf, scanCall, stringOf, type Message } from '../../../rpc/message';
import { OpenRequests } from '../../../rpc/open-requests';
import { Scanner } from '../../../rpc/scanner';
import { ended, joined, withId, type Line } from '../../../rpc/splice';
import { rpcCode } from '../../../errors';
import { AgentRequests } from './agent-requests';
import { Guest } from './guest';
import { KnownIds } from './known-ids';
import type { LiveSession } from './live-session';
import { endingMethods, joiningMethods } from './transitions';
import type { CallOfSession, Home, Participant } from './participants';
import { OwnSessions } from './own-sessions';
import type { Keeper } from '../outbox';
import type { SessionClaims } from './session-claims';

/** Calls that make a session, which their answers name. */
const makingMethods: ReadonlySet<string> = new Set(['session/new', 'session/fork']);
/** Calls after which the client has a session. */
const openingMethods: ReadonlySet<string> = new Set([...makingMethods, ...joiningMethods]);

/** Why a session is not opened here. */
export const isElsewhere = {
  code: rpcCode.internalError,
  message:
    'the session is open in another server with the same state folder: come in there, or, if that one has ended, try again in half a minute',
};

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
  answer(message: Message): void;
}

/** Both directions of one connection. */
export class Traffic implements Home {
  readonly #calls = new OpenRequests<OpenCall>();
  readonly #asked = new AgentRequests();
  readonly #own: OwnSessions;
  /** The client in sessions of other connections. */
  readonly #guest = new Guest(this, (line) => this.fromClient(line));
  /** Those that the client has named or was told: it cannot follow a stream of any other. */
  readonly #known = new KnownIds();
  readonly #agentScanner = new Scanner({
    params: () => agentPlan,
    result: () => agentPlan,
    error: undefined,
  });
  isStopping = false;
  #isClientGone = false;

  /**
   * `sessions`: of all connections of the visitor to this agent, by id; `claims`: of the server; `keeper`: for the
   * histories of sessions.
   */
  constructor(
    private readonly ports: TrafficPorts,
    private readonly sessions: Map<string, LiveSession>,
    claims: Pick<SessionClaims, 'take'>,
    keeper: Keeper,
  ) {
    this.#own = new OwnSessions(sessions, claims, this, keeper);
  }

  /** The sessions that are open in the process. */
  get own(): readonly LiveSession[] {
    return this.#own.all.filter(({ isOpen }) => isOpen);
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
    if (message.method === '$/cancel_request' && this.#guest.cancel(message)) return;
    if (session !== undefined && session.home !== this && this.#guest.pass(session, message)) return;
    if (message.kind === 'request') {
      const isOpened = id !== undefined && session === undefined && joiningMethods.has(message.method);
      if (isOpened && !this.#own.claim(id)) {
        this.deliver(joined(errorLine(message.id!, isElsewhere)), '');
        return;
      }
      this.#call(message, id);
    }
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
    const session = id === undefined ? undefined : this.#sessionOfAgent(id);
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
    this.#guest.leaveAll();
    for (const id of this.#asked.takeUnshared()) this.#refuse(id);
  }

  /** The process has ended, and the client is gone: whoever else waits for the process is told. */
  end(): void {
    this.#guest.leaveAll();
    this.#isClientGone = true;
    this.isStopping = true;
    const message = 'the connection that had the session has ended: load the session again';
    for (const call of this.#calls.all) {
      const line = joined(errorLine(call.id, { code: rpcCode.internalError, message }));
      this.#answered(call, scanCall(line, agentPlan));
    }
    for (const session of this.#own.all) this.#own.forget(session);
  }

  deliver(line: Buffer, stream: string): void {
    if (!this.#isClientGone) this.ports.deliver(line, this.#known.has(stream) ? stream : '');
  }

  toAgent(line: Line): void {
    this.ports.toAgent(line);
  }

  callFor(guest: Participant, message: Message, answer: (line: Buffer, isError: boolean) => void): string {
    const id = newOwnId();
    const sessionId = stringOf(message, 'session');
    this.#begin(id, message, sessionId, guest, (its) => answer(withId(its, message.id!), its.isError));
    this.toAgent(ended(withId(message, id)));
    return id;
  }

  answeredByGuest(agentId: string): void {
    this.#asked.answeredByGuest(agentId);
    this.deliver(joined(cancelLine(agentId)), '');
  }

  isInTurn(sessionId: string): boolean {
    return this.#calls.all.some((call) => call.method === 'session/prompt' && call.sessionId === sessionId);
  }

  lastGuestLeft(): void {
    if (this.own.every((session) => !session.isShared)) this.ports.lastGuestLeft();
  }

  /** A request of the client that its own process gets. */
  #call(message: Message, sessionId: string | undefined): void {
    // SDK 2.4: the answer to `session/load` comes in the connection's stream, others in that of their session.
    const stream = message.method === 'session/load' ? '' : (sessionId ?? '');
    this.#begin(message.id!, message, sessionId, this, ({ line }) => this.deliver(line, stream));
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
    const call = { id, method, modeId, sessionId, since: performance.now(), by, answer };
    this.#calls.add(id, call);
    if (sessionId === undefined) return;
    const session = joiningMethods.has(method) ? this.#own.add(sessionId) : this.#own.get(sessionId);
    if (method === 'session/prompt') session?.prompted(by, message);
    else if (joiningMethods.has(method) || endingMethods.has(method)) session?.changing(call);
  }

  /** The client answers a request of an agent, which the first answer settles. */
  #answer(message: Message): void {
    if (this.#guest.answer(message)) return;
    if (this.#asked.answered(message.id!)) this.toAgent(ended(message.line));
  }

  #answerOfAgent(message: Message): void {
    const call = this.#calls.find(message.id!);
    if (call === undefined) {
      this.deliver(message.line, '');
      return;
    }
    this.ports.answered(call.method, performance.now() - call.since);
    this.#answered(call, message);
  }

  #answered(call: OpenCall, message: Message): void {
    this.#calls.take(call.id);
    if (openingMethods.has(call.method) || endingMethods.has(call.method)) this.#hasChanged(call, message);
    call.answer(message);
    if (call.sessionId !== undefined) this.#own.get(call.sessionId)?.answered(call, message);
  }

  /** It begins with what the agent says while it opens one. */
  #sessionOfAgent(id: string): LiveSession | undefined {
    if (this.sessions.has(id) || !this.#isOpening) return this.#own.get(id);
    return this.#own.add(id);
  }

  get #isOpening(): boolean {
    return this.#calls.all.some(({ method }) => openingMethods.has(method));
  }

  #hasChanged(call: OpenCall, answer: Message): void {
    const id = makingMethods.has(call.method) ? stringOf(answer, 'session') : call.sessionId;
    if (id !== undefined) this.#sessionHasChanged(id, call, answer);
    if (this.#isOpening) return;
    // What the agent has spoken of meanwhile, and has not opened.
    for (const each of this.#own.all) if (!each.isOpen && !each.isChanging) this.#own.forget(each);
  }

  #sessionHasChanged(id: string, call: OpenCall, answer: Message): void {
    const isOpened = openingMethods.has(call.method) && !answer.isError;
    if (isOpened) this.#known.add(id);
    const session = isOpened ? this.#own.add(id) : this.#own.get(id);
    if (session === undefined || (makingMethods.has(call.method) && session.isOpen)) return;
    session.hasChanged(call, answer);
    if (!session.isOpen && !session.isChanging) this.#own.forget(session);
  }

  #question(message: Message, session: LiveSession | undefined): void {
    const id = message.id!;
    if (session === undefined) this.deliver(message.line, stringOf(message, 'session') ?? '');
    else session.asks(message);
    if (this.#isClientGone && session?.isAsking(id) !== true) this.#refuse(id);
    else this.#asked.add(id, session);
  }

  #withdraw(message: Message): void {
    const requestId = fieldOf(message, 'requestId');
    if (requestId !== undefined) this.#asked.withdrawn(jsonOf(message, requestId));
  }

  #refuse(agentId: string): void {
    const message = 'the client that could answer this has left the session';
    this.toAgent(errorLine(agentId, { code: rpcCode.internalError, message }));
  }
}

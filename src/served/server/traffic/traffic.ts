/**
 * What passes between one client and the `cai --acp` process that serves it: each line is read once, to know which
 * session it is about, and passed on as it is. What is about a session that is open in another connection of the same
 * visitor goes there: `live-session.ts` is the session there, `elsewhere.ts` the client's part in it.
 *
 * A request has the id of whoever has sent it: the client, the agent, or ourselves, where a guest's request goes to the
 * agent of its home, and where the agent's question goes to a guest.
 */
import { cancelLine, errorLine, newOwnId } from '../../../rpc/answer';
import { wantedIn } from '../../../rpc/json';
import { fieldOf, jsonOf, scanCall, stringOf, type Message } from '../../../rpc/message';
import { OpenRequests } from '../../../rpc/open-requests';
import { Scanner } from '../../../rpc/scanner';
import { ended, joined, withId, type Line } from '../../../rpc/splice';
import { rpcCode } from '../../../errors';
import { Elsewhere } from './elsewhere';
import { LiveSession } from './live-session';
import { endingMethods, joiningMethods } from './transitions';
import type { CallOfSession, Home, Participant } from './participants';
import type { Keeper } from '../kept-lines';
import { openInAnotherServer, type SessionClaims } from './session-claims';
import { sharedQuestion } from './shared-questions';

/** Calls that make a session, which their answers name. */
const makingMethods: ReadonlySet<string> = new Set(['session/new', 'session/fork']);
/** Calls after which the client has a session. */
const openingMethods: ReadonlySet<string> = new Set([...makingMethods, ...joiningMethods]);

/** So many ids are remembered, the latest: a client can name any number, of any length. */
const maxKnown = 10_000;
const maxKnownLength = 1_024;

/** How much an agent's open questions may take that are kept for clients who join a session, in bytes. */
const maxQuestionBytes = 16 * 1024 * 1024;

const agentPlaces = { sessionId: 'session', requestId: 'requestId' };
const agentPlan = wantedIn(agentPlaces);
const callPlan = wantedIn({ ...agentPlaces, modeId: 'mode', prompt: { '*': 'block' } });

/** What a connection does for its traffic. */
export interface TrafficPorts extends Participant {
  /** Writes a line, with its line end, to the process. */
  toAgent(line: Line): void;
  lastGuestLeft(): void;
  /** A request of a client was answered by the agent, after so many milliseconds. */
  answered(method: string, ms: number, isError: boolean): void;
}

/** A request of a client that is open in the process. */
interface OpenCall extends CallOfSession {
  /** JSON text. */
  readonly id: string;
  readonly sessionId: string | undefined;
  readonly since: number;
  answer(message: Message): void;
}

export class Traffic implements Home {
  readonly #calls = new OpenRequests<OpenCall>();
  /** The agent's requests that the client has open; a session is missing where a request is about no session. */
  readonly #asked = new OpenRequests<{ readonly id: string; readonly session: LiveSession | undefined }>();
  /** Ids of the agent's requests that a guest has answered, and the client may still answer. */
  readonly #answeredByGuests = new Set<string>();
  /** The client in sessions of other connections. */
  readonly #elsewhere = new Elsewhere(this, (line) => this.fromClient(line));
  /** Those that the client has named or was told: it cannot follow a stream of any other. */
  readonly #known = new Set<string>();
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
    private readonly claims: Pick<SessionClaims, 'take'>,
    private readonly keeper: Keeper,
  ) {}

  /** The sessions that are open in the process. */
  get own(): readonly LiveSession[] {
    return this.#all.filter(({ isOpen }) => isOpen);
  }

  get isWorking(): boolean {
    return this.#calls.size > 0;
  }

  fromClient(line: Buffer): void {
    const message = scanCall(line, callPlan);
    if (message.kind === 'response') {
      if (this.#elsewhere.answer(message) || this.#answeredByGuests.delete(message.id!)) return;
      this.#settle(message.id!);
      this.toAgent(ended(line));
      return;
    }
    const id = stringOf(message, 'session');
    const session = id === undefined ? undefined : this.sessions.get(id);
    if (id !== undefined) remember(this.#known, id);
    if (message.method === '$/cancel_request' && this.#elsewhere.cancel(message)) return;
    if (session !== undefined && session.home !== this && this.#elsewhere.pass(session, message)) return;
    if (message.kind === 'request') {
      const isOpened = id !== undefined && session === undefined && joiningMethods.has(message.method);
      const release = isOpened ? this.claims.take(id) : undefined;
      if (isOpened && release === undefined) {
        this.deliver(joined(refusal(message.id!, openInAnotherServer)), '');
        return;
      }
      if (isOpened) this.#add(id, release);
      // SDK 2.4: the answer to `session/load` comes in the connection's stream, others in that of their session.
      const stream = message.method === 'session/load' ? '' : (id ?? '');
      this.#begin(message.id!, message, this, (answer) => this.deliver(answer.line, stream));
    }
    this.toAgent(ended(line));
  }

  fromAgent(line: Buffer): void {
    const message = this.#agentScanner.scan(line);
    if (message.kind === 'response') {
      this.#answerOfAgent(message);
      return;
    }
    const id = stringOf(message, 'session');
    // A session begins with what the agent says while it opens one. Other methods may name any number of others.
    const begins = message.method === 'session/update' && this.#isOpening;
    const session = id === undefined ? undefined : (this.#get(id) ?? (begins ? this.#add(id) : undefined));
    if (message.kind === 'request') this.#question(message, session);
    else if (session !== undefined) session.said(line);
    else {
      const requestId = fieldOf(message, 'requestId');
      if (requestId !== undefined && message.method === '$/cancel_request')
        this.#settle(jsonOf(message, requestId));
      this.deliver(line, id ?? '');
    }
  }

  /** The client is gone for good, and guests go on: what only it could answer is refused. */
  clientGone(): void {
    this.#isClientGone = true;
    this.#elsewhere.leaveAll();
    for (const { id, session } of this.#asked.all) {
      if (session?.questions.has(id) === true) continue;
      this.#asked.take(id);
      this.#refuse(id);
    }
  }

  /** The process has ended, and the client is gone: whoever else waits for the process is told. */
  end(): void {
    this.#elsewhere.leaveAll();
    this.#isClientGone = true;
    this.isStopping = true;
    const message = 'the connection that had the session has ended: load the session again';
    for (const call of this.#calls.all)
      this.#answered(call, scanCall(joined(refusal(call.id, message)), agentPlan));
    for (const session of this.#all) this.#forget(session);
  }

  deliver(line: Buffer, stream: string): void {
    if (!this.#isClientGone) this.ports.deliver(line, this.#known.has(stream) ? stream : '');
  }

  toAgent(line: Line): void {
    this.ports.toAgent(line);
  }

  callFor(guest: Participant, message: Message, answer: (line: Buffer, isError: boolean) => void): string {
    const id = newOwnId();
    this.#begin(id, message, guest, (its) => answer(withId(its, message.id!), its.isError));
    this.toAgent(ended(withId(message, id)));
    return id;
  }

  answeredByGuest(agentId: string): void {
    this.#asked.take(agentId);
    remember(this.#answeredByGuests, agentId);
    this.deliver(joined(cancelLine(agentId)), '');
  }

  isInTurn(sessionId: string): boolean {
    return this.#calls.some((call) => call.method === 'session/prompt' && call.sessionId === sessionId);
  }

  lastGuestLeft(): void {
    if (this.own.every((session) => !session.isShared)) this.ports.lastGuestLeft();
  }

  /** The process gets a request: its client's own, or a guest's. */
  #begin(id: string, message: Message, by: Participant, answer: OpenCall['answer']): void {
    const { method } = message;
    const [sessionId, modeId] = [stringOf(message, 'session'), stringOf(message, 'mode')];
    const call = { id, method, modeId, sessionId, since: performance.now(), by, answer };
    this.#calls.add(id, call);
    if (sessionId === undefined) return;
    const session = joiningMethods.has(method) ? this.#add(sessionId) : this.#get(sessionId);
    if (method === 'session/prompt') session?.prompted(by, message);
    else if (joiningMethods.has(method) || endingMethods.has(method)) session?.transitionBegins(call);
  }

  #answerOfAgent(message: Message): void {
    const call = this.#calls.find(message.id!);
    if (call !== undefined) {
      this.ports.answered(call.method, performance.now() - call.since, message.isError);
      this.#answered(call, message);
    } else this.deliver(message.line, '');
  }

  #answered(call: OpenCall, message: Message): void {
    this.#calls.take(call.id);
    if (openingMethods.has(call.method) || endingMethods.has(call.method))
      this.#transitionOver(call, message);
    call.answer(message);
    if (call.sessionId !== undefined) this.#get(call.sessionId)?.answered(call, message);
  }

  get #isOpening(): boolean {
    return this.#calls.some(({ method }) => openingMethods.has(method));
  }

  #transitionOver(call: OpenCall, answer: Message): void {
    const id = makingMethods.has(call.method) ? stringOf(answer, 'session') : call.sessionId;
    const isOpened = id !== undefined && openingMethods.has(call.method) && !answer.isError;
    if (isOpened) remember(this.#known, id);
    const session = id === undefined ? undefined : isOpened ? this.#add(id) : this.#get(id);
    if (!(makingMethods.has(call.method) && session?.isOpen)) session?.transitionOver(call, answer);
    // While another call opens one, the agent may have spoken of it, and has not opened it.
    for (const each of this.#isOpening ? [session] : this.#all)
      if (each !== undefined && !each.isOpen && !each.isInTransition) this.#forget(each);
  }

  #question(message: Message, session: LiveSession | undefined): void {
    const id = message.id!;
    const isKept = session !== undefined && message.method === sharedQuestion;
    if (isKept && this.#questionBytes + message.line.length > maxQuestionBytes) {
      this.toAgent(
        refusal(id, `questions of ${maxQuestionBytes / 2 ** 20} MiB are open: wait for their answers`),
      );
      return;
    }
    if (session === undefined) this.deliver(message.line, stringOf(message, 'session') ?? '');
    else session.asks(message);
    if (this.#isClientGone && session?.questions.has(id) !== true) this.#refuse(id);
    else this.#asked.add(id, { id, session });
  }

  /** The client has answered a request of the agent, or the agent waits no more: guests that were asked are told. */
  #settle(agentId: string): void {
    const request = this.#asked.take(agentId);
    request?.session?.questions.settle(request.id);
  }

  #refuse(agentId: string): void {
    this.toAgent(refusal(agentId, 'the client that could answer this has left the session'));
  }

  get #questionBytes(): number {
    return this.#all.reduce((bytes, session) => bytes + session.questions.bytes, 0);
  }

  /** The sessions of the process, also those that are not open yet. */
  get #all(): readonly LiveSession[] {
    return [...this.sessions.values()].filter(({ home }) => home === this);
  }

  #get(id: string): LiveSession | undefined {
    const known = this.sessions.get(id);
    return known?.home === this ? known : undefined;
  }

  /** One more, unless a process has it: it is not open yet. */
  #add(id: string, release?: () => void): LiveSession | undefined {
    if (this.sessions.has(id)) return this.#get(id);
    const session = new LiveSession(id, this, this.keeper, release ?? this.claims.take(id));
    this.sessions.set(id, session);
    return session;
  }

  #forget(session: LiveSession): void {
    this.sessions.delete(session.id);
    session.end();
  }
}

function refusal(id: string, message: string): Line {
  return errorLine(id, { code: rpcCode.internalError, message });
}

function remember(ids: Set<string>, id: string): void {
  if (id.length <= maxKnownLength) ids.add(id);
  const [oldest] = ids;
  if (ids.size > maxKnown) ids.delete(oldest!);
}

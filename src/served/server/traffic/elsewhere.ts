/** What one client does elsewhere: in the sessions of other connections. */
import { CaiError } from '../../../errors';
import { cancelLine, errorLine, resultLine, rpcErrorOf } from '../../../rpc/answer';
import { fieldOf, jsonOf, type Message } from '../../../rpc/message';
import { isSameId, OpenRequests } from '../../../rpc/open-requests';
import { ended, joined } from '../../../rpc/splice';
import type { LiveSession } from './live-session';
import { joiningMethods } from './transitions';
import type { Home, Participant } from './participants';

/** Of what one client has said of a session while it waits for it. */
const maxWaitingBytes = 16 * 1024 * 1024;
const maxWaitingMessages = 1_000;

export class Elsewhere {
  /** The sessions that it follows, or has followed. */
  readonly #joined = new Set<LiveSession>();
  /** Its open requests in these, by its ids; `id` is the one that their home has given them. */
  readonly #calls = new OpenRequests<{ readonly home: Home; readonly id: string }>();
  /** What the client has said of sessions that another client is opening, since it wanted to open them, too. */
  readonly #waiting = new Map<LiveSession, Message[]>();

  /** `self`: the client; `again`: takes a message of it that has waited. */
  constructor(
    private readonly self: Participant,
    private readonly again: (line: Buffer) => void,
  ) {}

  /** Takes a message about a session of another connection. False: that connection is not concerned. */
  pass(session: LiveSession, message: Message): boolean {
    const { kind, method } = message;
    const isJoining = kind === 'request' && joiningMethods.has(method);
    if (this.#waiting.has(session) || (isJoining && session.isClosedTo(this.self))) {
      this.#wait(session, message);
      return true;
    }
    if (isJoining) {
      this.#join(session, message);
      return true;
    }
    // A fork is a session of whoever has asked for it.
    if (!session.hasGuest(this.self) || method === 'session/fork') return false;
    if (kind === 'notification') session.home.toAgent(ended(message.line));
    else if (method === 'session/close') this.#close(session, message);
    else this.#call(session, message, session.id);
    return true;
  }

  /** Takes a `$/cancel_request`. False: the request that it is about is not open elsewhere. */
  cancel(message: Message): boolean {
    const requestId = fieldOf(message, 'requestId');
    if (requestId === undefined) return false;
    const id = jsonOf(message, requestId);
    const call = this.#calls.find(id);
    call?.home.toAgent(cancelLine(call.id));
    return call !== undefined || this.#cancelWaiting(id);
  }

  /** Takes an answer. False: no agent elsewhere waits for it. */
  answer(message: Message): boolean {
    for (const session of this.#joined) if (session.answerOfGuest(this.self, message)) return true;
    return false;
  }

  leaveAll(): void {
    for (const session of this.#joined) session.leave(this.self);
    this.#joined.clear();
    this.#waiting.clear();
  }

  /** The past and what is open are told; where the past is not kept, by the agent, and to this client alone. */
  #join(session: LiveSession, message: Message): void {
    for (const each of this.#joined) if (!each.hasGuest(this.self)) this.#joined.delete(each);
    this.#joined.add(session);
    if (session.join(this.self, message)) return;
    // SDK 2.4: the answer to `session/load` comes in the connection's stream.
    this.#call(session, message, '', (isError) => session.pastTold(this.self, isError));
  }

  #wait(session: LiveSession, message: Message): void {
    const waiting = this.#waiting.get(session) ?? [];
    if (!this.#waiting.has(session)) {
      this.#waiting.set(session, waiting);
      session.afterTransition(() => {
        if (this.#waiting.delete(session)) for (const { line } of waiting) this.again(line);
      });
    }
    const bytes = waiting.reduce((sum, { line }) => sum + line.length, message.line.length);
    if (bytes <= maxWaitingBytes && waiting.length < maxWaitingMessages) waiting.push(message);
    else {
      const text = `another client opens this session, and more than ${maxWaitingMessages} messages or ${maxWaitingBytes / 2 ** 20} MiB would wait for that: try again`;
      this.#refuse(message, new CaiError('AGENT_STALLED', text));
    }
  }

  /** False: no such request waits. */
  #cancelWaiting(id: string): boolean {
    for (const waiting of this.#waiting.values()) {
      const found = waiting.find((each) => each.kind === 'request' && isSameId(each.id!, id));
      if (found === undefined) continue;
      waiting.splice(waiting.indexOf(found), 1);
      this.#refuse(found, new CaiError('CANCELLED', 'Request cancelled'));
      return true;
    }
    return false;
  }

  #refuse({ kind, id }: Message, reason: CaiError): void {
    if (kind === 'request') this.self.deliver(joined(errorLine(id!, rpcErrorOf(reason))), '');
  }

  #close(session: LiveSession, message: Message): void {
    this.#joined.delete(session);
    session.leave(this.self);
    this.self.deliver(joined(resultLine(message.id!, '{}')), session.id);
  }

  /** `stream`: that of the answer. */
  #call(session: LiveSession, message: Message, stream: string, then?: (isError: boolean) => void): void {
    const { home } = session;
    const id = home.callFor(this.self, message, (line, isError) => {
      this.#calls.take(message.id!);
      this.self.deliver(line, stream);
      then?.(isError);
    });
    this.#calls.add(message.id!, { home, id });
  }
}

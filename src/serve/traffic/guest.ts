/** What one client does in the sessions of other connections. */
import { cancelLine, findById, resultLine } from '../../rpc/answer';
import { fieldOf, jsonOf, type Message } from '../../rpc/message';
import { ended, joined } from '../../rpc/splice';
import { joiningMethods, type Home, type LiveSession, type Participant } from './live-session';

/** One client's part. */
export class Guest {
  /** The sessions that it follows, or has followed. */
  readonly #joined = new Set<LiveSession>();
  /** Its open requests in these, by its ids; `id` is the one that their home has given them. */
  readonly #calls = new Map<string, { readonly home: Home; readonly id: string }>();

  /** `self`: the client. */
  constructor(private readonly self: Participant) {}

  /** Takes a message about a session of another connection. False: that connection is not concerned. */
  pass(session: LiveSession, message: Message): boolean {
    const { kind, method } = message;
    if (kind === 'request' && joiningMethods.has(method)) {
      for (const each of this.#joined) if (!each.hasGuest(this.self)) this.#joined.delete(each);
      this.#joined.add(session);
      session.join(this.self, message);
      return true;
    }
    // A fork is a session of whoever has asked for it.
    if (!session.hasGuest(this.self) || method === 'session/fork') return false;
    if (kind === 'notification') session.home.toAgent(ended(message.line));
    else if (method === 'session/close') this.#close(session, message);
    else this.#call(session, message);
    return true;
  }

  /** Takes a `$/cancel_request`. False: the request that it is about is not open elsewhere. */
  cancel(message: Message): boolean {
    const requestId = fieldOf(message, 'requestId');
    const call = requestId && findById(this.#calls, jsonOf(message, requestId));
    call?.home.toAgent(cancelLine(call.id));
    return call !== undefined;
  }

  /** Takes an answer. False: no agent elsewhere waits for it. */
  answer(message: Message): boolean {
    for (const session of this.#joined) if (session.answerOfGuest(this.self, message)) return true;
    return false;
  }

  /** The client is gone. */
  leaveAll(): void {
    for (const session of this.#joined) session.leave(this.self);
    this.#joined.clear();
  }

  #close(session: LiveSession, message: Message): void {
    this.#joined.delete(session);
    session.leave(this.self);
    this.self.deliver(joined(resultLine(message.id!, '{}')), session.id);
  }

  #call(session: LiveSession, message: Message): void {
    const { home } = session;
    const id = home.callFor(this.self, message, (line) => {
      this.#calls.delete(message.id!);
      this.self.deliver(line, session.id);
    });
    this.#calls.set(message.id!, { home, id });
    if (message.method === 'session/prompt') session.prompted(this.self, message);
  }
}

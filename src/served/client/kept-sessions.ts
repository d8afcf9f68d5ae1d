/**
 * The sessions that an editor has open, with what is needed to open them again on another connection. What the server
 * then tells of their past is not for the editor, which has it.
 */
import { ownValue } from '../../config/own-property';
import { CaiError, rpcCode } from '../../errors';
import { editorMethods } from '../../rpc/protocol/methods';
import { errorLine, type RpcError, rpcErrorOf, tellSessionState } from '../../rpc/answer';
import { bodyOf, bodyTextOf, fieldOf, type Message } from '../../rpc/message';
import { editedText } from '../../rpc/splice';
import type { Log } from '../../system/log';
import { objectOf } from '../../system/unless';
import { textOfError } from '../../rpc/protocol/agent-errors';
import { reopenerOf } from '../../rpc/protocol/capabilities';

/** A request of the editor that the server has not answered. */
export interface OpenCall {
  /** JSON text. */
  readonly id: string;
  /** As the editor sent it. */
  readonly method: string;
  readonly sessionId: string | undefined;
  /** Its line, for those whose answer tells what to do on another connection. */
  readonly kept: Message | undefined;
}

interface KeptSession {
  readonly id: string;
  /** For `session/load` or `session/resume`, JSON text. */
  params: string;
  /** `lost`: the server's connection does not have it. `loading`, `resuming`: it is being opened there. */
  state: 'open' | 'lost' | 'loading' | 'resuming';
  /** Messages of the editor that wait until it is open. */
  readonly held: Message[];
}

/** What sessions need of whoever keeps them. */
export interface SessionHost {
  /** Sends a request of our own to the server; `onAnswer` is not called if the connection is lost before. */
  readonly ask: (method: string, params: string | undefined, onAnswer: (answer: Message) => void) => void;
  /** Sends a message of the editor to the server. */
  readonly deliver: (message: Message) => void;
  /** Sends a line, with its line end, to the editor. */
  readonly tell: (line: Buffer) => void;
  /** Gets no contents of messages. */
  readonly log: Log;
}

/** By the ids that the editor knows, which are the server's. */
export class KeptSessions {
  readonly #sessions = new Map<string, KeptSession>();
  heldBytes = 0;
  /** The method by which the agent opens a session again, as the server said when the connection began; undefined: none. */
  #reopening: string | undefined;

  constructor(private readonly host: SessionHost) {}

  /** The answer to `initialize`. */
  learn(answer: Message): void {
    this.#reopening = reopenerOf(objectOf(objectOf(bodyOf(answer)).agentCapabilities));
  }

  keep(id: string, request: Message): void {
    const params = reopenParams(request, id);
    const session = this.#sessions.get(id) ?? { id, params, state: 'open', held: [] };
    this.#sessions.set(id, session);
    session.params = params;
    this.#opened(session);
  }

  forget(id: string): void {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    if (session !== undefined) this.#fail(session, 'it was ended');
  }

  /** No session is open on any server. */
  loseAll(): void {
    for (const session of this.#sessions.values()) session.state = 'lost';
  }

  /** Whether the server is telling the past of that session. */
  isLoading(id: string | undefined): boolean {
    return id !== undefined && this.#sessions.get(id)?.state === 'loading';
  }

  /** Takes a message about a session that is not open, to send it later. False if it can go at once. */
  hold(id: string | undefined, message: Message): boolean {
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (session === undefined || session.state === 'open') return false;
    this.#hold(session, message);
    if (session.state === 'lost') this.#reopen(session);
    return true;
  }

  /** Takes a message about a request that waits, so that it follows it. False if no such request waits. */
  holdBehind(requestId: string, message: Message): boolean {
    for (const session of this.#sessions.values()) {
      if (!session.held.some((held) => held.kind === 'request' && held.id === requestId)) continue;
      this.#hold(session, message);
      return true;
    }
    return false;
  }

  /** A connection has begun: sessions are opened again in which something waits, or that are `busy`. */
  reopen(busy: ReadonlySet<string>): void {
    for (const session of this.#sessions.values())
      if (session.state === 'lost' && (session.held.length > 0 || busy.has(session.id)))
        this.#reopen(session);
  }

  /** The failure of a request that was open when the connection was lost. */
  lostCall({ method, sessionId }: Pick<OpenCall, 'method' | 'sessionId'>): RpcError {
    const isTurn = method === 'session/prompt';
    const what = isTurn
      ? 'in the middle of the turn, and what the agent still did is not known'
      : 'before it answered';
    const next =
      sessionId !== undefined && this.#reopening === undefined
        ? 'Its agent cannot open the session again: start a new one'
        : isTurn
          ? 'The session goes on: see what has been done, then send a message again'
          : 'Try again';
    return {
      code: rpcCode.internalError,
      message: `The connection to the server was lost ${what}. ${next}.`,
    };
  }

  /** Nothing will be sent any more: returns what waits. */
  takeHeld(): readonly Message[] {
    return [...this.#sessions.values()].flatMap((session) => this.#takeHeld(session));
  }

  #hold(session: KeptSession, message: Message): void {
    session.held.push(message);
    this.heldBytes += message.line.length;
  }

  #takeHeld(session: KeptSession): readonly Message[] {
    const held = session.held.splice(0);
    for (const { line } of held) this.heldBytes -= line.length;
    return held;
  }

  #reopen(session: KeptSession): void {
    const method = this.#reopening;
    if (method === undefined) {
      this.#fail(session, 'its agent cannot open a session again');
      return;
    }
    session.state = method === 'session/load' ? 'loading' : 'resuming';
    this.host.ask(method, session.params, (answer) => {
      if (answer.isError) {
        session.state = 'lost';
        this.#fail(session, textOfError(bodyOf(answer)));
        return;
      }
      tellSessionState(session.id, answer, this.host.tell, this.host.log);
      this.#opened(session);
    });
  }

  #opened(session: KeptSession): void {
    session.state = 'open';
    for (const message of this.#takeHeld(session)) this.host.deliver(message);
  }

  /** What waits is refused, but what opens the session is not; the next call tries again. */
  #fail(session: KeptSession, reason: string): void {
    const remedy = this.#reopening === undefined ? 'Start a new one' : 'Load it again or start a new one';
    const text = `the connection to the server was lost, and session ${session.id} could not be opened again: ${reason}. ${remedy}.`;
    const error = rpcErrorOf(new CaiError('SESSION_LOST', text, { sessionId: session.id }));
    for (const message of this.#takeHeld(session))
      if (ownValue(editorMethods, message.method)?.route === 'open') this.host.deliver(message);
      else if (message.kind === 'request') this.host.tell(errorLine(message.id!, error));
  }
}

/** Of the request that has opened a session: its params, with the id of that session. JSON text. */
function reopenParams(request: Message, id: string): string {
  const text = JSON.stringify(id);
  const { line, bodyStart, bodyEnd } = request;
  const field = fieldOf(request, 'session');
  if (field !== undefined) {
    return editedText(line, bodyStart, bodyEnd, [{ start: field.start, end: field.end, text }]);
  }
  const rest = bodyTextOf(request)?.replace(/^\{\s*/, '') ?? '}';
  return `{"sessionId":${text}${rest.startsWith('}') ? '' : ','}${rest}`;
}

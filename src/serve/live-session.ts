/**
 * A session that is open in the process of one connection, its home. Other connections of the same visitor that load or
 * resume it become guests: they see what the agent says, may prompt, and are asked for permissions as the home is.
 */
import { randomUUID } from 'node:crypto';
import { cancelLine, newOwnId, notificationLine, resultLine } from '../rpc/answer';
import { bodyTextOf, jsonOf, type Message } from '../rpc/message';
import { ended, joined, withId, type Line } from '../rpc/splice';
import { Outbox, type Keeper } from './outbox';

/** The other requests of agents are about the files and terminals of one client. */
export function isForGuests({ method }: Message): boolean {
  return method === 'session/request_permission';
}

/** A client that follows a session. Lines are without line end. */
export interface Participant {
  /** Gives it a line; `stream` is the id of the session that the line is about, or empty. */
  deliver(line: Buffer, stream: string): void;
}

/** The connection whose process has the session. */
export interface Home extends Participant {
  /** Writes a line, with its line end, to the agent. */
  toAgent(line: Line): void;
  /** Passes a guest's request on under an id of our own, which it returns; `answer` gets the answer, under the guest's. */
  callFor(guest: Participant, message: Message, answer: (line: Buffer) => void): string;
  /** A guest has answered a request of the agent, which the client has open. */
  answeredByGuest(agentId: string): void;
  /** A session has no guests any more. */
  lastGuestLeft(): void;
}

/** A request of the agent that is open. */
interface Question {
  /** The id under which guests get it. */
  readonly guestId: string;
  /** As guests get it. */
  readonly line: Buffer;
}

/** A request of a client about a session, as far as other clients are concerned. */
export interface CallOfSession {
  /** As the client sent it. */
  readonly method: string;
  /** Of `session/set_mode`. */
  readonly modeId: string | undefined;
}

/** One session, at its home. */
export class LiveSession {
  readonly #guests = new Set<Participant>();
  /** What the agent has said and what it was asked, as clients may see it again. */
  #history: Outbox;
  /** The session was not there before the history begins. */
  #beginsHere = false;
  /** The answer to the call that has opened it, JSON text. */
  #opened = '{}';
  #turns = 0;
  /** By the agent's id. */
  readonly #questions = new Map<string, Question>();
  /** The guest for whom the agent is telling the past again. */
  #replayFor: Participant | undefined;

  /** `keeper`: for the histories of all sessions of the home. */
  constructor(
    /** The same for all clients. */
    readonly id: string,
    /** Where its agent is. */
    readonly home: Home,
    private readonly keeper: Keeper,
  ) {
    this.#history = new Outbox(keeper);
  }

  /** Whether a connection has joined. */
  hasGuest(guest: Participant): boolean {
    return this.#guests.has(guest);
  }

  /** Whether any connection has. */
  get isShared(): boolean {
    return this.#guests.size > 0;
  }

  /** Whether a turn is open. */
  get isInTurn(): boolean {
    return this.#turns > 0;
  }

  /** Whether the agent waits for what clients are asked. */
  get isWaiting(): boolean {
    return this.#questions.size > 0;
  }

  /** The home opens it by that method: the past is told again, or is not known. */
  opening(): void {
    this.forget();
    this.#beginsHere = false;
  }

  /** What was said is kept no more: the session has ended, though those who have joined may still hold it. */
  forget(): void {
    this.#history.forget();
    this.#history = new Outbox(this.keeper);
  }

  /** The agent has answered that call of the home. */
  hasOpened(method: string, answer: Message): void {
    this.#beginsHere = method === 'session/new' || method === 'session/load';
    this.#opened = bodyTextOf(answer) ?? '{}';
  }

  /** A notification of the agent. */
  said(line: Buffer): void {
    this.#history.push(line);
    if (this.#replayFor !== undefined) this.#replayFor.deliver(line, this.id);
    else this.#tellAll(line);
  }

  /** A request of the agent. */
  asks(message: Message): void {
    this.home.deliver(message.line, this.id);
    if (!isForGuests(message)) return;
    const guestId = newOwnId();
    const line = withId(message, guestId);
    this.#questions.set(message.id!, { guestId, line });
    for (const guest of this.#guests) guest.deliver(line, this.id);
  }

  /** Whether guests have that request of the agent open. */
  isAsking(agentId: string): boolean {
    return this.#questions.has(agentId);
  }

  /** The agent's request is answered, by `by`, or withdrawn: the others are told. */
  settle(agentId: string, by?: Participant): void {
    const question = this.#questions.get(agentId);
    if (question === undefined) return;
    this.#questions.delete(agentId);
    const told = joined(cancelLine(question.guestId));
    for (const guest of this.#guests) if (guest !== by) guest.deliver(told, this.id);
  }

  /** A guest's answer to a request of the agent. False: it is none, or nobody waits for it any more. */
  answerOfGuest(guest: Participant, message: Message): boolean {
    for (const [agentId, { guestId }] of this.#questions) {
      if (guestId !== message.id) continue;
      this.settle(agentId, guest);
      this.home.answeredByGuest(agentId);
      this.home.toAgent(ended(withId(message, agentId)));
      return true;
    }
    return false;
  }

  /** A prompt of one client: agents of v1 do not repeat it, so the others are told. */
  prompted(by: Participant, message: Message): void {
    this.#turns++;
    for (const block of message.fields.filter(({ kind }) => kind === 'block')) {
      const line = updateLine(
        this.id,
        `{"sessionUpdate":"user_message_chunk","content":${jsonOf(message, block)}}`,
      );
      this.#history.push(line);
      this.#tellAll(line, by);
    }
  }

  /** A call of one client is answered: what that changes for the others, they are told. */
  answered(by: Participant, { method, modeId }: CallOfSession, message: Message): void {
    if (method === 'session/prompt') this.#turnEnded(by);
    else if (message.isError) return;
    else if (method === 'session/set_config_option') this.#optionsSet(by, message);
    else if (method === 'session/set_mode' && modeId !== undefined) this.#modeSet(by, modeId);
  }

  /** That prompt is answered. `_containai/turn_ended` tells the others, who have no request open. */
  #turnEnded(by: Participant): void {
    this.#turns--;
    if (!this.isShared) return;
    const line = notificationLine('_containai/turn_ended', JSON.stringify({ sessionId: this.id }));
    this.#tellAll(joined(line), by);
  }

  /** One client has set an option: the answer, which tells what holds for all of them, is for the others, too. */
  #optionsSet(by: Participant, answer: Message): void {
    const { configOptions } = JSON.parse(bodyTextOf(answer) ?? '{}') as { readonly configOptions?: unknown };
    if (!Array.isArray(configOptions)) return;
    this.#changed(by, { configOptions }, { sessionUpdate: 'config_option_update', configOptions });
  }

  /** Agents need not say so themselves. */
  #modeSet(by: Participant, currentModeId: string): void {
    const { modes } = JSON.parse(this.#opened) as { readonly modes?: object };
    const update = { sessionUpdate: 'current_mode_update', currentModeId };
    this.#changed(by, modes && { modes: { ...modes, currentModeId } }, update);
  }

  /** `opened`: what is different in the answer to whoever opens the session from now on. */
  #changed(by: Participant, opened: object | undefined, update: object): void {
    this.#opened = JSON.stringify({ ...(JSON.parse(this.#opened) as object), ...opened });
    const line = updateLine(this.id, JSON.stringify(update));
    this.#history.push(line);
    this.#tellAll(line, by);
  }

  /** A `session/load` or `session/resume` of another connection: it gets the past, the answer, and what is open. */
  join(guest: Participant, message: Message): void {
    this.#guests.add(guest);
    const wantsPast = message.method === 'session/load';
    const isWhole = this.#beginsHere && this.#history.isWhole;
    if (wantsPast && !isWhole && this.#turns === 0 && this.#replayFor === undefined) {
      this.#replay(guest, message);
      return;
    }
    if (wantsPast) {
      if (!isWhole) guest.deliver(updateLine(this.id, JSON.stringify(partNote())), this.id);
      for (const line of this.#history.lines) guest.deliver(line, this.id);
    }
    guest.deliver(joined(resultLine(message.id!, this.#opened)), wantsPast ? '' : this.id);
    this.#askAgain(guest);
  }

  /** The guest's connection is over, or it has closed the session for itself. */
  leave(guest: Participant): void {
    if (this.#replayFor === guest) this.#replayFor = undefined;
    if (this.#guests.delete(guest) && !this.isShared) this.home.lastGuestLeft();
  }

  /** The agent tells the past to this guest alone. Not in a turn, as agents begin anew with it. */
  #replay(guest: Participant, message: Message): void {
    this.opening();
    this.#replayFor = guest;
    this.home.callFor(guest, message, (line) => {
      this.#replayFor = undefined;
      this.#beginsHere = true;
      guest.deliver(line, '');
      this.#askAgain(guest);
    });
  }

  #askAgain(guest: Participant): void {
    for (const { line } of this.#questions.values()) guest.deliver(line, this.id);
  }

  #tellAll(line: Buffer, but?: Participant): void {
    for (const each of [this.home, ...this.#guests]) if (each !== but) each.deliver(line, this.id);
  }
}

function updateLine(sessionId: string, update: string): Buffer {
  return joined(
    notificationLine('session/update', `{"sessionId":${JSON.stringify(sessionId)},"update":${update}}`),
  );
}

function partNote() {
  const text =
    '\n\ncai: Earlier messages of this session are not kept here. Load it again after this turn.\n\n';
  return { sessionUpdate: 'agent_message_chunk', messageId: randomUUID(), content: { type: 'text', text } };
}

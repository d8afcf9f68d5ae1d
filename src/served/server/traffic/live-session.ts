/**
 * A session that is open in the process of one connection, its home. Other connections of the same visitor that load or
 * resume it become guests: they see what the agent says, may prompt, and are asked for permissions as the home is.
 */
import { notificationLine, ownMessage, ownUpdateLine, resultLine, updateLine } from '../../../rpc/answer';
import { bodyOf, bodyTextOf, jsonOf, type Message } from '../../../rpc/message';
import { ended, joined, withId } from '../../../rpc/splice';
import { type Keeper, KeptLines } from '../kept-lines';
import type { CallOfSession, Home, Participant } from './participants';
import { sharedQuestion, SharedQuestions } from './shared-questions';
import { endingMethods, Transitions } from './transitions';
import { isObject, jsonUnlessDeep, objectOf, parsedUnlessLong } from '../../../system/unless';

const missing = 'Earlier messages of this session are not kept here. Load it again after this turn.';

export class LiveSession {
  /** `hasJoined`: it was told that it has opened the session. */
  readonly #guests = new Map<Participant, { readonly hasJoined: boolean }>();
  /** What the agent has said and what it was asked. */
  #history: KeptLines;
  /** That is all that was said in it, as far as it is kept. */
  #hasBeginning = false;
  /** The answer to the call that has opened it, JSON text. */
  #opened: string | undefined;
  readonly #transitions: Transitions;
  /** Called when one of these is answered, or the process has the session no more. */
  #afterTransition: (() => void)[] = [];
  /** What the agent asks. */
  readonly questions: SharedQuestions;

  /** `keeper`: for the histories of all sessions of the home. */
  constructor(
    /** The same for all clients. */
    readonly id: string,
    readonly home: Home,
    private readonly keeper: Keeper,
    /** Lets other servers open it. */
    private readonly release: (() => void) | undefined,
  ) {
    this.#history = new KeptLines(keeper);
    this.questions = new SharedQuestions(id);
    this.#transitions = new Transitions(() => this.#forgetHistory());
  }

  hasGuest(guest: Participant): boolean {
    return this.#guests.has(guest);
  }

  get isShared(): boolean {
    return this.#guests.size > 0;
  }

  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  get isInTurn(): boolean {
    return this.home.isInTurn(this.id);
  }

  get isWaiting(): boolean {
    return this.questions.size > 0;
  }

  /** Whether the agent has a call open that opens it, has its past told again, or ends it. */
  get isInTransition(): boolean {
    return !this.#transitions.areOver;
  }

  /** The agent gets such a call. If it has the past told, that is for its client alone. */
  transitionBegins(call: CallOfSession): void {
    // In a turn, what is new cannot be told from what is past.
    this.#transitions.add(call, this.isInTurn);
  }

  /** The agent has answered such a call, or one that makes a session. */
  transitionOver(call: CallOfSession, answer: Message): void {
    if (!answer.isError) {
      const isTold = call.method === 'session/load' && this.#transitions.isNext(call);
      if (isTold || call.method === 'session/new') this.#hasBeginning = true;
      if (endingMethods.has(call.method)) this.#close();
      else this.#opened = bodyTextOf(answer) ?? '{}';
    }
    this.#transitions.remove(call);
    if (!this.home.isStopping) this.#goOn();
  }

  /** Whether a client must wait before it opens the session. */
  isClosedTo(guest: Participant): boolean {
    return !this.isOpen || this.home.isStopping || this.#transitions.areInTheWayOf(guest);
  }

  /** `then` is called once, when that may be different. */
  afterTransition(then: () => void): void {
    this.#afterTransition.push(then);
  }

  end(): void {
    this.release?.();
    this.#close();
    this.#goOn();
  }

  said(line: Buffer): void {
    this.#history.push(line);
    const { audience } = this.#transitions;
    if (audience === 'all') this.#tellAll(line);
    else audience?.deliver(line, this.id);
  }

  asks(message: Message): void {
    this.home.deliver(message.line, this.id);
    if (message.method === sharedQuestion) this.questions.add(message, this.#guests.keys());
  }

  /** A guest's answer to a request of the agent. False: it answers no open request. */
  answerOfGuest(guest: Participant, message: Message): boolean {
    const agentId = this.questions.agentIdOf(message.id!);
    if (agentId === undefined) return false;
    this.questions.settle(agentId, guest);
    this.home.answeredByGuest(agentId);
    this.home.toAgent(ended(withId(message, agentId)));
    return true;
  }

  /** A prompt of one client: agents of v1 do not repeat it, so the others are told. */
  prompted(by: Participant, message: Message): void {
    // In a turn, what is new cannot be told from what is past.
    this.#transitions.areForAll();
    for (const block of message.fields.filter(({ kind }) => kind === 'block')) {
      this.#say(`{"sessionUpdate":"user_message_chunk","content":${jsonOf(message, block)}}`, by);
    }
  }

  /** A call of one client is answered: what that changes for the others, they are told. */
  answered({ by, method, modeId }: CallOfSession, message: Message): void {
    if (method === 'session/prompt') this.#turnEnded(by);
    else if (message.isError) return;
    else if (method === 'session/set_config_option') this.#optionsSet(by, message);
    else if (method === 'session/set_mode' && modeId !== undefined) this.#modeSet(by, modeId);
  }

  /** That prompt is answered. `_containai/turn_ended` tells the others, who have no request open. */
  #turnEnded(by: Participant): void {
    if (!this.isShared) return;
    const line = notificationLine('_containai/turn_ended', JSON.stringify({ sessionId: this.id }));
    this.#tellAll(joined(line), by);
  }

  /** One client has set an option: the answer, which tells what holds for all of them, is for the others, too. */
  #optionsSet(by: Participant, answer: Message): void {
    const { configOptions } = objectOf(bodyOf(answer));
    if (!Array.isArray(configOptions)) return;
    this.#settingsChanged(by, { configOptions }, { sessionUpdate: 'config_option_update', configOptions });
  }

  /** Agents need not say so themselves. */
  #modeSet(by: Participant, currentModeId: string): void {
    const { modes } = objectOf(parsedUnlessLong(this.#opened));
    const opened = isObject(modes) ? { modes: { ...modes, currentModeId } } : {};
    this.#settingsChanged(by, opened, { sessionUpdate: 'current_mode_update', currentModeId });
  }

  /** `opened`: what is different in the answer to whoever opens the session from now on. */
  #settingsChanged(by: Participant, opened: object, update: object): void {
    const known = parsedUnlessLong(this.#opened);
    if (known !== undefined) this.#opened = jsonUnlessDeep({ ...objectOf(known), ...opened }) ?? this.#opened;
    const said = jsonUnlessDeep(update);
    if (said !== undefined) this.#say(said, by);
  }

  /** What one client has done is told to the others, now and later; `update` is JSON text. */
  #say(update: string, by: Participant): void {
    const line = joined(updateLine(this.id, update));
    this.#history.push(line);
    this.#tellAll(line, by);
  }

  /**
   * A `session/load` or `session/resume` of another connection: it gets the past, the answer, and what is open. False:
   * the past is not kept, so the agent has to tell it; not in a turn, as agents begin again with it.
   */
  join(guest: Participant, message: Message): boolean {
    const wantsPast = message.method === 'session/load';
    const isWhole = this.#hasBeginning && this.#history.isWhole;
    const isKept = !wantsPast || isWhole || this.isInTurn;
    if (isKept || !this.hasGuest(guest)) this.#guests.set(guest, { hasJoined: isKept });
    if (!isKept) return false;
    if (wantsPast) {
      if (!isWhole) guest.deliver(joined(ownUpdateLine(this.id, ownMessage(missing))), this.id);
      for (const line of this.#history.lines) guest.deliver(line, this.id);
    }
    guest.deliver(joined(resultLine(message.id!, this.#opened ?? '{}')), wantsPast ? '' : this.id);
    this.questions.askAll(guest);
    return true;
  }

  /** The agent has told the past to a guest, or could not. */
  pastTold(guest: Participant, isError: boolean): void {
    const known = this.#guests.get(guest);
    if (known === undefined) return;
    if (!isError) this.#guests.set(guest, { hasJoined: true });
    if (!isError || known.hasJoined) this.questions.askAll(guest);
    else if (!this.#transitions.isOpeningFor(guest)) this.leave(guest);
  }

  /** The guest's connection is over, or it has closed the session for itself. */
  leave(guest: Participant): void {
    this.#transitions.left(guest);
    this.questions.left(guest);
    if (this.#guests.delete(guest) && !this.isShared) this.home.lastGuestLeft();
  }

  /** Nothing is kept, and nobody follows it any more. */
  #close(): void {
    this.questions.settleAll();
    this.#forgetHistory();
    this.#opened = undefined;
    for (const guest of this.#guests.keys()) this.leave(guest);
  }

  #forgetHistory(): void {
    this.#history.forget();
    this.#history = new KeptLines(this.keeper);
    this.#hasBeginning = false;
  }

  #goOn(): void {
    for (const then of this.#afterTransition.splice(0)) then();
  }

  #tellAll(line: Buffer, but?: Participant): void {
    for (const each of [this.home, ...this.#guests.keys()]) if (each !== but) each.deliver(line, this.id);
  }
}

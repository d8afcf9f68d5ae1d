/**
 * One conversation of a panel: a session, in which one turn runs at a time. A new message ends the turn that runs: it is
 * cancelled, and once the agent has answered it, the new message is sent. Of several that wait, only the newest is sent.
 */
import { messageOf, rpcCode } from '../../../errors';
import type { JsonObject } from '../../../rpc/json';
import { reopenerOf } from '../../../rpc/protocol/capabilities';
import { within } from '../../../system/time-limit';
import { HttpError } from '../http/http-error';
import { openInAnotherServer } from '../traffic/session-claims';
import { AgentError, type ChatConnection } from './chat-connection';
import type { KeptConversations } from './kept-conversations';
import { panelLine } from './panel-line';
import { checkOffered } from './prompt-blocks';

/** How long an agent may take to end a turn that was cancelled for a new message, as `session/close` lets it; in ms. */
const turnEndMs = 5_000;
/** How long the process may take for `session/close`, by which it ends an agent that does not answer; in milliseconds. */
const closeMs = 3 * turnEndMs;
/** Updates of which the last one counts: one that comes between turns is told in the next. */
const states: ReadonlySet<unknown> = new Set([
  'available_commands_update',
  'config_option_update',
  'current_mode_update',
  'session_info_update',
  'usage_update',
]);
/** Longest such update that is kept. */
const maxStateBytes = 256 * 1024;

/** What a panel says, and how it hears the answer. */
export interface ChatMessage {
  readonly prompt: readonly JsonObject[];
  /** Where a session is begun; undefined: where the last one of the conversation was, else in the usual folder. */
  readonly cwd: string | undefined;
  say(line: JsonObject): void;
  /** The panel has left. */
  readonly left: AbortSignal;
}

/** What conversations with one agent have in common. */
export interface ConversationOptions {
  readonly connection: ChatConnection;
  /** What `initialize` was answered with. */
  readonly ready: Promise<JsonObject>;
  readonly kept: KeptConversations;
  /** Where sessions are begun if nobody says where. */
  readonly folder: string;
}

interface Turn {
  readonly message: ChatMessage;
  /** Answers the message, whatever the agent does. */
  settle(outcome: 'cancelled' | Error): void;
  /** Nobody wants it any more. */
  isCancelled: boolean;
  /** The ids of the agent's requests for a permission that are open. */
  readonly permissions: Set<string>;
  /** Resolves with true when the agent has answered; undefined: it does not have the message. */
  over?: Promise<true>;
  /** Settles alike for all who wait for its end. */
  ending?: Promise<void> | undefined;
}

/** Of the panel's id `name`. */
export class Conversation {
  /** Of the session that is open, or being opened by its id. */
  sessionId: string | undefined;
  #isOpen = false;
  #opening: Promise<void> | undefined;
  /** It begins when the one that runs has ended. */
  #waiting: Turn | undefined;
  #running: Turn | undefined;
  /** Lines for the next turn, by what they are about. */
  #news = new Map<unknown, JsonObject>();

  constructor(
    private readonly name: string,
    private readonly options: ConversationOptions,
  ) {}

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether a message is not answered yet, or the session is being opened. */
  get isBusy(): boolean {
    return [this.#waiting, this.#running, this.#opening].some((each) => each !== undefined);
  }

  /** Resolves with why the turn has ended: `cancelled` also if it could not begin before a newer message came. */
  async prompt(message: ChatMessage): Promise<unknown> {
    let settle!: Turn['settle'];
    const settled = new Promise<string>((resolve, reject) => {
      settle = (outcome) => (typeof outcome === 'string' ? resolve(outcome) : reject(outcome));
    });
    const turn: Turn = { message, settle, isCancelled: false, permissions: new Set() };
    const leave = (): void => this.#cancel(turn);
    message.left.addEventListener('abort', leave);
    this.#cancel(this.#waiting);
    this.#waiting = turn;
    try {
      return await Promise.race([this.#serve(turn), settled]);
    } finally {
      message.left.removeEventListener('abort', leave);
      if (this.#waiting === turn) this.#waiting = undefined;
    }
  }

  /** Ends the turn that runs, and the one that waits for its end. */
  cancel(): void {
    this.#cancel(this.#waiting);
    this.#cancel(this.#running);
  }

  /** Answers a request for a permission; throws `HttpError` if it is not open. */
  decide(permissionId: string, optionId: string): void {
    if (this.#running?.permissions.delete(permissionId) !== true)
      throw new HttpError(404, 'no permission of that id is asked for');
    this.options.connection.answer(permissionId, { outcome: { outcome: 'selected', optionId } });
  }

  close(): void {
    void this.#close();
  }

  updated(update: JsonObject, bytes: number): void {
    const { sessionUpdate } = update;
    if (this.#running !== undefined) this.#running.message.say(panelLine(update));
    else if (states.has(sessionUpdate) && bytes <= maxStateBytes)
      this.#news.set(sessionUpdate, panelLine(update));
  }

  asked(id: string, { toolCall, options }: JsonObject): void {
    if (this.#running === undefined || this.#running.isCancelled) {
      refusePermission(this.options.connection, id);
      return;
    }
    this.#running.permissions.add(id);
    this.#running.message.say({ type: 'permission', permissionId: id, toolCall, options });
  }

  withdrawn(id: string): void {
    if (this.#running?.permissions.delete(id) === true)
      this.#running.message.say({ type: 'withdrawn', permissionId: id });
  }

  async #serve(turn: Turn): Promise<unknown> {
    const { prompt, cwd } = turn.message;
    // What the agent does not take ends no turn.
    checkOffered(prompt, await this.#capabilities());
    for (let attempt = 1; ; attempt++) {
      while (!turn.isCancelled && this.#running !== undefined) await this.#end(this.#running);
      if (!turn.isCancelled) await this.#open(cwd);
      if (turn.isCancelled) return 'cancelled';
      try {
        return await this.#run(turn);
      } catch (reason) {
        // Whoever does not know the session has not begun with the prompt.
        const isUnknown = reason instanceof AgentError && reason.code === rpcCode.resourceNotFound;
        if (!isUnknown || attempt > 1) throw reason;
        this.#isOpen = false;
        if (this.#waiting === undefined) this.#waiting = turn;
        else turn.isCancelled = true;
      }
    }
  }

  async #run(turn: Turn): Promise<unknown> {
    const { message } = turn;
    for (const line of this.#news.values()) message.say(line);
    this.#news.clear();
    [this.#waiting, this.#running] = [undefined, turn];
    const params = { sessionId: this.sessionId, prompt: message.prompt };
    const answered = this.options.connection.request('session/prompt', params);
    turn.over = answered.then(
      () => true,
      () => true,
    );
    try {
      return (await answered).stopReason;
    } finally {
      if (this.#running === turn) this.#running = undefined;
    }
  }

  #cancel(turn: Turn | undefined): void {
    if (turn === undefined || turn.isCancelled) return;
    turn.isCancelled = true;
    if (turn === this.#waiting) this.#waiting = undefined;
    if (turn !== this.#running) {
      turn.settle('cancelled');
      return;
    }
    const { connection } = this.options;
    connection.notify('session/cancel', { sessionId: this.sessionId });
    for (const id of turn.permissions) refusePermission(connection, id);
    turn.permissions.clear();
  }

  /** Resolves when the turn that runs is over, or none waits for that; rejects if its agent does not end it. */
  async #end(running: Turn): Promise<void> {
    this.#cancel(running);
    running.ending ??= this.#awaitEnd(running).finally(() => (running.ending = undefined));
    await running.ending;
  }

  async #awaitEnd(turn: Turn): Promise<void> {
    const isOver = (await within(turnEndMs, turn.over!)) === true;
    if (isOver || this.#waiting === undefined) return;
    await within(closeMs, this.#close());
    if (this.#running === turn) this.#running = undefined;
    const what = `the agent did not end the turn before in ${turnEndMs / 1_000} s, so its session was closed`;
    const reason = new Error(`${what}: send the message again, which opens the session again or begins one`);
    turn.settle(reason);
    throw reason;
  }

  async #close(): Promise<void> {
    const { sessionId } = this;
    [this.#isOpen, this.sessionId] = [false, undefined];
    await this.options.connection.request('session/close', { sessionId }).catch(() => undefined);
  }

  async #capabilities(): Promise<JsonObject> {
    const { agentCapabilities } = await this.options.ready;
    return (agentCapabilities ?? {}) as JsonObject;
  }

  async #open(cwd: string | undefined): Promise<void> {
    if (this.#isOpen) return;
    this.#opening ??= this.#openOnce(cwd).finally(() => (this.#opening = undefined));
    await this.#opening;
  }

  /** The session that the conversation had, if there was one and the agent can open it, else a new one. */
  async #openOnce(cwd: string | undefined): Promise<void> {
    const { connection, kept, folder } = this.options;
    const capabilities = await this.#capabilities();
    const known = kept.find(this.name);
    let problem: string | undefined;
    if (known !== undefined) {
      const method = reopenerOf(capabilities);
      // From now on its agent may speak of it.
      this.sessionId = known.sessionId;
      try {
        if (method === undefined) throw new Error('the agent cannot open sessions again');
        const result = await connection.request(method, { ...known, mcpServers: [] });
        this.#opened({ ...result, ...known, isNew: false });
        return;
      } catch (reason) {
        problem = messageOf(reason);
        if (problem === openInAnotherServer || connection.isOver) throw reason;
      }
    }
    const place = cwd ?? known?.cwd ?? folder;
    const result = await connection.request('session/new', { cwd: place, mcpServers: [] });
    const message =
      problem && `this is a new session, without what was said before, which could not be opened: ${problem}`;
    this.#opened({ ...result, sessionId: String(result.sessionId), cwd: place, isNew: true, message });
  }

  #opened(session: JsonObject & { readonly sessionId: string; readonly cwd: string }): void {
    const { sessionId, cwd } = session;
    [this.#isOpen, this.sessionId] = [true, sessionId];
    this.options.kept.keep(this.name, { sessionId, cwd });
    this.#news = new Map<unknown, JsonObject>([['session', { ...session, type: 'session' }], ...this.#news]);
  }
}

/** Of a turn that is over, or being ended. Source: ACP v1, prompt turn, cancellation. */
export function refusePermission(connection: ChatConnection, id: string): void {
  connection.answer(id, { outcome: { outcome: 'cancelled' } });
}

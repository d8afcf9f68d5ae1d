/**
 * One child: an agent that serves one workspace. It knows what is open at the agent and what waits for
 * the agent's start; what lines mean is decided above.
 */
import { AgentProcess } from '../agent/process';
import type { AgentProcessOptions, StopLadder } from '../agent/process';
import { CaiError } from '../errors';
import type { Log } from '../log';
import { requestLine } from '../rpc/answer';
import type { Plan } from '../rpc/plan';
import type { Message } from '../rpc/scan';
import type { Line } from '../rpc/splice';
import type { Lane, LineWriter } from '../rpc/writer';
import type { PathMap } from '../workspace/path-map';

/** One conversation, as the proxy knows it while it is open. */
export interface Session {
  /** Its id on the editor's side, unique there. */
  readonly editorId: string;
  /** Its id on the agent's side, unique within the child. */
  readonly agentId: string;
  readonly child: WorkspaceChild;
  /** Its working directory and further roots, as the editor spells them. `fs/*` is confined to these. */
  readonly roots: readonly string[];
  /** Between the editor's spelling of its paths and the agent's. */
  readonly map: PathMap;
}

/** A request that the agent has to answer. Exactly one of the two is called, once. */
export interface ChildRequest {
  /** What is wanted of its result. */
  readonly resultPlan: Plan | undefined;
  /** The editor's request on whose behalf it was sent, JSON text; the agent may refer to it. */
  readonly editorId: string | undefined;
  readonly method: string;
  /** The session that it is about. */
  readonly session?: Session | undefined;
  onAnswer(message: Message): void;
  onFailure(reason: CaiError): void;
}

/** A request that was sent, with the id (JSON text) that the agent knows. */
export type OpenRequest = ChildRequest & { readonly childId: string };

/** Something to send once the agent has started, in the order of arrival. */
export interface HeldTask {
  /** What it will write, in bytes. */
  readonly bytes: number;
  run(): void;
  /** The agent did not start, or ended before it could run. */
  onFailure(reason: CaiError): void;
}

/** Capabilities and the like, as far as the proxy reads them. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** How a child is made. */
export interface WorkspaceChildOptions {
  readonly process: Omit<AgentProcessOptions, 'onLine' | 'onEnd'>;
  /** Real path of the workspace's root; undefined for the child that serves none. */
  readonly root: string | undefined;
  readonly map: PathMap;
  readonly writer: LineWriter;
  /** Bytes that may wait for an agent that does not read. */
  readonly inputBudgetBytes: number;
  readonly log: Log;
}

/** `starting` until it has answered `initialize`; `stopping` once it is asked to end. */
export type ChildState = 'starting' | 'ready' | 'stopping' | 'ended';

/** Our own request ids: a prefix that nobody can guess, so that they meet none of the editor's. */
const ownPrefix = `cai-${Math.random().toString(36).slice(2)}-`;
let lastOwnId = 0;

/** An agent at work for one workspace. */
export class WorkspaceChild {
  readonly root: string | undefined;
  readonly map: PathMap;
  readonly lane: Lane;
  /** What is open at the agent, by the id that it knows (JSON text). */
  readonly open = new Map<string, OpenRequest>();
  /** Its sessions, by its own ids. An id names only the session that was bound to it last. */
  readonly sessions = new Map<string, Session>();
  /** Where the sessions belong whose `session/new` is open, oldest first. */
  readonly openings: Pick<Session, 'roots' | 'map'>[] = [];
  /** Sessions that the agent spoke of before it answered `session/new`. */
  readonly early = new Set<Session>();
  /** `agentCapabilities` of its answer to `initialize`. */
  capabilities: JsonObject = {};
  /** That answer as the editor may see it, JSON text; empty until it has come. */
  initializeResult = '';
  /** Why it ended. */
  endReason: CaiError | undefined;

  #state: ChildState = 'starting';
  #held: HeldTask[] = [];
  #heldBytes = 0;
  #process!: AgentProcess;
  #isHeldBack = false;
  #quietWaits: { session: Session; resolve: () => void }[] = [];

  /** Makes a child that has not been started. */
  constructor(private readonly options: WorkspaceChildOptions) {
    this.root = options.root;
    this.map = options.map;
    this.lane = options.writer.lane(() => {
      this.#isHeldBack = false;
      this.resume();
    });
  }

  /** Starts the agent. `onEnd` comes once, after its last line, when everything open has failed. */
  start(handlers: Pick<AgentProcessOptions, 'onLine' | 'onEnd'>): void {
    this.#process = new AgentProcess({
      ...this.options.process,
      onLine: handlers.onLine,
      onEnd: (reason) => {
        this.#end(reason);
        handlers.onEnd(reason);
      },
    });
  }

  /** Where it is in its life. */
  get state(): ChildState {
    return this.#state;
  }

  /** New work may be given to it. */
  get isUsable(): boolean {
    return this.#state === 'starting' || this.#state === 'ready';
  }

  /** Runs a task now, or when the agent has started. */
  whenReady(task: HeldTask): void {
    if (this.#state === 'ready') {
      task.run();
    } else if (this.#state !== 'starting') {
      task.onFailure(this.#endError());
    } else if (this.#heldBytes + task.bytes > this.options.inputBudgetBytes) {
      task.onFailure(this.#stalled());
    } else {
      this.#held.push(task);
      this.#heldBytes += task.bytes;
    }
  }

  /** The agent has answered `initialize`: what waited goes to it. */
  setReady(): void {
    this.#state = 'ready';
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const task of held) task.run();
  }

  /** Sends a request under `childId`. The caller has made sure that this id is not open here. */
  request(childId: string, line: Line, request: ChildRequest): void {
    if (this.#isOverBudget()) {
      request.onFailure(this.#stalled());
      return;
    }
    this.open.set(childId, { ...request, childId });
    this.#process.send(line);
  }

  /** Sends a request of our own; returns its id. `params` is JSON text. */
  ask(method: string, params: string | undefined, request: Omit<ChildRequest, 'method'>): string {
    const childId = newOwnId();
    this.request(childId, requestLine(childId, method, params), { ...request, method });
    return childId;
  }

  /** Sends a notification. One that the agent has no room for is dropped, unless it cancels something. */
  notify(line: Line, isCancel: boolean): void {
    if (this.#isOverBudget() && !isCancel) {
      this.options.log.warn({ root: this.root }, 'agent does not read: a notification was dropped');
      return;
    }
    this.#process.send(line);
    this.#endIfHopeless();
  }

  /** Sends the answer to a request of the agent. */
  answer(line: Line): void {
    this.#process.send(line);
    this.#endIfHopeless();
  }

  /** Queues a line for the editor; the agent is not read on while too many wait. */
  deliver(line: Line): void {
    this.lane.queue(line);
    if (this.#isHeldBack || !this.lane.mustWait()) return;
    this.#isHeldBack = true;
    this.pause();
  }

  /** Calls back when no prompt of the session is open, which may be at once. */
  whenQuiet(session: Session, resolve: () => void): void {
    this.#quietWaits.push({ session, resolve });
    this.#wakeQuiet();
  }

  /** The agent has answered: hands the answer to who asked; false when nobody did. */
  settle(answer: Message): boolean {
    const request = this.peek(answer.id ?? '');
    if (request === undefined) return false;
    this.open.delete(request.childId);
    request.onAnswer(answer);
    this.#wakeQuiet();
    return true;
  }

  /** A request is over: tells those that waited for its session's turn to end. */
  #wakeQuiet(): void {
    if (this.#quietWaits.length === 0) return;
    const busy = new Set([...this.open.values()].filter(isPrompt).map((request) => request.session));
    const [waiting, ready] = [
      this.#quietWaits.filter((wait) => busy.has(wait.session)),
      this.#quietWaits.filter((wait) => !busy.has(wait.session)),
    ];
    this.#quietWaits = waiting;
    for (const wait of ready) wait.resolve();
  }

  /** The open request that `childId` (JSON text) names. */
  peek(childId: string): OpenRequest | undefined {
    return this.open.get(childId) ?? this.open.get(this.#sameId(childId) ?? '');
  }

  /** Stops reading the agent until as many calls of `resume` have come. */
  pause(): void {
    this.#process.pause();
  }

  /** Takes one `pause` back. */
  resume(): void {
    this.#process.resume();
  }

  /** The agent is no use: everything open fails, and it is ended. */
  abandon(reason: CaiError, ladder: StopLadder): void {
    this.#state = 'stopping';
    this.endReason = reason;
    this.#failAll(reason);
    void this.stop(ladder);
  }

  /** Asks the agent to end, ever less politely; resolves when nothing of it is left. */
  async stop(ladder: StopLadder): Promise<void> {
    if (this.isUsable) this.#state = 'stopping';
    await this.#process.stop(ladder);
  }

  /** An id written otherwise by a peer that parsed it: `1.0` for `1`, a large integer rounded. */
  #sameId(childId: string): string | undefined {
    const value: unknown = JSON.parse(childId);
    return [...this.open.keys()].find((key) => Object.is(JSON.parse(key), value));
  }

  #isOverBudget(): boolean {
    return this.#process.unreadBytes > this.options.inputBudgetBytes;
  }

  #stalled(): CaiError {
    return new CaiError(
      'AGENT_STALLED',
      `agent "${this.#name}" does not read its input: end it and try again`,
    );
  }

  /** Answers and cancels are never dropped, so an agent that takes none of them has to go. */
  #endIfHopeless(): void {
    if (this.#process.unreadBytes <= 2 * this.options.inputBudgetBytes) return;
    this.options.log.error({ root: this.root }, 'agent does not read its input: it is ended');
    void this.stop({ termAfterMs: 0, killAfterMs: 1_000 });
  }

  #end(reason: CaiError): void {
    this.#state = 'ended';
    this.endReason ??= reason;
    this.#failAll(reason);
  }

  #failAll(reason: CaiError): void {
    const failed = [...this.open.values(), ...this.#held];
    this.open.clear();
    this.#held = [];
    for (const each of failed) each.onFailure(reason);
    this.#wakeQuiet();
  }

  #endError(): CaiError {
    return this.endReason ?? new CaiError('AGENT_EXITED', `agent "${this.#name}" is being ended: try again`);
  }

  get #name(): string {
    return this.options.process.agent.name;
  }
}

function isPrompt(request: ChildRequest): boolean {
  return request.method === 'session/prompt';
}

/** An id for a request of our own, JSON text, never given before. */
export function newOwnId(): string {
  return `"${ownPrefix}${++lastOwnId}"`;
}

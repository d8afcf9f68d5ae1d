/**
 * One child: an agent that serves one workspace. It knows what is open at the agent and what waits for
 * the agent's start; what lines mean is decided above.
 */
import { AgentProcess } from '../agent/process';
import type { AgentProcessOptions, StopLadder } from '../agent/process';
import { CaiError } from '../errors';
import type { Log } from '../log';
import { requestLine } from '../rpc/answer';
import type { Line } from '../rpc/splice';
import type { Lane, LineWriter } from '../rpc/writer';
import type { PathMap } from '../workspace/path-map';
import { OpenRequests } from './open-requests';
import type { ChildRequest } from './open-requests';

/** One conversation, as the proxy knows it while it is open. */
export interface Session {
  /** Its id on the editor's side, unique there. */
  readonly editorId: string;
  /** Its id on the agent's side, unique within the child. */
  readonly agentId: string;
  /** The child that has it. */
  readonly child: WorkspaceChild;
  /** Its working directory and further roots, as the editor spells them. `fs/*` is confined to these. */
  readonly roots: readonly string[];
  /** Between the editor's spelling of its paths and the agent's. */
  readonly map: PathMap;
}

/** Something to send once the agent has started, in the order of arrival. */
export interface HeldTask {
  /** What it will write, in bytes. */
  readonly bytes: number;
  /** The agent is ready: sends it. */
  run(): void;
  /** The agent did not start, or ended before it could run. */
  onFailure(reason: CaiError): void;
}

/** What a held task takes besides the bytes that it will write. */
const taskBytes = 1_024;

/** Capabilities and the like, as far as the proxy reads them. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** How a child is made. */
export interface WorkspaceChildOptions {
  /** How its process is started. */
  readonly process: Omit<AgentProcessOptions, 'onLine' | 'onEnd'>;
  /** Real path of the workspace's root; undefined for the child that serves none. */
  readonly root: string | undefined;
  /** Between the editor's paths and the agent's, for what is about no session. */
  readonly map: PathMap;
  /** Writes to the editor. */
  readonly writer: LineWriter;
  /** Bytes that may wait for an agent that does not read. */
  readonly inputBudgetBytes: number;
  /** For what the agent makes impossible. */
  readonly log: Log;
}

/** `starting` until it has answered `initialize`; `stopping` once it is asked to end. */
export type ChildState = 'starting' | 'ready' | 'stopping' | 'ended';

/** Our own request ids: a prefix that nobody can guess, so that they meet none of the editor's. */
const ownPrefix = `cai-${Math.random().toString(36).slice(2)}-`;
let lastOwnId = 0;

/** An agent at work for one workspace. */
export class WorkspaceChild {
  /** Real path of the workspace's root; undefined for the child that serves none. */
  readonly root: string | undefined;
  /** Between the editor's paths and the agent's, for what is about no session. */
  readonly map: PathMap;
  /** Its lane to the editor. */
  readonly lane: Lane;
  /** What is open at the agent, by the id that it knows (JSON text). */
  readonly open = new OpenRequests();
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
  /** Told what keeps the agent from starting soon. */
  onDelay: ((reason: string) => void) | undefined;
  /** Why it ended. */
  endReason: CaiError | undefined;

  #state: ChildState = 'starting';
  #held: HeldTask[] = [];
  #heldBytes = 0;
  #process!: AgentProcess;
  #isHeldBack = false;

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
  start(handlers: Pick<AgentProcessOptions, 'onLine' | 'onEnd' | 'onStatus'>): void {
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
    } else if (this.#heldBytes + task.bytes + taskBytes > this.options.inputBudgetBytes) {
      task.onFailure(this.#stalled());
    } else {
      this.#held.push(task);
      this.#heldBytes += task.bytes + taskBytes;
    }
  }

  /** The agent has answered `initialize`: what waited goes to it. */
  setReady(): void {
    if (this.#state !== 'starting') return;
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
    this.open.add(childId, request);
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
    // Asked again, it would only get more time.
    if (!this.isUsable || this.#process.unreadBytes <= 2 * this.options.inputBudgetBytes) return;
    this.options.log.error({ root: this.root }, 'agent does not read its input: it is ended');
    void this.stop({ termAfterMs: 0, killAfterMs: 1_000 });
  }

  #end(reason: CaiError): void {
    this.#state = 'ended';
    this.endReason ??= reason;
    this.#failAll(reason);
  }

  #failAll(reason: CaiError): void {
    const held = this.#held;
    this.#held = [];
    this.open.failAll(reason);
    for (const task of held) task.onFailure(reason);
  }

  #endError(): CaiError {
    return this.endReason ?? new CaiError('AGENT_EXITED', `agent "${this.#name}" is being ended: try again`);
  }

  get #name(): string {
    return this.options.process.agent.name;
  }
}

/** An id for a request of our own, JSON text, never given before. */
export function newOwnId(): string {
  return `"${ownPrefix}${++lastOwnId}"`;
}

/** One child: an agent that serves a workspace, one session or none, its open requests, and what waits for its start. */
import type { AgentCommand } from '../../agent/catalog';
import { AgentProcess } from '../../agent/process';
import type { StopLadder } from '../../agent/process-end';
import type { ProcessEvent } from '../../agent/process-event';
import { wantedIn } from '../../rpc/json';
import { agentRow } from '../../rpc/protocol/method-rows';
import { errorObject } from '../../rpc/protocol/fields';
import { isTooLong } from '../../rpc/protocol/refusals';
import { Scanner } from '../../rpc/scanner';
import type { StatusLink } from '../../rpc/status';
import type { CaiError } from '../../errors';
import type { Line } from '../../rpc/splice';
import type { Lane } from '../../rpc/writer';
import { overLimit } from '../../rpc/byte-budget';
import type { PathMap } from '../../system/paths/path-map';
import { queueToAgent, stalled, tooLate, undelivered } from './child-failures';
import type { AgentHello } from '../profiles/initialize';
import type { ChildRecorder } from '../recording/recorder';
import { AgentStarts } from './agent-starts';
import type { AgentOutput, ChildEvent } from './child-event';
import { ChildRequests, type ChildRequest } from './child-requests';
import { HeldTasks, type HeldTask } from './held-tasks';
import type { ChildOptions } from './child-options';

export class Child {
  /** Real path of the workspace's root; undefined for the child that serves no workspace. */
  readonly root: string | undefined;
  /** Identity of that folder when the child was made, from `identify`. */
  readonly identity: string | undefined;
  /** Between the editor's paths and the agent's, for messages that name no session. */
  readonly map: PathMap;
  readonly agent: AgentCommand;
  readonly name: string;
  /** Writes down what passes between us and the agent, if anything does. */
  readonly records: ChildRecorder | undefined;
  readonly lane: Lane;
  /** What is open at the agent, by the id that it knows (JSON text). */
  readonly requests = new ChildRequests();
  readonly scanner = new Scanner({
    params: (method) => wantedIn(agentRow(method).params),
    result: (id) => this.requests.find(id)?.resultPlan,
    error: wantedIn(errorObject),
    isRefused: isTooLong,
  });
  /** Its answer to `initialize`; undefined until that has come. */
  hello: AgentHello | undefined;
  /** The image that the agent runs in, once it runs; undefined for an agent on this machine. */
  image: { readonly id: string | undefined; readonly name: string | undefined } | undefined;
  /**
   * What kept the agent from starting soon, as the building of an image, and since when (milliseconds since 1970); once
   * it runs, for how long. Undefined once the user has been told.
   */
  delay: { readonly what: string; readonly beganAt: number; tookMs?: number } | undefined;
  /** Called with what keeps the agent from starting soon. */
  onDelay: ((reason: string) => void) | undefined;
  /** It is not started again: its failure is not one that is retried, or the attempts are used up. */
  isGivenUp = false;
  endReason: CaiError | undefined;
  /** It ended because it was no longer wanted. */
  wasStopped = false;
  #state: 'starting' | 'ready' | 'stopping' | 'ended' = 'starting';
  readonly #held: HeldTasks;
  readonly #starts: AgentStarts;
  #hear: (event: ChildEvent) => void = () => undefined;
  #pass: (output: AgentOutput) => void = () => undefined;
  #process: AgentProcess | undefined;
  #isHeldBack = false;
  #hasServed = false;
  #isCutOff = false;
  /** How many bytes it was sent before the last cancel. */
  #cancelledAt = -1;

  constructor(private readonly options: ChildOptions) {
    const { agent, identity, map, records, root } = options;
    [this.agent, this.name, this.records] = [agent, agent.name, records];
    [this.root, this.identity, this.map] = [root, identity, map];
    this.#starts = new AgentStarts(agent.name, {
      spawn: () => this.#spawn(),
      delayMs: () => options.attempts.delayMs,
      onFailure: (reason) => this.#failed(reason),
      onEnd: (reason) => this.#end(reason),
    });
    this.#held = new HeldTasks(agent.name, options.inputBudgetBytes);
    this.lane = options.writer.lane(() => {
      this.#isHeldBack = false;
      this.resume();
    });
  }

  /**
   * Starts the agent, with a delay if earlier starts have failed, and again if the start fails and may succeed later.
   * `hear` is told what becomes of the child, `pass` gets what the agent has for the editor.
   */
  start(hear: (event: ChildEvent) => void, pass: (output: AgentOutput) => void): void {
    this.#hear = hear;
    this.#pass = pass;
    this.#starts.start();
  }

  #spawn(): AgentProcess {
    this.#process = new AgentProcess(this.options, (event) => this.#take(event));
    this.#hear({ kind: 'start' });
    return this.#process;
  }

  #take(event: ProcessEvent): void {
    switch (event.kind) {
      case 'line':
      case 'lines':
      case 'asks':
        this.#pass(event);
        break;
      case 'sent':
        this.records?.toAgent(event.line);
        break;
      case 'status':
        this.#hear(event);
        break;
      case 'mute':
        this.cutOff(Infinity);
        break;
      case 'end':
        this.#starts.ended(event.reason);
        break;
    }
  }

  /** Unless it is ready after `limitMs` milliseconds, its start fails with `why`. */
  limitStart(limitMs: number, why: () => CaiError): void {
    if (this.#state === 'starting') this.#starts.limit(limitMs, why);
  }

  /** Its start may take as long as it does. */
  liftStartLimit(): void {
    this.#starts.lift();
  }

  failStart(reason: CaiError): void {
    this.#starts.fail(reason);
  }

  /** Starting until it has answered `initialize`; stopping once it is asked to end. */
  get state() {
    return this.#state;
  }

  get isUsable(): boolean {
    return this.#state === 'starting' || this.#state === 'ready';
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** The connection to the program that runs the agent; undefined for an agent on this machine. */
  get link(): StatusLink | undefined {
    return this.#process?.link;
  }

  /** It has answered a request of the editor: its start was a success. */
  setServed(): void {
    if (!this.#hasServed) this.options.attempts.succeeded();
    this.#hasServed = true;
  }

  /** Runs a task now, or when the agent has started. */
  whenReady(task: HeldTask): void {
    if (this.#state === 'ready') task.run();
    else if (this.#state === 'starting') this.#held.add(task);
    else task.onFailure(this.endReason ?? tooLate(this.name));
  }

  /** The agent has answered `initialize`: what waited goes to it. */
  setReady(): void {
    if (this.#state !== 'starting') return;
    this.#state = 'ready';
    this.#starts.lift();
    for (const task of this.#held.takeAll()) task.run();
  }

  /** Sends a request under `childId`. The caller has made sure that this id is not open here. */
  request(childId: string, line: Line, request: ChildRequest): void {
    const excess = this.#excess();
    if (excess === undefined) {
      this.requests.add(childId, request, this.#process?.sentBytes);
      this.#process?.send(line);
    } else request.onFailure(stalled(this.name, excess));
  }

  /** Sends a notification. One that the agent has no room for is dropped, unless it cancels something. */
  notify(line: Line, isCancel: boolean): void {
    if (this.#excess() !== undefined && !isCancel) {
      this.options.log.warn({ root: this.root }, 'agent does not read: a notification was dropped');
      return;
    }
    if (isCancel) this.#cancelledAt = this.#process?.sentBytes ?? 0;
    this.#process?.send(line);
    this.#endIfHopeless();
  }

  answer(line: Line): void {
    this.#process?.send(line);
    this.#endIfHopeless();
  }

  /** Queues a line or several for the editor; the agent is not read on while too many wait. */
  deliver(line: Line): void {
    this.lane.queue(line);
    if (this.#isHeldBack || !this.lane.stopIfFull()) return;
    this.#isHeldBack = true;
    this.pause();
  }

  /** Stops reading the agent until as many calls of `resume` have come. */
  pause(): void {
    this.#process?.pause();
  }

  /** Takes one `pause` back. */
  resume(): void {
    this.#process?.resume();
  }

  /** Fails everything open and ends the agent, which is of no use. */
  abandon(reason: CaiError, ladder: StopLadder): void {
    this.endReason = reason;
    this.#setStopping();
    this.#failAll(reason);
    void this.stop(ladder);
  }

  /**
   * The connection to the agent is lost; it may have received so many bytes. It gets no more work. Requests after these
   * bytes fail with `UNDELIVERED`, unless a cancel is among them. An agent that had done nothing yet just ends.
   */
  cutOff(takenBytes: number): void {
    if (this.#state !== 'ready' || !this.#hasServed) return;
    this.#isCutOff = true;
    this.#setStopping();
    if (this.#cancelledAt < takenBytes) this.requests.failAfter(takenBytes, undelivered(this.name));
  }

  /** Asks the agent to end, ever less politely; resolves when nothing of it is left. */
  async stop(ladder: StopLadder): Promise<void> {
    if (this.isUsable) this.#setStopping();
    await this.#starts.stop(ladder);
  }

  #setStopping(): void {
    this.#state = 'stopping';
    this.#hear({ kind: 'stopping' });
  }

  /** How much waits to be read by the agent, where that is more than so many budgets. */
  #excess(budgets = 1): string | undefined {
    const [waiting, limit] = [this.#process?.unreadBytes ?? 0, this.options.inputBudgetBytes];
    return waiting > budgets * limit ? overLimit(waiting, limit, queueToAgent) : undefined;
  }

  /** Answers and cancels are never dropped, so an agent that does not read them has to go. */
  #endIfHopeless(): void {
    // A second stop would only give it more time.
    if (!this.isUsable || this.#excess(2) === undefined) return;
    this.options.log.error({ root: this.root }, 'agent does not read its input: it is ended');
    void this.stop({ termAfterMs: 0, killAfterMs: 1_000 });
  }

  /** Its process has ended. Returns undefined if it is started again, else why not. */
  #failed(reason: CaiError): CaiError | undefined {
    const { attempts } = this.options;
    if (!this.isUsable || this.#hasServed) return reason;
    const final = attempts.failed(reason, this.#state === 'ready');
    this.isGivenUp = final !== undefined;
    if (this.#state === 'ready') return final ?? reason;
    // The next process is asked again.
    if (final === undefined) this.requests.clear();
    return final;
  }

  #end(reason: CaiError): void {
    this.wasStopped = this.#state === 'stopping' && this.endReason === undefined && !this.#isCutOff;
    this.#state = 'ended';
    this.endReason ??= reason;
    this.#failAll(reason);
    this.#hear({ kind: 'end' });
  }

  #failAll(reason: CaiError): void {
    const held = this.#held.takeAll();
    this.requests.failAll(reason);
    for (const task of held) task.onFailure(reason);
  }
}

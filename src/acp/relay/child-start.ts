/**
 * The start of an agent: `initialize` and earlier sign-ins, before it gets work; and what the program that runs it
 * says.
 */
import type { AgentCommand } from '../../agent/catalog';
import { hastyStop } from '../../agent/process';
import type { AgentStatus } from '../../rpc/status';
import { CaiError } from '../../errors';
import type { Log } from '../../system/log';
import { planOf, type Plan } from '../../rpc/json';
import { newOwnId, requestLine } from '../../rpc/answer';
import type { Message } from '../../rpc/message';
import type { WorkspaceChild } from '../child/workspace-child';
import type { Config } from '../../config/config';
import type { Core } from './core';
import * as fields from '../../rpc/protocol/fields';
import { readAgentHello } from '../profiles/initialize';
import type { Repeat, Repeats } from '../../rpc/repeated-requests';
import { tellInThread } from './thread';

/** How a child is started, and who hears of it. */
export interface ChildStartOptions {
  readonly agent: AgentCommand;
  /** The user's configuration. */
  readonly config: Config;
  /** For what delays the start, and for sign-ins that could not be repeated. */
  readonly log: Log;
  hear(event: StartEvent): void;
}

/** What the start of a child, and the program that runs its agent, tell. */
export type StartEvent =
  /** The answer to `initialize`, or the image that the agent runs in, has become known. */
  | { readonly kind: 'hello' }
  /** The agent has got the calls that waited for it. */
  | { readonly kind: 'ready' }
  /** The agent is stopped, or that cannot be known. */
  | { readonly kind: 'stopped' | 'unwatchable' }
  /** The connection to the agent is lost; so many bytes of input may have got there. */
  | { readonly kind: 'lost'; readonly takenBytes: number };

const helloPlan = planOf(fields.initializeResult);

/** The start of one child. */
export class ChildStart {
  /** The sign-ins before this child. Later ones are sent to it as to all children. */
  readonly #repeats: readonly Repeat[];
  /** The agent itself runs. */
  #hasStarted = false;

  /** `repeats`: the earlier sign-ins. */
  constructor(
    private readonly core: Core,
    private readonly child: WorkspaceChild,
    private readonly repeats: Repeats,
    private readonly options: ChildStartOptions,
  ) {
    this.#repeats = repeats.all();
  }

  /** The process runs: it gets `initialize` with these params, JSON text. */
  greet(params: string): void {
    this.#ask('initialize', params, (answer) => this.#onHello(answer), helloPlan);
    this.#hasStarted = this.options.agent.hasStatus !== true;
    this.#limit();
  }

  /**
   * What the program that runs the agent says. While it reports a delay, as of building an image, there is no limit.
   */
  hear(status: AgentStatus): void {
    const { child } = this;
    if (status.kind === 'started') {
      child.image = { id: status.image, name: status.imageName };
      this.options.hear({ kind: 'hello' });
      this.#hasStarted = true;
      if (child.delay !== undefined) child.delay.tookMs = Date.now() - child.delay.beganAt;
      this.#limit();
      return;
    }
    if (status.kind === 'stopped' || status.kind === 'unwatchable' || status.kind === 'lost')
      this.options.hear(status);
    if (status.kind === 'resumed') this.#limit();
    if (status.kind === 'warning')
      for (const session of this.core.sessions.of(child).byAgentId.values())
        tellInThread(this.core, session, status);
    if (status.kind !== 'notice' && status.kind !== 'delay') return;
    this.options.log.warn({ root: child.root }, status.text);
    if (status.kind !== 'delay') return;
    this.#limit(Infinity);
    child.delay ??= { what: status.text.replace(/^cai: /, ''), beganAt: Date.now() };
    child.onDelay?.(status.text);
  }

  /** Fails the start if the container is not ready, or the agent has not answered `initialize`, in time. */
  #limit(limitMs = this.options.config.acp.startTimeoutMs): void {
    const { agent } = this.options;
    const inTime = `in ${limitMs / 1_000} s`;
    const reason = this.#hasStarted
      ? new CaiError(
          'AGENT_TIMEOUT',
          `agent "${agent.name}" did not answer initialize ${inTime}: see what it says on its own`,
        )
      : new CaiError(
          'NOT_READY',
          `the container of agent "${agent.name}" was not ready ${inTime}: see cai doctor, or raise [acp] start_timeout`,
        );
    this.child.limitStart(limitMs, reason);
  }

  /** Ends a child whose start has failed. */
  #abandon(reason: CaiError): void {
    if (this.child.isUsable) this.child.abandon(reason, hastyStop);
  }

  /** The agent has answered `initialize`: it gets the earlier sign-ins, then the calls that wait for it. */
  #onHello(answer: Message): void {
    const { child, core, options } = this;
    try {
      child.hello = readAgentHello(answer, options.agent.name, core.signInEdits(child, answer));
    } catch (error) {
      this.#abandon(error as CaiError);
      return;
    }
    options.hear({ kind: 'hello' });
    this.#repeat(this.#repeats.filter((repeat) => this.repeats.has(repeat)));
  }

  #repeat(repeats: readonly Repeat[]): void {
    const [next, ...rest] = repeats;
    if (next === undefined) {
      this.child.setReady();
      this.options.hear({ kind: 'ready' });
      return;
    }
    const goOn = (failure?: string): void => {
      if (failure !== undefined)
        this.options.log.warn({ method: next.method, reason: failure }, 'could not be repeated');
      this.#repeat(rest);
    };
    this.#ask(next.method, next.params, (answer) =>
      goOn(answer.isError ? 'the agent refused it' : undefined),
    );
  }

  /** `onAnswer` runs before the agent's next line is read. */
  #ask(
    method: string,
    params: string | undefined,
    onAnswer: (answer: Message) => void,
    resultPlan?: Plan,
  ): void {
    const onFailure = (reason: CaiError): void => this.#abandon(reason);
    const childId = newOwnId();
    const line = requestLine(childId, method, params);
    this.child.request(childId, line, { method, resultPlan, onAnswer, onFailure });
  }
}

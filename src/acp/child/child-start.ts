/**
 * The start of an agent: `initialize` and earlier sign-ins, before it gets work; and what the program that runs it
 * says.
 */
import { hastyStop } from '../../agent/process-end';
import type { AgentStatus } from '../../rpc/status';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import { wantedIn, type Plan } from '../../rpc/json';
import type { Message } from '../../rpc/message';
import { sendOwn } from './own-requests';
import type { Child } from './child';
import type { ProxyOptions } from '../proxy-options';
import { answerEdits } from '../relay/answer-edits';
import type { Core } from '../relay/core';
import * as fields from '../../rpc/protocol/fields';
import { readAgentHello } from '../profiles/initialize';
import type { Repeat, Repeats } from '../../rpc/repeated-requests';
import { tellInThread } from '../relay/thread';

/** What comes of the start of an agent. */
export type StartEvent =
  /** The answer to `initialize`, or the image that the agent runs in, has become known. */
  | 'hello'
  /** The agent has got the calls that waited for it. */
  | 'ready';

/** How long an agent may take for a sign-in that is repeated, in milliseconds: no person is asked for it. */
const repeatMs = 30_000;

const helloPlan = wantedIn(fields.initializeResult);

export class ChildStart {
  /** The sign-ins before this child. Later ones are sent to it as to all children. */
  readonly #repeats: readonly Repeat[];
  #hasStarted = false;
  /** The params of `initialize`, JSON text. */
  #params = '';
  #repeated: Repeat | undefined;

  /** `repeats`: the earlier sign-ins. `hear`: who is told. */
  constructor(
    private readonly core: Core,
    private readonly child: Child,
    private readonly repeats: Repeats,
    private readonly options: Pick<ProxyOptions, 'agent' | 'config'>,
    private readonly hear: (event: StartEvent) => void,
  ) {
    this.#repeats = repeats.all();
  }

  /** The process runs: its agent gets `initialize` with these params, JSON text, as soon as it runs, too. */
  greet(params: string): void {
    this.#repeated = undefined;
    this.#params = params;
    this.#hasStarted = this.child.agent.hasStatus !== true;
    if (this.#hasStarted) this.#initialize();
    this.#limit();
  }

  #initialize(): void {
    this.#ask('initialize', this.#params, (answer) => this.#onHello(answer), helloPlan);
  }

  /**
   * What the program that runs the agent says. While it reports a delay, as of building an image, there is no limit.
   */
  takeStatus(status: AgentStatus): void {
    const { child } = this;
    if (status.kind === 'started') {
      child.image = { id: status.image, name: status.imageName };
      this.hear('hello');
      this.#hasStarted = true;
      this.#initialize();
      if (child.delay !== undefined) child.delay.tookMs = Date.now() - child.delay.beganAt;
      this.#limit();
      return;
    }
    if (status.kind === 'resumed') this.#limit();
    if (status.kind === 'warning')
      for (const session of this.core.sessions.of(child).byAgentId.values())
        tellInThread(this.core, session, status);
    if (status.kind !== 'notice' && status.kind !== 'delay') return;
    this.core.log.warn({ root: child.root }, status.text);
    if (status.kind !== 'delay') return;
    child.liftStartLimit();
    child.delay ??= { what: status.text.replace(/^cai: /, ''), beganAt: Date.now() };
    child.onDelay?.(status.text);
  }

  /** Fails the start if the container is not ready, or the agent has not answered what it was asked, in time. */
  #limit(): void {
    const { agent, config } = this.options;
    const limitMs = this.#repeated === undefined ? config.acp.startTimeoutMs : repeatMs;
    const inTime = `in ${limitMs / 1_000} s`;
    const unanswered = `agent "${agent.name}" did not answer`;
    const why = (): CaiError => {
      if (this.#repeated !== undefined) {
        // The next start must not hang for it again.
        this.repeats.forget(this.#repeated);
        const { method } = this.#repeated;
        const text = `${unanswered} ${method}, which had succeeded at another agent and was repeated, ${inTime}: sign in again`;
        return new CaiError('AGENT_TIMEOUT', text);
      }
      if (!this.#hasStarted) {
        const text = `the container of agent "${agent.name}" was not ready ${inTime}: see cai doctor, or raise [acp] start_timeout`;
        return new CaiError('NOT_READY', text);
      }
      const text = `${unanswered} initialize ${inTime}: does it speak ACP? See what ${quoted(agent.command.join(' '))} says in a terminal, or raise [acp] start_timeout`;
      return new CaiError('AGENT_TIMEOUT', text);
    };
    this.child.limitStart(limitMs, why);
  }

  #abandon(reason: CaiError): void {
    if (this.child.isUsable) this.child.abandon(reason, hastyStop);
  }

  /** The agent has answered `initialize`: it gets the earlier sign-ins, then the calls that wait for it. */
  #onHello(answer: Message): void {
    const { child, core } = this;
    try {
      child.hello = readAgentHello(answer, child.name, answerEdits(core, child, answer));
    } catch (error) {
      this.#abandon(error as CaiError);
      return;
    }
    this.hear('hello');
    this.#repeat(new Set(this.#repeats));
  }

  #repeat(open: Set<Repeat>): void {
    const next = this.repeats.nextOf(open);
    this.#repeated = next;
    if (next === undefined) {
      this.child.setReady();
      this.hear('ready');
      return;
    }
    open.delete(next);
    this.#limit();
    const { method, params } = next;
    this.#ask(method, params, ({ isError }) => {
      if (isError) this.core.log.warn({ method, reason: 'the agent refused it' }, 'could not be repeated');
      this.#repeat(open);
    });
  }

  /** `onAnswer` runs before the agent's next line is read. */
  #ask(
    method: string,
    params: string | undefined,
    onAnswer: (answer: Message) => void,
    resultPlan?: Plan,
  ): void {
    const onFailure = (reason: CaiError): void => this.#abandon(reason);
    sendOwn(this.child, params, { method, resultPlan, onAnswer, onFailure });
  }
}

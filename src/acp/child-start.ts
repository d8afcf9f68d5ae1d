/** What an agent is told when it has been started, and has to answer before it is given work. */
import type { AgentCommand } from '../agent/catalog';
import { hastyStop } from '../agent/process';
import type { AgentStatus } from '../agent/status';
import { CaiError } from '../errors';
import type { Log } from '../log';
import { compilePlan } from '../rpc/plan';
import type { Message } from '../rpc/scan';
import type { WorkspaceChild } from '../session/workspace-child';
import type { Config } from '../workspace/config';
import type { Core } from './core';
import * as fields from './fields';
import { readAgentHello } from './initialize';
import type { Repeat, Repeats } from './repeats';

/** What is told to whom. */
export interface ChildStartOptions {
  /** The command that is started. */
  readonly agent: AgentCommand;
  /** The user's configuration. */
  readonly config: Config;
  /** For what delays it, and what could not be repeated. */
  readonly log: Log;
  /** The answer to `initialize`, or the image that the agent runs in, has become known. */
  onHello(child: WorkspaceChild): void;
  /** It has been given what waited for it. */
  onReady(child: WorkspaceChild): void;
}

const helloPlan = compilePlan(fields.initializeResult);

/** The start of one child. */
export class ChildStart {
  /** Requests that come from now on are sent to this child as to the others, so they are not repeated. */
  readonly #repeats: readonly Repeat[];

  /** `repeats`: what children are told of earlier sign-ins. */
  constructor(
    private readonly core: Core,
    private readonly child: WorkspaceChild,
    private readonly repeats: Repeats,
    private readonly options: ChildStartOptions,
  ) {
    this.#repeats = repeats.all();
  }

  /** The process is there: it gets `hello`, the params of `initialize` as JSON text. */
  greet(hello: string): void {
    this.child.ask('initialize', hello, {
      resultPlan: helloPlan,
      editorId: undefined,
      onAnswer: (answer) => this.#onHello(answer),
      onFailure: (reason) => this.#abandon(reason),
    });
    if (this.options.agent.hasStatus !== true) this.#limit();
  }

  /** Images are built and containers made without a limit of time; an agent that runs has one. */
  hear(status: AgentStatus): void {
    const { child } = this;
    if (status.kind === 'started') {
      child.image = { id: status.image, name: status.imageName };
      this.options.onHello(child);
      this.#limit();
      return;
    }
    if (status.kind === 'failed') return;
    this.options.log.warn({ root: child.root }, status.text);
    if (status.kind === 'delay') child.onDelay?.(status.text);
  }

  /** An agent that never answers `initialize` fails what waits for it. */
  #limit(): void {
    const { agent, config } = this.options;
    const limitMs = config.acp.startTimeoutMs;
    const text = `agent "${agent.name}" did not answer initialize in ${limitMs / 1_000} s: see what it says on its own`;
    this.child.limitStart(limitMs, new CaiError('AGENT_TIMEOUT', text));
  }

  /** A child that did not get through its start is no use. */
  #abandon(reason: CaiError): void {
    if (this.child.isUsable) this.child.abandon(reason, hastyStop);
  }

  /** The agent has answered `initialize`: it is told of sign-ins, then gets what waits for it. */
  #onHello(answer: Message): void {
    const { child, core, options } = this;
    try {
      const hello = readAgentHello(answer, options.agent.name, core.signInEdits(child, answer));
      child.capabilities = hello.capabilities;
      child.initializeResult = hello.editorResult;
      child.ownInitializeResult = hello.agentResult;
    } catch (error) {
      this.#abandon(error as CaiError);
      return;
    }
    options.onHello(child);
    this.#repeat(this.#repeats.filter((repeat) => this.repeats.has(repeat)));
  }

  #repeat(repeats: readonly Repeat[]): void {
    const [next, ...rest] = repeats;
    if (next === undefined) {
      this.child.setReady();
      this.options.onReady(this.child);
      return;
    }
    const goOn = (failure?: string): void => {
      if (failure !== undefined)
        this.options.log.warn({ method: next.method, reason: failure }, 'could not be repeated');
      this.#repeat(rest);
    };
    this.child.ask(next.method, next.params, {
      resultPlan: undefined,
      editorId: undefined,
      onAnswer: (answer) => goOn(answer.isError ? 'the agent refused it' : undefined),
      onFailure: (reason) => this.#abandon(reason),
    });
  }
}

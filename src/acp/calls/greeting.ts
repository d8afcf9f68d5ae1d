/**
 * `initialize`: answered once, before any workspace is known. The answer is a profile of the agent, else the answer of a
 * first child if it comes in time, else one that offers no capabilities.
 */
import { loggedFailure } from '../../agent/agent-end';
import { messageOf } from '../../errors';
import { resultLine } from '../../rpc/answer';
import { mayHaveOwnSignIns } from '../../agent/own-sign-ins';
import type { Workspace } from '../../workspace/root';
import { findCheckedWorkspace } from '../../workspace/trust';
import type { Children } from '../child/children';
import type { Call } from '../sessions/editor-call';
import type { Core } from '../relay/core';
import { minimalResult, readHello, resultFor } from '../profiles/initialize';
import type { ProxyOptions } from '../proxy-options';

/** The answer of a first child, or for the log why no answer came. */
interface Outcome {
  readonly hello?: string;
  readonly why?: object;
}

/** How long `initialize` waits for an agent's answer before it is answered without capabilities, in milliseconds. */
const bootstrapMs = 15_000;

export class Greeting {
  /**
   * `initialize` is being answered, or the first child is about to be started: do not read the editor until `onRoom`. Its
   * next line will most likely need that child.
   */
  isUnderWay = false;
  #workspace: Promise<Workspace | undefined> | undefined;

  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly options: ProxyOptions,
  ) {}

  /** Serves a call. A second `initialize` gets the same answer. */
  serve(call: Call): void {
    if (call.request !== undefined) this.#answer(call).catch((error: unknown) => this.core.fail(call, error));
  }

  async #answer(call: Call): Promise<void> {
    const id = call.request!.id;
    if (this.core.initializeResult !== undefined) {
      this.core.answer(call, resultLine(id, resultFor(call.message, this.core.initializeResult)));
      return;
    }
    const hello = readHello(call.message, this.options);
    this.core.editorCapabilities = hello.capabilities;
    this.children.helloParams = hello.childParams;
    this.isUnderWay = true;
    try {
      await this.#placeSignIns();
      await this.#greet(call, hello.childParams);
    } finally {
      this.isUnderWay = false;
      this.options.onRoom();
    }
  }

  async #greet(call: Call, childParams: string): Promise<void> {
    const { answered } = this.options;
    const known = answered ?? this.options.profiles.find(childParams);
    if (known !== undefined) {
      this.core.initializeResult = known.result;
      if (answered === undefined)
        this.core.answer(call, resultLine(call.request!.id, resultFor(call.message, known.result)));
      else this.core.requests.finish(call.request!);
      // The answer is written before anything else is done.
      await new Promise(setImmediate);
      this.core.log.info({ source: known.source }, 'initialize is answered with a profile');
      await this.#warmUp();
    } else {
      const result = await this.#bootstrap();
      this.core.initializeResult = result;
      this.core.answer(call, resultLine(call.request!.id, resultFor(call.message, result)));
    }
  }

  /**
   * The answer of a first child, or the minimal one. That child serves the proxy's own working directory, if
   * that is a workspace, since some editors start agents in the project.
   */
  async #bootstrap(): Promise<string> {
    const workspace = await this.#ownWorkspace();
    const child = workspace === undefined ? this.children.primary() : this.children.forWorkspace(workspace);
    const { hello, why } = await new Promise<Outcome>((resolve) => {
      const late = { why: { reason: `no answer in ${bootstrapMs / 1_000} s` } };
      const timer = setTimeout(() => resolve(late), bootstrapMs);
      const over = (outcome: Outcome): void => {
        clearTimeout(timer);
        resolve(outcome);
      };
      child.onDelay = (reason) => over({ why: { reason } });
      child.whenReady({
        bytes: 0,
        run: () => over({ hello: child.hello!.editorResult }),
        onFailure: (failure) => over({ why: loggedFailure(failure) }),
      });
    });
    if (hello !== undefined) {
      this.options.profiles.answeredFrom(child);
      return hello;
    }
    this.core.log.warn(why, 'initialize is answered without the agent: no optional capability is offered');
    return minimalResult;
  }

  /**
   * Starts the child that will most likely be needed first, and does not wait. A failure is told to the call that
   * needs it.
   */
  async #warmUp(): Promise<void> {
    const workspace = await this.#ownWorkspace();
    // A child that was started for no session is of no use to one.
    if (this.options.config.agent.process === 'session') return;
    try {
      if (workspace !== undefined) this.children.forWorkspace(workspace);
    } catch (error) {
      // For example, because the editor has gone meanwhile.
      this.core.log.info({ reason: messageOf(error) }, 'no agent is started yet');
    }
  }

  /** If the current workspace has its own sign-ins, a sign-in before any session is one for that workspace. */
  async #placeSignIns(): Promise<void> {
    const { agent, config, host, signIn } = this.options;
    if (!mayHaveOwnSignIns(agent.name, config, host.cwd, host.home)) return;
    const root = (await this.#ownWorkspace())?.root;
    signIn.ownRoot = root !== undefined && this.options.hasOwnData(root) ? root : undefined;
  }

  /** Looked up once, because `git` has to be started for it. */
  async #ownWorkspace(): Promise<Workspace | undefined> {
    return await (this.#workspace ??= this.#findWorkspace());
  }

  async #findWorkspace(): Promise<Workspace | undefined> {
    try {
      const workspace = await findCheckedWorkspace(this.options.host.cwd, this.options.host);
      this.options.profiles.ownRoot = workspace.root;
      return workspace;
    } catch (error) {
      this.core.log.info({ reason: messageOf(error) }, 'the working directory is no workspace');
      return undefined;
    }
  }
}

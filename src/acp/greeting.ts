/**
 * `initialize`: answered once and for all, before any workspace is known. With what a first child says, if
 * it says so in time, else with a promise of nothing.
 */
import { messageOf } from '../errors';
import { resultLine } from '../rpc/answer';
import type { Config } from '../workspace/config';
import type { Workspace } from '../workspace/root';
import { findCheckedWorkspace } from '../workspace/trust';
import type { Children } from './children';
import type { Call } from './call';
import type { Core } from './core';
import { minimalResult, readHello } from './initialize';

/** What the greeting is made from. */
export interface GreetingOptions {
  /** The user's configuration. */
  readonly config: Config;
  /** Where our own folders are found. */
  readonly env: NodeJS.ProcessEnv;
  /** The proxy's own working directory. */
  readonly cwd: string;
  /** After `isUnderWay`: the editor may be read on. */
  onRoom(): void;
}

/** How long `initialize` waits for an agent's answer before it promises nothing, in milliseconds. */
const bootstrapMs = 15_000;

/** Answers `initialize`. */
export class Greeting {
  /** The result of `initialize`, JSON text, once it is answered: it never changes. */
  #result: string | undefined;
  #isUnderWay = false;

  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly options: GreetingOptions,
  ) {}

  /** It is being answered: the editor must not be read on until `onRoom`. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** It has been answered. */
  get isOver(): boolean {
    return this.#result !== undefined;
  }

  /** Serves a call; again, the answer is the same. */
  serve(call: Call): void {
    if (call.request !== undefined) this.#answer(call).catch((error: unknown) => this.core.fail(call, error));
  }

  async #answer(call: Call): Promise<void> {
    const id = call.request!.id;
    if (this.#result !== undefined) {
      this.core.answer(call, resultLine(id, this.#result));
      return;
    }
    const hello = readHello(call.message, this.options.config.acp.fs === 'editor');
    this.core.editorCapabilities = hello.capabilities;
    this.children.hello = hello.childParams;
    this.#isUnderWay = true;
    this.#result = await this.#bootstrap();
    this.#isUnderWay = false;
    this.core.answer(call, resultLine(id, this.#result));
    this.options.onRoom();
  }

  /**
   * The answer of a first child, or the minimal one. That child serves the proxy's own working directory, if
   * that is a workspace, since some editors start agents in the project.
   */
  async #bootstrap(): Promise<string> {
    const workspace = await this.#ownWorkspace();
    const child = workspace === undefined ? this.children.primary() : this.children.forWorkspace(workspace);
    const { hello, reason } = await new Promise<{ hello?: string; reason?: string }>((resolve) => {
      const late = { reason: `no answer in ${bootstrapMs / 1_000} s` };
      const timer = setTimeout(() => resolve(late), bootstrapMs);
      const over = (outcome: { hello?: string; reason?: string }): void => {
        clearTimeout(timer);
        resolve(outcome);
      };
      child.onDelay = (reason) => over({ reason });
      child.whenReady({
        bytes: 0,
        run: () => over({ hello: child.initializeResult }),
        onFailure: (failure) => over({ reason: failure.message }),
      });
    });
    if (hello !== undefined) return hello;
    this.core.log.warn(
      { reason },
      'initialize is answered without the agent: no optional capability is offered',
    );
    return minimalResult;
  }

  async #ownWorkspace(): Promise<Workspace | undefined> {
    try {
      return await findCheckedWorkspace(this.options.cwd, this.options.env);
    } catch (error) {
      this.core.log.info({ reason: messageOf(error) }, 'the working directory is no workspace');
      return undefined;
    }
  }
}

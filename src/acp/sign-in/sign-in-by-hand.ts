/** What somebody does to sign in to an agent in a container where the agent's own way cannot work: `cai login`. */
import { catalog, type AgentCommand, type SignInCommands } from '../../agent/catalog';
import { ownValue } from '../../config/own-property';
import { rpcCode } from '../../errors';
import { bodyOf, fieldOf, jsonOf, type Message } from '../../rpc/message';
import type { Log } from '../../system/log';
import { quoted } from '../../system/quoted';
import { objectOf } from '../../system/unless';

export class SignInByHand {
  #isHintTold = false;

  /** `agent`: undefined where it is in no container. `ownRoot`: as in `SignIn`. */
  constructor(
    private readonly agent: AgentCommand | undefined,
    private readonly log: Log,
    private readonly ownRoot: () => string | undefined,
  ) {}

  /** The agent's commands; undefined where they are not known, or the agent is in no container. */
  get commands(): SignInCommands | undefined {
    return this.agent && ownValue(catalog, this.agent.name)?.signIn;
  }

  /** Whether a sign-in method of that id opens a browser where the agent runs. */
  isInBrowser(methodId: unknown): boolean {
    return typeof methodId === 'string' && this.commands?.browserMethods?.includes(methodId) === true;
  }

  /** Whether a request is an `authenticate` by such a method. */
  needsBrowser(request: Message | undefined): boolean {
    return request?.method === 'authenticate' && this.isInBrowser(objectOf(bodyOf(request)).methodId);
  }

  /** Why such a request is not answered, and what to do. */
  noBrowser(): string {
    return `${this.agent!.displayName} waits for a browser, and its container has no browser: to sign in, ${this.#remedy()}`;
  }

  /**
   * What is added to the message of an agent's error in answer to `request`: what to do where the agent asks for a
   * sign-in (-32000), or where one that needs a browser has failed. The first time it is told on stderr, too.
   */
  hintFor(error: Message, request: Message | undefined): string | undefined {
    if (this.commands === undefined) return undefined;
    const code = fieldOf(error, 'errorCode');
    const isAsked = code !== undefined && jsonOf(error, code) === String(rpcCode.authRequired);
    if (!isAsked && !this.needsBrowser(request)) return undefined;
    const hint = `to sign in, ${this.#remedy()}`;
    if (!this.#isHintTold) this.log.warn(`the agent is not signed in: ${hint}`);
    this.#isHintTold = true;
    return hint;
  }

  #remedy(): string {
    const root = this.ownRoot();
    const where = root === undefined ? '' : ` --workspace ${quoted(root)}`;
    return `run: cai login ${this.agent!.name}${where}`;
  }
}

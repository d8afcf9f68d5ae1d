/**
 * Requests that concern the agent and not a session go to every child: signing in and out, and the
 * choice of providers. Credentials are per agent, so a child that starts later is told as well.
 */
import { ask } from '../child/own-requests';
import { cancelLine } from '../../rpc/answer';
import { bodyTextOf, type Message } from '../../rpc/message';
import type { Child } from '../child/child';
import type { Children } from '../child/children';
import type { Repeat } from '../../rpc/repeated-requests';
import type { Call } from '../sessions/editor-call';
import type { Core } from '../relay/core';
import { askFor, passOn } from '../relay/on-behalf';
import { CaiError, messageOf } from '../../errors';
import { within } from '../../system/time-limit';

/** How long the other children may take once one has answered, in milliseconds. */
const othersMs = 10_000;
/** How long an agent may take to find that it is signed in already, in milliseconds. */
const browserMs = 10_000;

/** Sends a request to all children and makes one answer of theirs. */
export class FanOut {
  constructor(
    private readonly core: Core,
    private readonly children: Children,
  ) {}

  /** Serves a call: the first error wins, else the first child's result is the answer. */
  async serve(call: Call): Promise<void> {
    const { message, request, row } = call;
    if (request === undefined) return;
    const params = bodyTextOf(message);
    const repeat: Repeat = { method: message.method, params };
    const targets = this.children.usable().length > 0 ? this.children.usable() : [this.children.primary()];
    if (row.repeat === 'keep') this.children.repeats.remember(repeat);
    const forgotten = row.repeat === 'clear' ? this.children.repeats.forgetAll() : [];
    const gathered = this.#gather(
      targets.map(async (child) => ({ child, answer: await askFor(child, call, params) })),
    );
    const over = new AbortController();
    const outcomes = this.core.signIn.byHand.needsBrowser(message)
      ? await Promise.race([gathered, this.#untilNoBrowser(targets[0]!, call, over.signal)])
      : await gathered;
    over.abort();
    const failed = outcomes.find(({ answer }) => answer instanceof CaiError && answer.code !== 'NOT_OFFERED');
    const answered = (isError: boolean): Outcome | undefined =>
      outcomes.find(({ answer }) => !(answer instanceof CaiError) && answer.isError === isError);
    const served = answered(false);
    const outcome = answered(true) ?? failed ?? served ?? outcomes[0]!;
    if (outcome !== served) {
      this.children.repeats.forget(repeat);
      this.children.repeats.restore(forgotten);
    } else if (this.children.repeats.confirm(repeat)) {
      this.#tellLater(targets, repeat);
    }
    const { child, answer } = outcome;
    if (answer instanceof CaiError) this.core.fail(call, answer, child.lane);
    else passOn(this.core, child, call, answer);
  }

  /** The children that have started meanwhile are told as well. */
  #tellLater(told: readonly Child[], { method, params = '{}' }: Repeat): void {
    for (const child of this.children.usable()) {
      if (child.state !== 'ready' || told.includes(child)) continue;
      ask(child, method, params).catch((reason: unknown) => {
        this.core.log.warn({ method, reason: messageOf(reason) }, 'could not be repeated');
      });
    }
  }

  /**
   * An agent that is signed in already answers such a sign-in soon; any other waits for a browser that is not there. Once
   * `over` is aborted, the sign-in was answered.
   */
  async #untilNoBrowser(child: Child, { request }: Call, over: AbortSignal): Promise<Outcome[]> {
    await new Promise<void>((resolve) => {
      const run = (): void => void setTimeout(resolve, browserMs).unref();
      child.whenReady({ bytes: 0, run, onFailure: () => undefined });
    });
    if (over.aborted) return [];
    for (const { child: asked, childId } of request!.targets) asked.notify(cancelLine(childId), true);
    return [{ child, answer: new CaiError('NOT_READY', this.core.signIn.byHand.noBrowser()) }];
  }

  /**
   * What has come when all have answered, or some time after the first answer: an agent that hangs does
   * not keep the user from using the others. Before that there is no limit, since a person may sign in.
   */
  async #gather(asked: readonly Promise<Outcome>[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    const noted = asked.map(async (each, index) => {
      const { answer } = (outcomes[index] = await each);
      if (answer instanceof CaiError) throw answer;
    });
    await Promise.any(noted).catch(() => undefined);
    await within(othersMs, Promise.allSettled(noted));
    return Object.values(outcomes);
  }
}

/** What came of a request at one child: its answer, or why no answer came. */
interface Outcome {
  readonly child: Child;
  readonly answer: Message | CaiError;
}

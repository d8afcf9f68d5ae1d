/**
 * Requests that concern the agent and not a session go to every child: signing in and out, and the
 * choice of providers. Credentials are per agent, so a child that starts later is told as well.
 */
import { notificationLine } from '../rpc/answer';
import { bodyTextOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import type { WorkspaceChild } from '../child/workspace-child';
import type { Children } from '../relay/children';
import type { Call } from '../sessions/call';
import type { Core } from '../relay/core';
import { CaiError } from '../errors';
import { within } from '../system/time-limit';

/** How long the other children may take once one has answered, in milliseconds. */
const othersMs = 10_000;
/** How long an agent may take to find that it is signed in already, in milliseconds. */
const browserMs = 10_000;

/** Sends a request to all children and makes one answer of theirs. */
export class FanOut {
  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
  ) {}

  /** Serves a call: the first error wins, else the first child's result is the answer. */
  async serve(call: Call): Promise<void> {
    const { message, request, row } = call;
    if (request === undefined) return;
    const params = bodyTextOf(message);
    const repeat = { method: message.method, params };
    const targets = this.children.usable().length > 0 ? this.children.usable() : [this.children.primary()];
    if (row.repeat === 'keep') this.children.repeats.remember(repeat);
    const forgotten = row.repeat === 'clear' ? this.children.repeats.forgetAll() : [];
    const gathered = this.#gather(targets.map((child) => this.#ask(child, call, params)));
    const outcomes = this.core.signIn.byHand.needsBrowser(message)
      ? await Promise.race([gathered, this.#untilNoBrowser(targets[0]!, call)])
      : await gathered;
    const failed = outcomes.find((outcome) => 'failure' in outcome && !isNotOffered(outcome.failure));
    const refused = outcomes.find((outcome) => 'answer' in outcome && outcome.answer.isError);
    const served = outcomes.find((outcome) => 'answer' in outcome && !outcome.answer.isError);
    const outcome = refused ?? failed ?? served ?? outcomes[0]!;
    if (outcome !== served) {
      this.children.repeats.forget(repeat);
      this.children.repeats.restore(forgotten);
    }
    if ('failure' in outcome) this.core.fail(call, outcome.failure, outcome.child.lane);
    else this.core.passOn(outcome.child, call, outcome.answer);
  }

  async #ask(child: WorkspaceChild, call: Call, params: string | undefined): Promise<Outcome> {
    const answer = await this.core.ask(child, call, params);
    return answer instanceof CaiError ? { child, failure: answer } : { child, answer };
  }

  /** An agent that is signed in already answers such a sign-in soon; any other waits for a browser that is not there. */
  async #untilNoBrowser(child: WorkspaceChild, { request }: Call): Promise<Outcome[]> {
    await new Promise<void>((resolve) => {
      const run = (): void => void setTimeout(resolve, browserMs).unref();
      child.whenReady({ bytes: 0, run, onFailure: () => undefined });
    });
    for (const { child: asked, childId } of request!.targets)
      asked.notify(notificationLine('$/cancel_request', `{"requestId":${childId}}`), true);
    return [{ child, failure: new CaiError('NOT_READY', this.core.signIn.byHand.noBrowser()) }];
  }

  /**
   * What has come when all have answered, or some time after the first answer: an agent that hangs does
   * not keep the user from using the others. Before that there is no limit, since a person may sign in.
   */
  async #gather(asked: readonly Promise<Outcome>[]): Promise<Outcome[]> {
    const outcomes = new Map<number, Outcome>();
    const noted = asked.map(async (each, index) => {
      const outcome = await each;
      outcomes.set(index, outcome);
      return outcome;
    });
    const all = Promise.all(noted);
    const answered = noted.map(async (each) => {
      const outcome = await each;
      return 'answer' in outcome ? outcome : await new Promise<never>(() => undefined);
    });
    await Promise.race([all, ...answered]);
    await within(othersMs, all);
    return [...outcomes].sort(([a], [b]) => a - b).map(([, outcome]) => outcome);
  }
}

/** What came of a request at one child. */
type Outcome = { child: WorkspaceChild } & ({ answer: Message } | { failure: CaiError });

function isNotOffered(failure: CaiError): boolean {
  return failure.code === 'NOT_OFFERED';
}

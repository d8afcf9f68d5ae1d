/**
 * Requests that concern the agent and not a session go to every child: signing in and out, and the
 * choice of providers. Credentials are per agent, so a child that starts later is told as well.
 */
import type { Message } from '../rpc/scan';
import { cut } from '../rpc/splice';
import type { WorkspaceChild } from '../session/workspace-child';
import type { Children } from './children';
import type { Call, Core } from './core';
import type { CaiError } from '../errors';
import { cancelled, notOffered, offers } from './refusals';

/** Sends a request to all children and makes one answer of theirs. */
export class FanOut {
  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
  ) {}

  /** Serves a call: the first error wins, else the first child's result is the answer. */
  serve(call: Call): void {
    const { message, request, row } = call;
    if (request === undefined) return;
    const params = paramsOf(message);
    const replay = { method: message.method, params };
    const targets = this.children.usable().length > 0 ? this.children.usable() : [this.children.primary()];
    if (row.replay === 'keep') this.children.remember(replay);
    const forgotten = row.replay === 'clear' ? this.children.forgetAll() : [];
    void Promise.all(targets.map((child) => this.#ask(child, call, params))).then((outcomes) => {
      const failed = outcomes.find((outcome) => 'failure' in outcome && !isNotOffered(outcome.failure));
      const refused = outcomes.find((outcome) => 'answer' in outcome && outcome.answer.isError);
      const served = outcomes.find((outcome) => 'answer' in outcome && !outcome.answer.isError);
      const outcome = refused ?? failed ?? served ?? outcomes[0]!;
      if (outcome !== served) {
        this.children.forget(replay);
        this.children.restore(forgotten);
      }
      if ('failure' in outcome) this.core.fail(call, outcome.failure);
      else this.core.passOn(call, outcome.answer);
    });
  }

  #ask(child: WorkspaceChild, call: Call, params: string | undefined): Promise<Outcome> {
    const { method } = call.message;
    return new Promise((resolve) => {
      child.whenReady({
        bytes: call.message.line.length,
        run: () => {
          if (call.request!.isCancelled) {
            resolve({ failure: cancelled() });
            return;
          }
          if (call.row.capability !== undefined && !offers(child.capabilities, call.row.capability)) {
            resolve({ failure: notOffered(method) });
            return;
          }
          const childId = child.ask(method, params, {
            resultPlan: undefined,
            editorId: call.request!.id,
            onAnswer: (answer) => resolve({ answer }),
            onFailure: (failure) => resolve({ failure }),
          });
          call.request!.targets.push({ child, childId });
        },
        onFailure: (failure) => resolve({ failure }),
      });
    });
  }
}

/** What came of a request at one child. */
type Outcome = { answer: Message } | { failure: CaiError };

function isNotOffered(failure: CaiError): boolean {
  return failure.code === 'NOT_OFFERED';
}

/** Params of a message as JSON text, undefined when it has none. */
export function paramsOf(message: Message): string | undefined {
  return message.bodyStart < 0 ? undefined : cut(message.line, message.bodyStart, message.bodyEnd, []);
}

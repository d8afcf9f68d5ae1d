/** The end of a connection: every open request is answered, every due line is written, and no agent stays. */
import { CaiError, rpcCode } from '../errors';
import { errorLine, resultLine, rpcErrorOf } from '../rpc/answer';
import type { Child } from './child/child';
import { ownValue } from '../config/own-property';
import { answersForNobody } from './cursor/requests';
import type { Children } from './child/children';
import type { Core } from './relay/core';
import { within } from '../system/time-limit';

/** How long agents may still answer what is open once the editor is gone, in milliseconds. */
export const dueMs = 2_000;
/** How long after the end of the editor its agents are killed, in milliseconds. */
const endMs = 3_000;
/** How much of that time the agents get in any case to end by themselves, in milliseconds. */
const minStopMs = 1_000;
/** How long the end of all agents and of what they started is waited for, in milliseconds. */
const stopMs = 8_000;

/**
 * Ends everything: what agents have asked is answered in the editor's place, turns are cancelled, then the agents are
 * ended. Until `hurry` resolves, the agents may first answer what is still open. `goneAt` is when the editor's end
 * was noticed, by `performance.now()`. Resolves when nothing is left.
 */
export async function endAll(
  core: Core,
  children: Children,
  hurry: Promise<void>,
  goneAt: number,
): Promise<void> {
  core.isEditorGone = true;
  for (const { child, childId, editorId, method, onOver } of core.requests.ofAgents.all) {
    core.requests.ofAgents.take(editorId);
    onOver?.(false);
    answerForEditor(child, childId, method);
  }
  core.requests.failOwn();
  for (const session of core.sessions.all()) core.cancelTurn(session);
  await Promise.race([hurry, core.requests.whenNone()]);
  const leftMs = Math.max(endMs - (performance.now() - goneAt), minStopMs);
  const ladder = { termAfterMs: (leftMs * 2) / 3, killAfterMs: leftMs / 3 };
  // If the editor lives but does not read, lines of the agents wait, and with them the agents' ends.
  await within(stopMs, children.stopAll(ladder));
  const reason = proxyEnding();
  for (const request of core.requests.openOfEditor()) {
    if (core.requests.finish(request)) core.lane.queue(errorLine(request.id, rpcErrorOf(reason)));
  }
}

/** The failure of requests that are still open at the end, or that come after it. */
export function proxyEnding(): CaiError {
  return new CaiError('AGENT_EXITED', 'the proxy is ending');
}

/**
 * Answers a request of an agent in place of an editor that is gone. Source: ACP v1, tool calls: a client that cancels
 * answers open permission requests with `cancelled`.
 */
export function answerForEditor(child: Child, childId: string, method: string): void {
  const results: Readonly<Record<string, string>> = {
    'session/request_permission': '{"outcome":{"outcome":"cancelled"}}',
    'elicitation/create': '{"action":"cancel"}',
    ...answersForNobody,
  };
  const result = ownValue(results, method);
  const error = { code: rpcCode.internalError, message: 'the client is gone' };
  child.answer(result === undefined ? errorLine(childId, error) : resultLine(childId, result));
}

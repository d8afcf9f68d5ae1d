/** The end of a connection: nobody is left waiting, what is due is still written, no agent stays. */
import { hastyStop } from '../agent/process';
import { CaiError, rpcCode } from '../errors';
import { errorLine, resultLine, rpcErrorOf } from '../rpc/answer';
import type { WorkspaceChild } from '../child/workspace-child';
import { ownValue } from '../config/own-property';
import type { Children } from '../relay/children';
import type { Core } from '../relay/core';
import { within } from '../system/time-limit';

/** How long, once the editor is gone, a cancelled turn and any other request may take, in milliseconds. */
const turnMs = 2_000;
const dueMs = 10_000;
/** How long the agents may take to be gone: longer than the ladder and what it leaves, in milliseconds. */
const stopMs = 8_000;

/**
 * Ends everything: what agents ask is answered for the editor, turns are cancelled, then the agents are
 * ended. Until `hurry` resolves, the agents may first answer what is still open. Resolves when nothing is
 * left.
 */
export async function endAll(core: Core, children: Children, hurry: Promise<void>): Promise<void> {
  core.isEditorGone = true;
  for (const { child, childId, editorId, method, onOver } of core.requests.openOfAgents()) {
    core.requests.take(editorId);
    onOver?.(false);
    answerForEditor(child, childId, method);
  }
  for (const session of core.sessions.all()) core.cancelTurn(session);
  await Promise.race([hurry, whenNothingIsDue(core)]);
  // An editor that lives and does not read keeps what agents have said, and so their ends, waiting.
  await within(stopMs, children.stopAll(hastyStop));
  const reason = new CaiError('AGENT_EXITED', 'the proxy is ending');
  for (const request of core.requests.openOfEditor()) {
    if (core.requests.finish(request)) core.lane.queue(errorLine(request.id, rpcErrorOf(reason)));
  }
}

async function whenNothingIsDue(core: Core): Promise<void> {
  await within(turnMs, core.requests.whenNone(isPrompt));
  await within(
    dueMs,
    core.requests.whenNone((method) => !isPrompt(method)),
  );
}

function isPrompt(method: string): boolean {
  return method === 'session/prompt';
}

/**
 * Answers what an agent asks of an editor that is gone. Source: ACP v1, tool calls: a client that cancels
 * answers open permission requests with `cancelled`.
 */
export function answerForEditor(child: WorkspaceChild, childId: string, method: string): void {
  const results: Readonly<Record<string, string>> = {
    'session/request_permission': '{"outcome":{"outcome":"cancelled"}}',
    'elicitation/create': '{"action":"cancel"}',
  };
  const result = ownValue(results, method);
  const error = { code: rpcCode.internalError, message: 'the client is gone' };
  child.answer(result === undefined ? errorLine(childId, error) : resultLine(childId, result));
}

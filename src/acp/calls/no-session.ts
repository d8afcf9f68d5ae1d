/** Calls of the editor that name no session, and `$/cancel_request`, which names another request. */
import { errorLine, rpcErrorOf } from '../../rpc/answer';
import { fieldOf, jsonOf, textOf, type Message } from '../../rpc/message';
import { replacing, splice } from '../../rpc/splice';
import { cancelled, methodNotFound } from '../../rpc/protocol/refusals';
import type { Host } from '../../system/host';
import { pinFolder } from '../../system/paths/pinned-folder';
import { findCheckedWorkspace } from '../../workspace/trust';
import type { Child } from '../child/child';
import type { Children } from '../child/children';
import type { Core } from '../relay/core';
import type { Call } from '../sessions/editor-call';
import { sessionIdOf } from '../sessions/session-ids';

/** Sends a call to a child, which it concerns as a whole. */
export function sendTo(core: Core, child: Child, call: Call): void {
  core.toAgent(child, call, { map: child.map });
}

/**
 * Serves a call for a folder, or for no place at all: then a request goes to the only child or to the one that was used
 * last, and a notification to all.
 */
export async function serveUnnamed(core: Core, children: Children, host: Host, call: Call): Promise<void> {
  const { message, request } = call;
  const cwd = fieldOf(message, 'cwd');
  if (cwd?.isString === true) {
    const workspace = await findCheckedWorkspace(textOf(message, cwd), host);
    const map = children.mapFor(workspace);
    const roots = [await pinFolder(workspace.cwd, workspace.realCwd)];
    const child = children.forWorkspace(workspace);
    const onResult = (result: Message): void => {
      const given = sessionIdOf(result);
      if (given !== undefined && !core.sessions.of(child).byAgentId.has(given))
        core.ids.openNew(child, given, { roots, map, openParams: undefined });
    };
    core.toAgent(child, call, { map, onResult });
    return;
  }
  const usable = children.usable();
  if (request === undefined) {
    for (const each of usable) sendTo(core, each, call);
    return;
  }
  const [only, other] = usable;
  if (only !== undefined && other === undefined)
    core.toAgent(only, call, { map: only.map, onResult: (result) => openGiven(core, only, result) });
  else if (children.lastUsed !== undefined) sendTo(core, children.lastUsed, call);
  else core.answer(call, errorLine(request.id, methodNotFound(message.method)));
}

/** Opens the session that an answer names, in the folders of the agent's newest session, or else in its workspace. */
function openGiven(core: Core, child: Child, result: Message): void {
  const given = sessionIdOf(result);
  const { byAgentId } = core.sessions.of(child);
  if (given === undefined || byAgentId.has(given)) return;
  const newest = [...byAgentId.values()].at(-1);
  const { root, identity, map } = child;
  if (newest !== undefined) core.ids.editorIdOf(child, given, newest);
  else if (root !== undefined && identity !== undefined)
    core.ids.openNew(child, given, {
      roots: [{ spelled: root, real: root, identity }],
      map,
      openParams: undefined,
    });
}

/**
 * `$/cancel_request`: to the children that serve the request, under the ids that they know. One that
 * the proxy itself still holds is answered here. An id that is not open means nothing.
 */
export function cancelRequest(core: Core, message: Message): void {
  const id = fieldOf(message, 'requestId');
  const request = id === undefined ? undefined : core.requests.find(jsonOf(message, id));
  if (id === undefined || request === undefined) return;
  request.isCancelled = true;
  if (request.targets.length === 0 && core.requests.finish(request))
    core.lane.queue(errorLine(request.id, rpcErrorOf(cancelled())));
  for (const { child, childId } of request.targets)
    child.notify(splice(message.line, [replacing(id, childId)]), true);
}

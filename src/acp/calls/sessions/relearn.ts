/**
 * Finds the session of an id that is not remembered: the session file was lost, or is not kept. Our ids are derived from
 * the agents' ids, so that an agent's list of sessions tells which session the id stands for.
 */
import { ask } from '../../child/own-requests';
import { wantedIn } from '../../../rpc/json';
import { jsonOf } from '../../../rpc/message';
import type { Child } from '../../child/child';
import type { PathMap } from '../../../system/paths/path-map';
import type { Core } from '../../relay/core';
import { maxPages } from '../list-page';
import { editorMethods } from '../../../rpc/protocol/methods';
import { offers } from '../../../rpc/protocol/capabilities';
import { within } from '../../../system/time-limit';

/** How long the agent may take for its lists, in milliseconds. */
const listMs = 5_000;
/** A UUID of version 5: an id that `SessionRecords` derives. Source: RFC 9562, section 5.5. */
const derivedId = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Agents that did not list their sessions in time: nobody waits for them again. */
const silent = new WeakSet<Child>();

/** Whether an id is not remembered, and may be one of ours all the same. */
export function canRelearn({ sessions }: Core, editorId: string): boolean {
  return derivedId.test(editorId) && sessions.records.recall(editorId) === undefined;
}

/**
 * Has the agent list its sessions, until the one with that id is known or there are no more. Resolves whatever
 * comes of it. `map` is the one of the folder that the session is to be in.
 */
export async function relearn(core: Core, editorId: string, child: Child, map: PathMap): Promise<void> {
  await new Promise<void>((done) => child.whenReady({ bytes: 0, run: done, onFailure: () => done() }));
  const isOffered = offers(child.hello?.capabilities, 'sessionCapabilities.list');
  if (child.state !== 'ready' || !isOffered || silent.has(child)) return;
  const resultPlan = wantedIn(editorMethods['session/list']!.result);
  const endsAt = performance.now() + listMs;
  let params = '{}';
  for (let page = 0; page < maxPages; page++) {
    const asked = ask(child, 'session/list', params, { resultPlan }).catch(() => undefined);
    const answer = await within(endsAt - performance.now(), asked);
    if (answer === undefined) silent.add(child);
    if (answer === undefined || answer.isError) return;
    // Each session of the list is given its id by this.
    core.agentLines.editsOf(child, answer, { map });
    const cursor = answer.fields.find(({ kind, isString }) => kind === 'cursor' && isString);
    if (cursor === undefined || !canRelearn(core, editorId)) return;
    params = `{"cursor":${jsonOf(answer, cursor)}}`;
  }
}

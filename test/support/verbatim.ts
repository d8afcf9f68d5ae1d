/**
 * Messages that must come out as the very bytes that went in. In their text `SESSION` stands for the
 * session's id, which is another one on each side.
 */
import type { Inbox } from './inbox';
import type { OpenSession } from './turn';
import type { World } from './world';

/** Sends the agent's line, given without its line end; resolves with what the editor gets of it. */
export async function toEditor(
  world: World,
  { id, agentId, agent }: OpenSession,
  text: string,
): Promise<string> {
  agent.send(`${text.replaceAll('SESSION', agentId)}\n`);
  return (await nextLine(world.editor)).replaceAll(id, 'SESSION');
}

/** Sends the editor's line, given without its line end; resolves with what the agent gets of it. */
export async function toAgent(
  world: World,
  { id, agentId, agent }: OpenSession,
  text: string,
): Promise<string> {
  world.send(`${text.replaceAll('SESSION', id)}\n`);
  return (await nextLine(agent.inbox)).replaceAll(agentId, 'SESSION');
}

/** The next line of a side that has no unread ones. */
export async function nextLine(inbox: Inbox): Promise<string> {
  await inbox.next(() => true);
  return inbox.lines.at(-1)!.toString('utf8');
}

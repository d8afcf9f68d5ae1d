import { Place } from './place';
import type { Cai } from './support';

/**
 * Makes the sessions of Gemini CLI in a workspace old: their files are named by the minute, and what opens a session again
 * in the same one begins it anew. The agent must not run.
 */
export async function ageSessions(cai: Cai, workspace: string): Promise<void> {
  const script = String.raw`cd ~/.gemini/tmp
for file in */chats/session-*; do
  mv "$file" "$(printf %s "$file" | sed 's/session-.\{16\}-/session-2020-01-01T00-00-/')"
done`;
  await new Place(cai, workspace, ['--agent', 'gemini']).prints(['sh', '-ec', script]);
}

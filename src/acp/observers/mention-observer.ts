/** Tells the user of mentioned files that the agent cannot find in its container. */
import { realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bodyOf, type Message } from '../../rpc/message';
import { isInside } from '../../system/paths/is-inside';
import { unlessFails } from '../../system/unless';
import type { Core } from '../relay/core';
import { named, tellInThread } from '../relay/thread';
import type { SessionObserver } from '../sessions/observer';
import type { AgentSession } from '../sessions/session';

/** In a longer prompt nobody looks for mentions, in bytes. */
const maxBytes = 2 ** 20;

/** Follows the sessions of one proxy whose editor is on this machine, and whose agents run in containers. */
export class MentionObserver implements SessionObserver {
  /** `mountsOf`: what containers have besides the workspace of that root; `look` finds a file of this machine. */
  constructor(
    private readonly core: Pick<Core, 'isEditorGone' | 'editorCapabilities'>,
    private readonly mountsOf: (root: string) => readonly string[],
    private readonly look: (path: string) => Promise<string> = realpath,
  ) {}

  /** The file may lie on a disk that does not answer: the prompt goes on meanwhile. */
  onCall(session: AgentSession, call: Message): void {
    if (call.method !== 'session/prompt' || call.line.length > maxBytes) return;
    if (!call.fields.some(({ kind }) => kind === 'uri')) return;
    void this.#tell(session, unlessFails(() => mentionsIn(bodyOf(call))) ?? []);
  }

  async #tell(session: AgentSession, paths: readonly string[]): Promise<void> {
    const { child, map } = session;
    if (child.root === undefined || paths.length === 0) return;
    const inside = [child.root, ...this.mountsOf(child.root)];
    const find = (path: string) => this.look(path).catch(() => undefined);
    const looks = paths.map(async (path) => {
      const real = await find(path);
      // In a worktree it is another file, which may not be there.
      const given = map.toEditor(map.toAgent(path));
      const found = given === path ? real : await find(given);
      const isGiven =
        found !== undefined && inside.some((folder) => [given, found].some((each) => isInside(each, folder)));
      // What is not there on this machine may be a file of the container.
      return real !== undefined && !isGiven ? [path] : [];
    });
    const outside = (await Promise.all(looks)).flat();
    if (outside.length === 0) return;
    tellInThread(this.core, session, {
      title: 'The agent cannot find a file that you mentioned.',
      description: `Its container has the folder ${named([child.root])} and your \`[[mounts]]\`, and not ${named(outside)}. Copy it into that folder, or mount its own.`,
    });
  }
}

/** Paths of files that the editor names without giving their content. Throws for what is no such URI. */
function mentionsIn(params: unknown): string[] {
  const { prompt } = params as {
    readonly prompt: readonly { readonly type?: unknown; readonly uri?: unknown }[];
  };
  const uris = prompt.flatMap(({ type, uri }) => (type === 'resource_link' ? [String(uri)] : []));
  return [...new Set(uris.filter((uri) => uri.startsWith('file:')).map((uri) => fileURLToPath(uri)))];
}

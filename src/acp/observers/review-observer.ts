/** Tells the user at the end of each turn which files are new or changed that a program on this machine would run. */
import { posix } from 'node:path';
import type { Host } from '../../system/host';
import { messageOf } from '../../errors';
import { hostSocketsIn } from '../../workspace/host-sockets';
import { Watch, type News } from '../../workspace/review/watch';
import type { AgentSession } from '../sessions/session';
import type { Core } from '../relay/core';
import type { SessionObserver } from '../sessions/observer';
import { hearsNotes, named, tellInThread } from '../relay/thread';
import { isInside } from '../../system/paths/is-inside';

/** All sessions wait during a look: before the next one passes so many times what it took, at most these milliseconds. */
const [restFactor, mostRestMs] = [9, 20];

/** Looks that came too soon are made later, one for each session. */
class Looks {
  readonly #late = new Map<AgentSession, () => void>();
  #restsUntil = 0;
  #isTimed = false;

  /** `look` calls `taking` with what takes the time. */
  make(session: AgentSession, look: () => void): void {
    const restMs = this.#restsUntil - performance.now();
    if (restMs > 0) {
      this.#late.set(session, look);
      if (!this.#isTimed) setTimeout(() => this.#makeLate(), restMs).unref();
      this.#isTimed = true;
      return;
    }
    this.#late.delete(session);
    look();
  }

  taking(look: () => void): void {
    const beganAt = performance.now();
    look();
    const endedAt = performance.now();
    this.#restsUntil = endedAt + Math.min(mostRestMs, restFactor * (endedAt - beganAt));
  }

  /** Makes the late look of a session, if it has one, at once. */
  hurry(session: AgentSession): void {
    const look = this.#late.get(session);
    this.#late.delete(session);
    look?.();
  }

  #makeLate(): void {
    this.#isTimed = false;
    for (const [session, look] of [...this.#late]) this.make(session, look);
  }
}

/** Follows the sessions of one proxy whose agents run in containers. */
export class ReviewObserver implements SessionObserver {
  readonly #watches = new Map<string, Watch>();
  readonly #looks = new Looks();

  /** `host` has the folder of our records. */
  constructor(
    private readonly core: Pick<Core, 'isEditorGone' | 'editorCapabilities' | 'log'>,
    private readonly host: Host,
  ) {}

  /** Begins to watch the workspace: files that are there now are not told, but sockets of programs are. */
  onOpen(session: AgentSession): void {
    // The editor waits for the answer that has opened it.
    setImmediate(() =>
      this.#safely(() => {
        if (this.#follow(session) !== undefined) this.#tellSockets(session, session.child.root!);
      }),
    );
  }

  /** The user is told before the editor gets the answer, but for a turn that ends within `mostRestMs` of another. */
  onPromptOver(session: AgentSession): void {
    this.#looks.make(session, () => this.#safely(() => this.#look(session)));
  }

  onLeaving(session: AgentSession): void {
    this.#looks.hurry(session);
  }

  #tellSockets(session: AgentSession, root: string): void {
    const sockets = hostSocketsIn([root]).map((path) => posix.relative(root, path));
    if (sockets.length === 0) return;
    tellInThread(this.core, session, {
      title: 'The agent can connect to programs of your machine.',
      description: `They listen in the workspace: ${named(sockets)}. End them, or have their sockets elsewhere.`,
    });
  }

  #look(session: AgentSession): void {
    const watch = this.#follow(session);
    if (watch === undefined) return;
    const tell = ({ changed, crowds }: News): void => {
      if (changed.length > 0)
        tellInThread(this.core, session, {
          title: 'There are new or changed files that programs on your machine may run.',
          description: `Made or changed: ${named(changed)}. If that was not you, look at them before you go on: \`cai review\` shows them, and \`cai review --restore\` puts them aside.`,
        });
      if (crowds.length > 0)
        tellInThread(this.core, session, {
          title: 'Not everything could be looked at that programs on your machine may run.',
          description: `Too much, or not readable: ${named(crowds)}. What changes there is not noticed, so this is said after each turn.`,
        });
    };
    const failed = (reason: unknown): void => this.#failed(reason);
    watch.look(foldersOf(session), tell, failed, (look) => {
      if (hearsNotes(this.core, session)) this.#looks.taking(look);
    });
  }

  #follow(session: AgentSession): Watch | undefined {
    const { root } = session.child;
    if (root === undefined) return undefined;
    let watch = this.#watches.get(root);
    if (watch === undefined) {
      watch = new Watch(this.host.folders.state, root);
      this.#watches.set(root, watch);
    }
    for (const folder of foldersOf(session)) watch.open(folder);
    return watch;
  }

  /** Runs `action`; an error is logged, because observers must not throw. */
  #safely(action: () => void): void {
    try {
      action();
    } catch (reason) {
      this.#failed(reason);
    }
  }

  #failed(reason: unknown): void {
    this.core.log.warn({ reason: messageOf(reason) }, 'the workspace could not be looked at');
  }
}

/** The root of a session's workspace, and its own folders in it, as they were when it was opened. */
function foldersOf({ child, roots }: AgentSession): string[] {
  const root = child.root!;
  const inside = roots.map(({ real }) => real).filter((real) => isInside(real, root));
  return [...new Set([root, ...inside])];
}

/** Sessions begin here: `session/new`, `session/load`, `session/resume`, `session/fork`. */
import { CaiError } from '../errors';
import { fieldOf, textOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import type { Session, WorkspaceChild } from '../session/workspace-child';
import { isFilePath } from '../workspace/real-path';
import type { Workspace } from '../workspace/root';
import { findCheckedWorkspace } from '../workspace/trust';
import type { Children } from './children';
import type { Call } from './call';
import type { Core } from './core';

/** Calls that may wait for one session to be opened. */
const maxWaiting = 1_000;

/** Where a session belongs: its folders as the editor spells them, and the mapping of its paths. */
type Place = Pick<Session, 'roots' | 'map'>;

/** Opens sessions. */
export class SessionOpener {
  /** Calls for a session that is being opened, in their order; they follow once it is at its child. */
  readonly #waiting = new Map<string, Call[]>();
  /** The look-up that is going on for each folder: calls that share it go on in the order of their arrival. */
  readonly #lookUps = new Map<string, Promise<Workspace>>();

  /** `ownProcess`: every session gets a child of its own. `serve` takes up a call that had to wait. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly env: NodeJS.ProcessEnv,
    private readonly ownProcess: boolean,
    private readonly serve: (call: Call) => void,
  ) {}

  /** `session/new`: in the child of the workspace that `cwd` lies in. */
  async openNew(call: Call): Promise<void> {
    const found = await this.#find(call);
    if (found === undefined) return;
    const { workspace, place } = found;
    const child = this.children.forWorkspace(workspace, this.ownProcess);
    this.#sendOpening(child, call, place, undefined);
  }

  /**
   * `session/load` and `session/resume`: as `session/new`, for an id that this or an earlier process gave.
   * An id that we never gave is the agent's own. What the editor sends for the session meanwhile waits.
   */
  async openKnown(call: Call): Promise<void> {
    const editorId = sessionIdOf(call.message);
    if (editorId === undefined) {
      throw new CaiError('INVALID_PARAMS', `${call.message.method}: sessionId must be a string`);
    }
    const waiting: Call[] = [];
    this.#waiting.set(editorId, waiting);
    try {
      const found = await this.#find(call);
      if (found !== undefined) this.#reopen(call, editorId, found.workspace, found.place);
    } finally {
      if (this.#waiting.get(editorId) === waiting) this.#waiting.delete(editorId);
      for (const held of waiting) this.serve(held);
    }
  }

  /** Keeps a call until the session that it names is at its child; false when it is not being opened. */
  hold(editorId: string, call: Call): boolean {
    const waiting = this.#waiting.get(editorId);
    if (waiting !== undefined && waiting.length >= maxWaiting) {
      throw new CaiError('AGENT_STALLED', `too much waits for session ${editorId} to be opened`);
    }
    waiting?.push(call);
    return waiting !== undefined;
  }

  /** `session/fork`: in the child of the session that is forked. */
  async fork(call: Call, session: Session): Promise<void> {
    const hasCwd = fieldOf(call.message, 'cwd') !== undefined;
    const found = hasCwd ? await this.#find(call) : undefined;
    if (hasCwd && found === undefined) return;
    const { child } = session;
    if (found !== undefined && found.workspace.root !== child.root) {
      this.core.fail(
        call,
        new CaiError(
          'WORKSPACE',
          `session/fork: cwd must lie in the workspace of the session, ${child.root ?? ''}`,
        ),
      );
      return;
    }
    this.#sendOpening(child, call, found?.place ?? session, session);
  }

  #reopen(call: Call, editorId: string, workspace: Workspace, place: Place): void {
    const agentId = this.core.sessions.recall(editorId)?.agentId ?? editorId;
    const open = this.core.sessions.find(editorId);
    const child = open?.child.root === workspace.root ? open.child : this.#childFor(workspace);
    const session: Session = { editorId, agentId, child, ...place };
    this.core.sessions.open(session);
    this.core.sessions.touch(editorId);
    this.core.toAgent(child, call, {
      map: place.map,
      session,
      onResult: (result) => this.#tellOpen(session, call, result),
      onNoResult: () => {
        if (this.core.sessions.find(editorId) === session) {
          this.core.sessions.close(session);
          // A session that was open before is still open at its agent.
          if (open?.child.isUsable === true) this.core.sessions.open(open);
        }
        this.children.rest(child);
      },
    });
  }

  #childFor(workspace: Workspace): WorkspaceChild {
    return this.children.forWorkspace(workspace, this.ownProcess);
  }

  /** Sends a request whose result names a new session; updates of that session may come before it. */
  #sendOpening(child: WorkspaceChild, call: Call, place: Place, session: Session | undefined): void {
    child.openings.push(place);
    const over = (): void => {
      child.openings.splice(child.openings.indexOf(place), 1);
      if (child.openings.length === 0) this.#closeEarly(child);
      this.children.rest(child);
    };
    this.core.toAgent(child, call, {
      map: place.map,
      session,
      onNoResult: over,
      onResult: (result) => {
        const opened = this.#bind(child, result, place);
        if (opened !== undefined) this.#tellOpen(opened, call, result);
        over();
      },
    });
  }

  /** Sessions that the agent spoke of and then did not open. */
  #closeEarly(child: WorkspaceChild): void {
    for (const early of child.early) this.core.sessions.close(early);
    child.early.clear();
  }

  #tellOpen(session: Session, call: Call, result: Message): void {
    for (const observer of this.core.observers) observer.onOpen?.(session, call.message, result);
  }

  #bind(child: WorkspaceChild, result: Message, place: Place): Session | undefined {
    const agentId = sessionIdOf(result);
    if (agentId === undefined) return undefined;
    const early = child.sessions.get(agentId);
    if (early === undefined || !child.early.delete(early)) return this.core.openNew(child, agentId, place);
    const session = { ...early, ...place };
    this.core.sessions.open(session);
    return session;
  }

  #lookUp(cwd: string): Promise<Workspace> {
    const known = this.#lookUps.get(cwd);
    const found = known ?? findCheckedWorkspace(cwd, this.env).finally(() => this.#lookUps.delete(cwd));
    this.#lookUps.set(cwd, found);
    return found;
  }

  /** Where the call wants its session; undefined when that failed, and the call with it. */
  async #find(call: Call): Promise<{ workspace: Workspace; place: Place } | undefined> {
    try {
      const cwd = fieldOf(call.message, 'cwd');
      if (cwd?.isString !== true) {
        throw new CaiError('INVALID_PARAMS', `${call.message.method}: cwd must be an absolute path`);
      }
      const workspace = await this.#lookUp(textOf(call.message, cwd));
      const map = this.children.mapFor(workspace);
      const roots = [workspace.cwd, ...furtherRoots(call.message)];
      for (const root of roots.slice(1)) requireServable(root, this.children.serves(root, workspace));
      return { workspace, place: { roots, map } };
    } catch (error) {
      this.core.fail(call, error);
      return undefined;
    }
  }
}

/** The session id that a message's params or result name first. */
export function sessionIdOf(message: Message): string | undefined {
  const field = fieldOf(message, 'session');
  return field?.isString === true ? textOf(message, field) : undefined;
}

function furtherRoots(message: Message): string[] {
  const fields = message.fields.filter((field) => field.kind === 'root');
  return fields.map((field) => (field.isString ? textOf(message, field) : ''));
}

/** Source: ACP v1, session setup: additional directories are absolute, and served or refused. */
function requireServable(root: string, isServed: boolean): void {
  if (!isFilePath(root)) {
    throw new CaiError('INVALID_PARAMS', `additionalDirectories: "${root}" is not an absolute path`);
  }
  if (isServed) return;
  throw new CaiError(
    'WORKSPACE',
    `additionalDirectories: "${root}" lies outside the workspace and is not mounted for the agent: add a table [[mounts]] with path = "${root}" to your configuration`,
  );
}

/** Sessions begin here: `session/new`, `session/load`, `session/resume`, `session/fork`. */
import type { Host } from '../system/host';
import { CaiError } from '../errors';
import { fieldOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import type { SessionRecord } from '../sessions/session-record';
import type { Session, WorkspaceChild } from '../child/workspace-child';
import type { Workspace } from '../workspace/root';
import type { Children } from '../relay/children';
import type { Call } from '../relay/call';
import type { Core } from '../relay/core';
import { HeldCalls, type WaitingRoom } from './waiting-calls';
import type { McpServers } from '../mcp/mcp-servers';
import { cancelled, forkElsewhere, noSession, unknownSession } from '../protocol/refusals';
import { canRelearn, relearn } from './unremembered-session';
import { sessionIdOf } from '../sessions/session-ids';
import { SessionPlaces } from './session-places';
import type { Found, Place } from './session-places';
import { tellState } from './restore-setting';

/** What has become of a session that was lost. */
export interface Restored {
  /** As it is open now, or was until it failed. */
  readonly session: Session;
  /** Why it is not open: the agent's error, or why there is no answer. */
  readonly failure?: CaiError | Message | undefined;
}

/** What sessions are opened with. */
export interface SessionOpenerOptions {
  /** Where our own folders are found. */
  readonly host: Host;
  /** Every session gets a child of its own. */
  readonly ownProcess: boolean;
  /** Sees to the MCP servers that the editor names. */
  readonly mcp: McpServers;
  /** Where calls wait. */
  readonly room: WaitingRoom;
  /** Takes up a call that had to wait. */
  serve(call: Call): void;
}

type Send = (prepared: Call) => void;

/** Opens sessions. */
export class SessionOpener {
  /** Calls for a session that is being opened, in their order; they follow once it is at its child. */
  readonly #waiting = new Map<string, HeldCalls>();
  readonly #places: SessionPlaces;
  /** What was open under the id of a session before it, and the sessions that could not be opened. */
  readonly #replaced = new WeakMap<Session, Session | undefined>();
  readonly #failed = new WeakSet<Session>();

  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly options: SessionOpenerOptions,
  ) {
    this.#places = new SessionPlaces(children, options.host);
  }

  /** `session/new`: in the child of the workspace that `cwd` lies in. */
  async openNew(call: Call): Promise<void> {
    const found = await this.#find(call);
    if (found === undefined) return;
    const { workspace, place } = found;
    await this.#sendPrepared(call, workspace.root, place, (sent) =>
      this.#sendOpening(this.#childFor(workspace), sent, place, undefined),
    );
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
    const waiting = new HeldCalls(this.options.room);
    this.#waiting.set(editorId, waiting);
    try {
      const found = await this.#find(call);
      if (found === undefined) return;
      const { workspace, place } = found;
      // No `await` if there is nothing to learn, so that calls keep their order.
      if (canRelearn(this.core, editorId)) {
        await relearn(this.core, editorId, this.children.forWorkspace(workspace), place.map);
      }
      await this.#sendPrepared(call, workspace.root, place, (sent) =>
        this.#reopen(sent, editorId, workspace, place),
      );
    } finally {
      if (this.#waiting.get(editorId) === waiting) this.#waiting.delete(editorId);
      for (const held of waiting.takeAll()) this.options.serve(held);
    }
  }

  /** Keeps a call until the session that it names is at its child; false when there is nothing to wait for. */
  hold(editorId: string, call: Call): boolean {
    const waiting = this.#waiting.get(editorId);
    if (waiting === undefined || waiting.add(call)) return waiting !== undefined;
    if (call.message.method !== 'session/cancel')
      throw new CaiError('AGENT_STALLED', `too much waits for session ${editorId} to be opened`);
    // It may also be meant for the turn of a session that is open under this id meanwhile.
    waiting.cancelPrompts(this.core);
    return false;
  }

  /** `session/fork` of a session that is not open but remembered, in the child of its workspace. */
  async forkRemembered(call: Call, { root, cwd }: SessionRecord): Promise<void> {
    const hasCwd = fieldOf(call.message, 'cwd') !== undefined;
    const found = await this.#find(call, hasCwd ? undefined : cwd);
    if (found === undefined) return;
    if (found.workspace.root !== root) throw forkElsewhere(root);
    const { workspace, place } = found;
    await this.#sendPrepared(call, root, place, (sent) =>
      this.#sendOpening(this.#childFor(workspace), sent, place, undefined),
    );
  }

  /** `session/fork`: in the child of the session that is forked. */
  async fork(call: Call, session: Session): Promise<void> {
    const hasCwd = fieldOf(call.message, 'cwd') !== undefined;
    const found = hasCwd ? await this.#find(call) : undefined;
    if (hasCwd && found === undefined) return;
    const { child } = session;
    if (found !== undefined && found.workspace.root !== child.root) throw forkElsewhere(child.root);
    const { roots, map, openParams } = session;
    const place = found?.place ?? { roots, map, openParams };
    await this.#sendPrepared(call, child.root, place, (sent) =>
      this.#sendOpening(child, sent, place, session),
    );
  }

  /**
   * A call that opens a session of the workspace of `root`, as its agent gets it once what its MCP servers need
   * is there. A promise only where that is to be waited for. Whoever sends it tells the observers of `onOpen`
   * with the call's original message, or calls `drop`.
   */
  prepare(call: Call, root: string | undefined, place: Place): Call | Promise<Call> {
    const original = call.message;
    const prepared = this.options.mcp.prepare(original, this.core.planOf(call.row.params), root, place);
    const sent = (message: Message): Call => ({ ...call, message, original });
    return prepared instanceof Promise ? prepared.then(sent) : sent(prepared);
  }

  /** The call has opened no session. */
  drop({ message, original = message }: Call): void {
    this.options.mcp.drop(original);
  }

  /**
   * Opens a lost session again, by a call of ours, or makes it anew. Rejects where it cannot even be sent. `onSession`
   * is told of the session before that. Once the call is cancelled, what comes of it is nobody's. A session that was
   * loaded is still `isRestoring`, as its agent may go on telling the past.
   */
  async restore(call: Call, lost: Session, onSession: (session: Session) => void): Promise<Restored> {
    const { workspace, place } = await this.#places.findAgain(call.message, lost);
    const child = this.#childFor(workspace);
    const isNew = call.message.method === 'session/new';
    // An agent that counts anew after its end has given the id to another session: no agent knows this one.
    const known = isNew ? undefined : child.sessions.get(lost.agentId);
    if (known !== undefined && known.editorId !== lost.editorId) throw unknownSession(lost.editorId);
    const sent = await this.prepare(call, workspace.root, place);
    const session: Session = { ...lost, ...place, child, openParams: lost.openParams, isRestoring: true };
    const isWanted = (): boolean => this.core.requests.isWanted(call.request!);
    if (!isWanted()) {
      this.drop(sent);
      return { session: lost, failure: cancelled() };
    }
    onSession(session);
    if (!isNew) this.core.sessions.open(session);
    return await new Promise((resolve) => {
      this.core.toAgent(child, sent, {
        map: place.map,
        session: isNew ? undefined : session,
        onResult: (result) => {
          session.isRestoring = call.message.method === 'session/load';
          const agentId = isNew ? sessionIdOf(result) : session.agentId;
          if (agentId === undefined) resolve({ session, failure: noSession() });
          else if (isNew && isWanted()) this.core.sessions.openAs(session, agentId);
          // First, so that what waits does so no longer whatever comes of the rest.
          resolve({ session });
          if (isWanted() && agentId !== undefined) {
            this.#tellOpen(session, sent, result);
            tellState(session, result, this.core.log);
          } else {
            this.drop(sent);
          }
        },
        onNoResult: (failure) => {
          this.drop(sent);
          if (isWanted()) this.core.sessions.lose(session);
          // What an agent offers that has not got that far is not known; what the one before it did, is.
          if (isWanted() && child.initializeResult === '') this.core.sessions.lose(lost);
          this.children.stopWhenIdle(child);
          resolve({ session, failure });
        },
      });
    });
  }

  /** Sends a prepared call: in this turn, unless its MCP servers have to be waited for. */
  async #sendPrepared(call: Call, root: string | undefined, place: Place, send: Send): Promise<void> {
    const prepared = this.prepare(call, root, place);
    send(prepared instanceof Promise ? await prepared : prepared);
  }

  #reopen(call: Call, editorId: string, workspace: Workspace, place: Place): void {
    const agentId = this.core.sessions.recall(editorId)?.agentId ?? editorId;
    const open = this.core.sessions.find(editorId);
    const before = open ?? this.core.sessions.lost(editorId);
    const child = open?.child.root === workspace.root ? open.child : this.#childFor(workspace);
    const session: Session = { editorId, agentId, child, ...place };
    this.core.sessions.open(session);
    this.#replaced.set(session, before);
    this.core.toAgent(child, call, {
      map: place.map,
      session,
      onResult: (result) => this.#tellOpen(session, call, result, this.#openBefore(session)),
      onNoResult: () => {
        this.#failed.add(session);
        this.drop(call);
        if (this.core.sessions.find(editorId) === session) {
          this.core.sessions.close(session);
          const before = this.#openBefore(session);
          if (before?.child.isUsable === true) this.core.sessions.open(before);
          else if (before !== undefined) this.core.sessions.lose(before);
        }
        this.children.stopWhenIdle(child);
      },
    });
  }

  /** The session that was open under that id before, and still is at its agent. */
  #openBefore(session: Session): Session | undefined {
    const before = this.#replaced.get(session);
    return before !== undefined && this.#failed.has(before) ? this.#openBefore(before) : before;
  }

  #childFor(workspace: Workspace): WorkspaceChild {
    return this.children.forWorkspace(workspace, this.options.ownProcess);
  }

  /** Sends a request whose result names a new session; updates of that session may come before it. */
  #sendOpening(child: WorkspaceChild, call: Call, place: Place, session: Session | undefined): void {
    child.openings.push(place);
    const over = (): void => {
      child.openings.splice(child.openings.indexOf(place), 1);
      this.drop(call);
      if (child.openings.length === 0) this.#closeEarly(child);
      this.children.stopWhenIdle(child);
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

  #tellOpen(session: Session, call: Call, result: Message, before?: Session): void {
    for (const observer of this.core.observers)
      observer.onOpen?.(session, call.original ?? call.message, result, before);
  }

  #bind(child: WorkspaceChild, result: Message, place: Place): Session | undefined {
    const agentId = sessionIdOf(result);
    if (agentId === undefined) return undefined;
    const early = child.sessions.get(agentId);
    if (early === undefined || !child.early.delete(early))
      return this.core.ids.openNew(child, agentId, place);
    const session = { ...early, ...place };
    this.core.sessions.open(session);
    return session;
  }

  /** Where the call wants its session; undefined when that failed, and the call with it. */
  async #find(call: Call, folder?: string): Promise<Found | undefined> {
    try {
      return await this.#places.find(call.message, folder);
    } catch (error) {
      this.core.fail(call, error);
      return undefined;
    }
  }
}

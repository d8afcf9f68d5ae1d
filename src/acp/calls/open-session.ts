/**
 * Sessions are opened here: `session/new`, `session/load`, `session/resume`, `session/fork`, and, by calls of our own,
 * those whose agent has ended. Calls reach their agent in the editor's order: those of one session, because it is held
 * until the call is sent, and those of one workspace, because `SessionPlaces` finds their places in that order.
 */
import { planOf } from '../../rpc/json';
import type { CaiError } from '../../errors';
import type { Log } from '../../system/log';
import { tellSessionState } from '../../rpc/session-state';
import type { Host } from '../../system/host';
import { fieldOf, type Message } from '../../rpc/message';
import type { WorkspaceChild } from '../child/workspace-child';
import type { Workspace } from '../../workspace/root';
import type { Children } from '../relay/children';
import type { Core } from '../relay/core';
import type { McpServers } from '../mcp/mcp-servers';
import { cancelled, forkElsewhere, noSession, unknownSession } from '../../rpc/protocol/refusals';
import type { Call } from '../sessions/call';
import type { AgentSession, Place, Session } from '../sessions/session';
import { sessionIdOf } from '../sessions/session-ids';
import type { SessionRecord } from '../sessions/session-file';
import { canRelearn, relearn } from './unremembered-session';
import { SessionPlaces } from './session-places';

/** What has become of a session that was lost. */
export interface Restored {
  /** As it is open now, or was to be. */
  readonly session: AgentSession;
  /** Why it is not open: the agent's error, or why there is no answer. */
  readonly failure?: CaiError | Message | undefined;
}

/** What sessions are opened with. */
export interface SessionOpenerOptions {
  /** Where our own folders are found. */
  readonly host: Host;
  /** Every session gets its own child. */
  readonly ownProcess: boolean;
  /** Sees to the MCP servers that the editor names. */
  readonly mcp: McpServers;
}

/** Opens sessions. */
export class SessionOpener {
  readonly #places: SessionPlaces;

  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly options: SessionOpenerOptions,
  ) {
    this.#places = new SessionPlaces(children, options.host, core.newBudget());
  }

  /**
   * `session/new`, and `session/fork` of a session that is remembered: in the child of the workspace that `cwd` lies in,
   * which of a fork is that of the session. Settles once it is sent, or has failed.
   */
  async openNew(call: Call, forked?: SessionRecord): Promise<void> {
    const folder = fieldOf(call.message, 'cwd') === undefined ? forked?.cwd : undefined;
    await this.#places.use(call, folder, async ({ workspace, place }) => {
      const { root } = workspace;
      if (forked !== undefined && root !== forked.root) throw forkElsewhere(forked.root);
      const sent = await this.#prepare(call, root, place);
      this.#sendOpening(this.#childFor(workspace), sent, place, undefined);
    });
  }

  /**
   * `session/load` and `session/resume`: as `session/new`, for an id that this or an earlier process gave.
   * An id that we never gave is the agent's own.
   */
  async openKnown(call: Call, { editorId }: Session): Promise<void> {
    await this.#places.use(call, undefined, async ({ workspace, place }) => {
      if (canRelearn(this.core, editorId))
        await relearn(this.core, editorId, this.children.forWorkspace(workspace), place.map);
      // An agent may have sessions of other folders, too, and knows them by other ids.
      const isLimited = this.options.host.workspaces !== undefined;
      if (isLimited && this.core.sessions.records.recall(editorId) === undefined)
        throw unknownSession(editorId);
      this.#reopen(await this.#prepare(call, workspace.root, place), editorId, workspace, place);
    });
  }

  /** `session/fork`: in the child of the session that is forked. */
  async fork(call: Call, session: AgentSession): Promise<void> {
    const { child } = session;
    const send = async (place: Place): Promise<void> => {
      const sent = await this.#prepare(call, child.root, place);
      this.#sendOpening(child, sent, place, session);
    };
    if (fieldOf(call.message, 'cwd') === undefined) {
      await send(session);
      return;
    }
    await this.#places.use(call, undefined, async ({ workspace, place }) => {
      if (workspace.root !== child.root) throw forkElsewhere(child.root);
      await send(place);
    });
  }

  /**
   * A call that opens a session of the workspace of `root`, as its agent gets it once what its MCP servers need is
   * there. Whoever sends it calls `#tellOpen` or `#drop`.
   */
  async #prepare(call: Call, root: string | undefined, place: Place): Promise<Call> {
    const original = call.message;
    const message = await this.options.mcp.prepare(original, planOf(call.row.params), root, place);
    return { ...call, message, original };
  }

  /** The call has opened no session. */
  #drop({ message, original = message }: Call): void {
    this.options.mcp.drop(original);
  }

  /**
   * Opens a lost session again, by a call of ours, or makes it again. Rejects where it cannot even be sent. `onSession`
   * is told of the session before that. Once the call is cancelled, its result is dropped. A session that was
   * loaded is still `restoring`, as its agent may go on telling the past.
   */
  async restore(
    call: Call,
    lost: AgentSession,
    onSession: (session: AgentSession) => void,
  ): Promise<Restored> {
    const { workspace, place } = await this.#places.findAgain(call.message, lost);
    const child = this.#childFor(workspace);
    const isNew = call.message.method === 'session/new';
    const { sessions } = this.core;
    const { agentId, editorId, openParams } = lost;
    // An agent that counts again after its end has given the id to another session: no agent knows this one.
    const known = isNew ? undefined : sessions.of(child).byAgentId.get(agentId);
    if (known !== undefined && known.editorId !== editorId) throw unknownSession(editorId);
    const sent = await this.#prepare(call, workspace.root, place);
    if (!this.core.requests.isWanted(call.request!)) {
      this.#drop(sent);
      return { session: lost, failure: cancelled() };
    }
    return await this.#sendRestore(sent, { ...place, child, openParams }, lost, onSession);
  }

  #sendRestore(
    sent: Call,
    at: Place & { readonly child: WorkspaceChild },
    lost: AgentSession,
    onSession: (session: AgentSession) => void,
  ): Promise<Restored> {
    const { sessions } = this.core;
    const { agentId, editorId } = lost;
    const { child, map } = at;
    const { method } = sent.message;
    const isNew = method === 'session/new';
    const isWanted = (): boolean => this.core.requests.isWanted(sent.request!);
    // One that is made again has its id only when that is answered.
    let session: AgentSession = isNew
      ? { ...lost, ...at }
      : sessions.open(editorId, { ...at, agentId }, 'restoring');
    onSession(session);
    return new Promise((resolve) => {
      this.core.toAgent(child, sent, {
        map,
        session: isNew ? undefined : session,
        onResult: (result) => {
          const given = isNew ? sessionIdOf(result) : agentId;
          if (given !== undefined && isNew && isWanted()) {
            session = sessions.open(editorId, { ...at, agentId: given });
            sessions.records.update(editorId, { agentId: given });
            onSession(session);
          }
          // An agent may go on telling the past after its answer to a load.
          if (given !== undefined && method !== 'session/load') session.owner.settle(session);
          resolve(given === undefined ? { session, failure: noSession() } : { session });
          if (given !== undefined && isWanted()) {
            this.#tellOpen(session, sent, result);
            tellState(session, result, this.core.log);
          } else {
            this.#drop(sent);
          }
        },
        onNoResult: (failure) => {
          this.#drop(sent);
          if (isWanted()) sessions.lose(session);
          // What an agent offers that has not got that far is not known; what the one before it did, is.
          if (isWanted() && child.hello === undefined) sessions.lose(lost);
          this.children.stopWhenIdle(child);
          resolve({ session, failure: failure! });
        },
      });
    });
  }

  #reopen(call: Call, editorId: string, workspace: Workspace, place: Place): void {
    const { sessions } = this.core;
    const agentId = sessions.records.recall(editorId)?.agentId ?? editorId;
    const open = sessions.find(editorId);
    const child = open?.child.root === workspace.root ? open.child : this.#childFor(workspace);
    const session = sessions.open(editorId, { ...place, agentId, child });
    this.core.toAgent(child, call, {
      map: place.map,
      session,
      onResult: (result) => {
        session.owner.settle(session);
        this.#tellOpen(session, call, result);
      },
      onNoResult: () => {
        this.#drop(call);
        sessions.undo(session);
        this.children.stopWhenIdle(child);
      },
    });
  }

  #childFor(workspace: Workspace): WorkspaceChild {
    return this.children.forWorkspace(workspace, this.options.ownProcess);
  }

  /** Sends a request whose result names a new session; updates of that session may come before it. */
  #sendOpening(child: WorkspaceChild, call: Call, place: Place, forked: AgentSession | undefined): void {
    const { openings } = this.core.sessions.of(child);
    openings.push(place);
    const over = (): void => {
      openings.splice(openings.indexOf(place), 1);
      this.#drop(call);
      if (openings.length === 0) this.#closeEarly(child);
      this.children.stopWhenIdle(child);
    };
    this.core.toAgent(child, call, {
      map: place.map,
      session: forked,
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
    const { early } = this.core.sessions.of(child);
    for (const each of early) this.core.sessions.close(each);
    early.clear();
  }

  #tellOpen(session: AgentSession, { original, message, request }: Call, result: Message): void {
    const isRestored = request?.isOurs === true;
    for (const observer of this.core.observers)
      observer.onOpen?.(session, original ?? message, result, isRestored);
  }

  #bind(child: WorkspaceChild, result: Message, place: Place): AgentSession | undefined {
    const { ids, sessions } = this.core;
    const agentId = sessionIdOf(result);
    if (agentId === undefined) return undefined;
    const { byAgentId, early } = sessions.of(child);
    const known = byAgentId.get(agentId);
    if (known === undefined || !early.delete(known)) return ids.openNew(child, agentId, place);
    const session = sessions.open(known.editorId, { ...place, agentId, child });
    session.owner.settle(session);
    return session;
  }
}

/** Tells the editor what an answer says of a session's mode and options, unless the session was closed meanwhile. */
export function tellState(session: AgentSession, answer: Message, log: Log, modeId?: unknown): void {
  const { child, editorId, owner } = session;
  if (owner.open === session) tellSessionState(editorId, answer, (line) => child.deliver(line), log, modeId);
}

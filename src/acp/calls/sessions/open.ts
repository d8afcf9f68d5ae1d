/**
 * Sessions are opened here. All calls take one way: find the folders of the session, see to its MCP servers, send the
 * call, and give the session of the result its id. `session/new` and `session/fork` make a session, which the result
 * names. `session/load` and `session/resume` name one, which is open from the moment that they are sent. After a loss,
 * `restore` does one or the other, by a call of ours, in a new agent.
 *
 * Calls reach their agent in the editor's order. Within one session, this is so because the session is held until the
 * call is sent; within one workspace, because `FolderFinder` finds the folders of the sessions in that order.
 */
import { wantedIn } from '../../../rpc/json';
import type { CaiError } from '../../../errors';
import { tellSessionState } from '../../../rpc/answer';
import { fieldOf, type Message } from '../../../rpc/message';
import type { Child } from '../../child/child';
import type { Workspace } from '../../../workspace/root';
import type { ProxyOptions } from '../../proxy-options';
import type { CallContext } from '../../relay/call-context';
import type { Children } from '../../child/children';
import type { Core } from '../../relay/core';
import type { McpServers } from '../../mcp/mcp-servers';
import { cancelled, forkElsewhere, noSession, unknownSession } from '../../../rpc/protocol/refusals';
import type { Call } from '../../sessions/editor-call';
import type { AgentSession, SessionFolders, Session } from '../../sessions/session';
import { sessionIdOf } from '../../sessions/session-ids';
import type { SessionRecord } from '../../sessions/session-record';
import { canRelearn, relearn } from './relearn';
import { FolderFinder } from './find-folders';
import { SessionWorktrees } from './session-worktrees';

/** What has become of a session that was lost. */
export interface Restored {
  readonly session: AgentSession;
  /** Why it is not open: the agent's error, or why there is no answer. */
  readonly failure?: CaiError | Message | undefined;
}

/** A call that opens a session, on its way. */
interface Opening extends Pick<CallContext, 'map' | 'session' | 'refuse'> {
  /** The session that is open by this result; undefined if none is. */
  readonly bind: (result: Message) => AgentSession | undefined;
  /** There is no result. */
  readonly undo: (failure: CaiError | Message | undefined) => void;
}

export class SessionOpener {
  readonly #finder: FolderFinder;
  readonly #worktrees: SessionWorktrees;

  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly mcp: McpServers,
    private readonly options: ProxyOptions,
  ) {
    this.#worktrees = new SessionWorktrees(core, children, options);
    core.observers.push(this.#worktrees);
    this.#finder = new FolderFinder(children, this.#worktrees, options, core.newBudget());
  }

  /**
   * `session/new`, and `session/fork` of a session that is remembered: in the child of the workspace that `cwd` lies in,
   * which of a fork is that of the session. Settles once it is sent, or has failed.
   */
  async openNew(call: Call, forked?: SessionRecord): Promise<void> {
    const folder = fieldOf(call.message, 'cwd') === undefined ? forked?.cwd : undefined;
    const wanted = forked === undefined ? 'new' : { root: forked.root };
    await this.#finder.use(call, folder, wanted, async ({ workspace, folders }) => {
      if (forked !== undefined && workspace.root !== forked.root) throw forkElsewhere(forked.root);
      const sent = await this.#prepare(call, workspace, folders);
      this.#make(this.#childFor(workspace), sent, folders);
    });
  }

  /** `session/fork`: in the child of the session that is forked. */
  async fork(call: Call, session: AgentSession): Promise<void> {
    const { child } = session;
    const send = async (folders: SessionFolders): Promise<void> =>
      this.#make(child, await this.#prepare(call, child, folders), folders, session);
    if (fieldOf(call.message, 'cwd') === undefined) {
      await send(session);
      return;
    }
    await this.#finder.use(call, undefined, { root: child.root }, async ({ workspace, folders }) => {
      if (workspace.root !== child.root) throw forkElsewhere(child.root);
      await send(folders);
    });
  }

  /**
   * `session/load` and `session/resume`: as `session/new`, for an id that this or an earlier process gave.
   * An id that we never gave is the agent's own.
   */
  async openKnown(call: Call, { editorId }: Session): Promise<void> {
    const { sessions } = this.core;
    const root = sessions.find(editorId)?.child.root ?? sessions.records.recall(editorId)?.root;
    await this.#finder.use(call, undefined, { root }, async ({ workspace, folders }) => {
      if (canRelearn(this.core, editorId))
        await relearn(this.core, editorId, this.children.forWorkspace(workspace), folders.map);
      // An agent may have sessions of other folders, too, and knows them by other ids.
      const isLimited = this.options.host.workspaces !== undefined;
      if (isLimited && sessions.records.recall(editorId) === undefined) throw unknownSession(editorId);
      const sent = await this.#prepare(call, workspace, folders);
      const agentId = sessions.records.recall(editorId)?.agentId ?? editorId;
      const open = sessions.find(editorId);
      const child = open?.child.root === workspace.root ? open.child : this.#childFor(workspace);
      const session = sessions.open(editorId, { ...folders, agentId, child });
      this.#send(child, sent, {
        map: folders.map,
        session,
        bind: () => {
          session.owner.settle(session);
          return session;
        },
        undo: () => sessions.undo(session),
      });
    });
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
    const { sessions } = this.core;
    const { agentId, editorId, openParams } = lost;
    const { method } = call.message;
    const { workspace, folders } = await this.#finder.findAgain(call.message, lost);
    const child = this.#childFor(workspace);
    const isNew = method === 'session/new';
    // An agent that counts again after its end has given the id to another session: no agent knows this one.
    const known = isNew ? undefined : sessions.of(child).byAgentId.get(agentId);
    if (known !== undefined && known.editorId !== editorId) throw unknownSession(editorId);
    const sent = await this.#prepare(call, workspace, folders);
    const isWanted = (): boolean => this.core.requests.isWanted(call.request!);
    if (!isWanted()) {
      this.#drop(sent);
      return { session: lost, failure: cancelled() };
    }
    const at = { ...folders, child, openParams };
    // One that is made again has its id only when that is answered.
    let session: AgentSession = isNew
      ? { ...lost, ...at }
      : sessions.open(editorId, { ...at, agentId }, 'restoring');
    onSession(session);
    return await new Promise((resolve) =>
      this.#send(child, sent, {
        map: folders.map,
        session: isNew ? undefined : session,
        refuse: isNew ? (result) => noSession(method, result) : undefined,
        bind: (result) => {
          if (isNew && isWanted()) {
            const given = sessionIdOf(result)!;
            session = sessions.open(editorId, { ...at, agentId: given });
            sessions.records.update(editorId, { agentId: given });
            onSession(session);
          }
          // An agent may go on telling the past after its answer to a load.
          if (method !== 'session/load') session.owner.settle(session);
          resolve({ session });
          return isWanted() ? session : undefined;
        },
        undo: (failure) => {
          if (isWanted()) sessions.lose(session);
          // What an agent offers that has not got that far is not known; what the one before it did, is.
          if (isWanted() && child.hello === undefined) sessions.lose(lost);
          resolve({ session, failure: failure! });
        },
      }),
    );
  }

  #childFor(workspace: Workspace): Child {
    return this.children.forWorkspace(workspace, this.options.config.agent.process === 'session');
  }

  /**
   * A call that opens a session of a workspace, as its agent gets it once what its MCP servers need is
   * there. Follows with `#send` or `#drop`.
   */
  async #prepare(
    call: Call,
    workspace: Pick<Child, 'root' | 'identity'>,
    folders: SessionFolders,
  ): Promise<Call> {
    const original = call.message;
    const message = await this.mcp.prepare(original, wantedIn(call.row.params), workspace, folders);
    return { ...call, message, original };
  }

  /** The call opens no session. */
  #drop({ message, original = message }: Call): void {
    this.mcp.drop(original);
  }

  #send(child: Child, call: Call, { map, session, refuse, bind, undo }: Opening): void {
    const failed = (): void => {
      this.#drop(call);
      this.children.stopWhenIdle(child);
      this.#worktrees.tidy(child.root);
    };
    this.core.toAgent(child, call, {
      map,
      session,
      refuse,
      onResult: (result) => {
        const opened = bind(result);
        if (opened === undefined) failed();
        else this.#tellOpen(opened, call, result);
      },
      onNoResult: (failure) => {
        undo(failure);
        failed();
      },
    });
  }

  /** Sends a call whose result names a session that it makes; updates of that session may come before it. */
  #make(child: Child, call: Call, folders: SessionFolders, forked?: AgentSession): void {
    const { early, openings } = this.core.sessions.of(child);
    openings.push(folders);
    const over = (): void => {
      openings.splice(openings.indexOf(folders), 1);
      if (openings.length > 0) return;
      // The agent has spoken of these and then did not open them.
      for (const each of early) this.core.sessions.close(each);
      early.clear();
    };
    this.#send(child, call, {
      map: folders.map,
      session: forked,
      refuse: (result) => noSession(call.message.method, result),
      bind: (result) => {
        const opened = this.#bind(child, result, folders);
        over();
        return opened;
      },
      undo: over,
    });
  }

  #bind(child: Child, result: Message, folders: SessionFolders): AgentSession {
    const { ids, sessions } = this.core;
    const agentId = sessionIdOf(result)!;
    const { byAgentId, early } = sessions.of(child);
    const known = byAgentId.get(agentId);
    if (known === undefined || !early.delete(known)) return ids.openNew(child, agentId, folders);
    const session = sessions.open(known.editorId, { ...folders, agentId, child });
    session.owner.settle(session);
    return session;
  }

  #tellOpen(session: AgentSession, { original, message, request }: Call, result: Message): void {
    const isRestored = request?.isOurs === true;
    for (const observer of this.core.observers)
      observer.onOpen?.(session, original ?? message, result, isRestored);
    if (isRestored) tellState(this.core, session, result);
  }
}

/** Tells the editor what an answer says of a session's mode and options, unless the session was closed meanwhile. */
export function tellState({ log }: Core, session: AgentSession, answer: Message, modeId?: unknown): void {
  const { child, editorId, owner } = session;
  if (owner.atAgent === session)
    tellSessionState(editorId, answer, (line) => child.deliver(line), log, modeId);
}

/**
 * A worktree for each session, if the user wants that: `session/new` in a git repository gets one, which is a workspace like
 * any other. Later calls find it by the root that is remembered of the session. At the end of the session it goes, unless
 * something has changed in it.
 */
import { posix } from 'node:path';
import { patientStop } from '../../../agent/process-end';
import { CaiError, messageOf } from '../../../errors';
import type { Message } from '../../../rpc/message';
import { isRunning, ownIdentity } from '../../../system/process-identity';
import { quoted } from '../../../system/quoted';
import { isThere } from '../../../system/real-path';
import { lateGit } from '../../../workspace/git';
import type { Workspace } from '../../../workspace/root';
import { findCheckedWorkspace } from '../../../workspace/trust';
import { HostGit, isWorkTree } from '../../../workspace/host-git';
import {
  changesIn,
  hasDifferences,
  makeWorktree,
  remakeWorktree,
  removeUnchanged,
  worktreeAt,
  type SessionWorkspace,
  type Worktree,
} from '../../../workspace/worktrees/worktrees';
import type { Child } from '../../child/child';
import type { ProxyOptions } from '../../proxy-options';
import type { Children } from '../../child/children';
import type { Core } from '../../relay/core';
import { tellInThread } from '../../relay/thread';
import type { SessionObserver } from '../../sessions/observer';
import type { AgentSession, Session } from '../../sessions/session';

/** Which worktree a call wants: a new one, or that of the session whose workspace has this root. */
export type WantedWorktree = 'new' | { readonly root: string | undefined };

/** How long git may take for each look at a worktree that may be removed, in milliseconds: else the worktree stays. */
const lookMs = 10_000;

/** A worktree in which this proxy has sessions, or had some. */
interface Used {
  worktree: Worktree;
  /** How many calls that open sessions in it are still to be sent. */
  openings: number;
  /** That were opened in it: open, or to be restored, as far as they are not closed. */
  readonly sessions: Set<Session>;
  /** The repository had changes that it lacks. */
  lacksChanges?: boolean;
  removal?: Promise<void> | undefined;
}

export class SessionWorktrees implements SessionObserver {
  /** By the worktree's folder. */
  readonly #used = new Map<string, Used>();
  /** Worktrees that are being made. */
  readonly #making = new Set<Promise<Used>>();

  /** Nothing is looked at before it is asked for. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly options: ProxyOptions,
  ) {}

  /**
   * Has `step` send a call that opens a session, in the worktree that it wants; in `workspace`, which is that of the editor's
   * folder, if it wants none there.
   */
  async use(
    workspace: Workspace,
    wanted: WantedWorktree,
    step: (workspace: SessionWorkspace) => Promise<void>,
  ): Promise<void> {
    const used = await this.#find(workspace, wanted);
    if (used === undefined) {
      await step(workspace);
      return;
    }
    used.openings += 1;
    try {
      await used.removal;
      await step(await this.#workspaceOf(used, workspace));
    } finally {
      used.openings -= 1;
      this.tidy(used.worktree.folder);
    }
  }

  /** The workspace of a session that was lost, whose worktree is not removed as long as that is so. */
  async findAgain(workspace: Workspace, root: string | undefined): Promise<SessionWorkspace> {
    const used = await this.#find(workspace, { root });
    return used === undefined ? workspace : await this.#workspaceOf(used, workspace);
  }

  /** Removes the worktree with that folder, if it was made for a session, unless it is used or something has changed in it. */
  tidy(folder: string | undefined): void {
    const used = folder === undefined ? undefined : this.#used.get(folder);
    if (used?.worktree.isOfSession !== true || used.removal !== undefined) return;
    const removal = new Promise((resolve) => setImmediate(resolve)).then(() => this.#removeUnused(used));
    used.removal = this.#safely(removal).finally(() => (used.removal = undefined));
  }

  /** Tells where the session works. */
  onOpen(session: AgentSession, { method }: Message, _result: Message, isRestored: boolean): void {
    const used = this.#used.get(session.child.root ?? '');
    used?.sessions.add(session.owner);
    if (used === undefined || method !== 'session/new' || isRestored) return;
    const { branch, folder, repository } = used.worktree;
    const lack =
      used.lacksChanges === true ? ` What is not committed in \`${repository}\` is not in it.` : '';
    const note = {
      title: `This session works on the branch \`${branch}\`, in a folder for it alone.`,
      description: `The folder is \`${folder}\`.${lack} \`cai worktree merge ${branch}\` brings the branch into your repository.`,
    };
    // The editor waits for the answer that has opened it.
    setImmediate(() => tellInThread(this.core, session, note));
  }

  onClose({ child }: AgentSession): void {
    this.tidy(child.root);
  }

  /** All agents have ended: no session of this proxy can use a worktree any more. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#making);
    const all = [...this.#used.values()];
    await Promise.all(all.map(({ removal = Promise.resolve() }) => removal));
    const rest = all.filter(({ worktree }) => worktree.isOfSession && !this.#isUsedElsewhere(worktree));
    await Promise.all(
      rest.map(({ worktree }) => this.#safely(removeUnchanged(worktree, this.options.host, lookMs))),
    );
  }

  async #find(workspace: Workspace, wanted: WantedWorktree): Promise<Used | undefined> {
    const { host } = this.options;
    const { state } = host.folders;
    if (wanted === 'new') {
      const isWanted =
        this.options.config.worktrees.perSession && worktreeAt(state, workspace.root) === undefined;
      // It may lie in a repository, and then its own files would be changed.
      if (isWanted && workspace.isUnsure === true) throw lateGit(workspace.root);
      if (!isWanted || !(await isWorkTree(workspace.root, host))) return undefined;
      const making = this.#make(workspace);
      this.#making.add(making);
      return await making.finally(() => this.#making.delete(making));
    }
    const { root } = wanted;
    if (root === undefined || root === workspace.root) return undefined;
    const worktree = worktreeAt(state, root);
    return worktree?.repository === workspace.root ? this.#note(worktree) : undefined;
  }

  async #make({ root }: Workspace): Promise<Used> {
    const { config, host } = this.options;
    const git = await HostGit.at(root, host);
    const [worktree, lacksChanges] = await Promise.all([
      makeWorktree(root, { isOfSession: true }, config.worktrees, host),
      hasDifferences(git),
    ]);
    return Object.assign(this.#note(worktree), { lacksChanges });
  }

  #note(worktree: Worktree): Used {
    const used = this.#used.get(worktree.folder) ?? { worktree, openings: 0, sessions: new Set<Session>() };
    this.#used.set(worktree.folder, used);
    return used;
  }

  /** The worktree as a workspace, at the place of the editor's folder in it. It is made again if it is gone. */
  async #workspaceOf(used: Used, workspace: Workspace): Promise<SessionWorkspace> {
    const { config, host } = this.options;
    const worktree = (used.worktree = await remakeWorktree(used.worktree, config.worktrees, host));
    const cwd = posix.join(worktree.folder, posix.relative(workspace.root, workspace.realCwd));
    const found = (await isThere(cwd)) ? await findCheckedWorkspace(cwd, host) : undefined;
    if (found?.root === worktree.folder && found.realCwd === cwd) return { ...found, worktreeOf: workspace };
    throw new CaiError(
      'WORKSPACE',
      `${quoted(workspace.cwd)} is no folder of the commit that the session's worktree begins at: commit it, or open ${quoted(workspace.root)}`,
    );
  }

  async #removeUnused(used: Used): Promise<void> {
    const { worktree } = used;
    const { host } = this.options;
    if (this.#isUsed(used) || !(await isThere(worktree.folder))) return;
    const { isUncommitted, isMoved } = await changesIn(worktree, host, lookMs);
    if (isUncommitted || isMoved || this.#isUsed(used)) return;
    const idle = this.children.all.filter(
      (child) => child.root === worktree.folder && this.core.sessions.isIdle(child),
    );
    await Promise.all(idle.map((child) => child.stop(patientStop)));
    if (!this.#isUsed(used)) await removeUnchanged(worktree, host, lookMs);
  }

  #isUsed({ worktree, openings, sessions }: Used): boolean {
    const { folder } = worktree;
    for (const each of sessions)
      if ((each.atAgent ?? each.lost)?.child.root !== folder) sessions.delete(each);
    const isServing = (child: Child): boolean => child.root === folder && !this.core.sessions.isIdle(child);
    const isHere = openings > 0 || sessions.size > 0 || this.children.all.some(isServing);
    return isHere || this.#isUsedElsewhere(worktree);
  }

  /** Another editor has a session in it. */
  #isUsedElsewhere({ folder }: Worktree): boolean {
    return this.core.sessions.records
      .remembered()
      .some(
        ({ root, openBy }) =>
          root === folder && openBy !== undefined && openBy !== ownIdentity() && isRunning(openBy) === true,
      );
  }

  /** What fails is only logged: the worktree stays. */
  async #safely(removal: Promise<unknown>): Promise<void> {
    try {
      await removal;
    } catch (reason) {
      this.core.log.warn({ reason: messageOf(reason) }, 'a worktree could not be removed');
    }
  }
}

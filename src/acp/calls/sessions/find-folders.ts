/** Where a call wants its session: the workspace of its `cwd`, and the folders besides. */
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError } from '../../../errors';
import { bodyTextOf, stringOf, textOf, type Message } from '../../../rpc/message';
import { kernelPlaceOn } from '../../../system/paths/kernel-place';
import { checkSamePins, pinFolder, type PinnedFolder } from '../../../system/paths/pinned-folder';
import { quoted } from '../../../system/quoted';
import { isFilePath, resolvePath } from '../../../system/real-path';
import { isAllowed } from '../../../workspace/allowed';
import type { Workspace } from '../../../workspace/root';
import type { SessionWorkspace } from '../../../workspace/worktrees/worktrees';
import { recordedRoots } from '../../../workspace/records';
import { findCheckedWorkspace } from '../../../workspace/trust';
import type { ProxyOptions } from '../../proxy-options';
import type { Children } from '../../child/children';
import type { Call, CallBudget } from '../../sessions/editor-call';
import type { AgentSession, SessionFolders } from '../../sessions/session';
import { isInside } from '../../../system/paths/is-inside';
import type { SessionWorktrees, WantedWorktree } from './session-worktrees';

/** What was found for a call: the workspace that its `cwd` lies in, and what its session is to have. */
interface Found {
  readonly workspace: SessionWorkspace;
  readonly folders: SessionFolders;
}

/** A call whose folders are being found, or that waits for those before it. */
interface Turn {
  readonly cwd: string;
  readonly workspace: Promise<Workspace | undefined>;
  /** It and those before it in the same folder have been sent, or have failed. */
  readonly over: Promise<void>;
}

/** A folder that agents are given: its path without links, and whether they can write nothing in it. */
interface Given {
  readonly real: string;
  readonly isReadOnly: boolean;
}

export class FolderFinder {
  /** The look-up that is going on for each folder. */
  readonly #lookUps = new Map<string, Promise<Workspace>>();
  /** By folder, the last call that has not been sent yet: those before it are over when it is. */
  readonly #turns = new Map<string, Turn>();

  /** `budget`: for the calls that have not been sent yet. */
  constructor(
    private readonly children: Children,
    private readonly worktrees: SessionWorktrees,
    private readonly options: ProxyOptions,
    private readonly budget: CallBudget,
  ) {}

  /**
   * Finds where a call wants its session, in `folder` or else its `cwd`, or in the worktree that it wants there, and has
   * `step` send the call there. The steps of one workspace run one after the other, in the order in which their calls
   * came. Fails as they do, and where the call cannot be served.
   */
  async use(
    call: Call,
    folder: string | undefined,
    wanted: WantedWorktree,
    step: (found: Found) => Promise<void>,
  ): Promise<void> {
    const { message } = call;
    const cwd = folder ?? cwdOf(message);
    if (cwd === undefined)
      throw new CaiError('INVALID_PARAMS', `${message.method}: cwd must be an absolute path`);
    if (!this.budget.take(call)) {
      const text = `too many sessions are being opened: ${this.budget.excessWith(call)}: try again in a moment`;
      throw new CaiError('AGENT_STALLED', text);
    }
    const before = [...this.#turns.values()].filter((turn) => this.#mayShare(turn.cwd, cwd));
    let setOver = (): void => undefined;
    const over = new Promise<void>((resolve) => (setOver = resolve));
    const previous = this.#turns.get(cwd);
    const turn: Turn = { cwd, workspace: this.#lookUp(cwd).catch(() => undefined), over };
    this.#turns.set(cwd, turn);
    try {
      await this.worktrees.use(await this.#lookUp(cwd), wanted, async (workspace) => {
        const found = await this.#find(message, workspace);
        for (const earlier of before)
          if ((await earlier.workspace)?.root === found.workspace.root) await earlier.over;
        await step(found);
      });
    } finally {
      this.budget.giveBack(call);
      void Promise.resolve(previous?.over).then(() => {
        if (this.#turns.get(cwd) === turn) this.#turns.delete(cwd);
        setOver();
      });
    }
  }

  /** For the call that opens a lost session again. Rejects with `CaiError('REPLACED')` if it has other folders now. */
  async findAgain(message: Message, { roots, child }: AgentSession): Promise<Found> {
    const workspace = await this.worktrees.findAgain(await this.#lookUp(cwdOf(message)!), child.root);
    const found = await this.#find(message, workspace);
    checkSamePins(roots, found.folders.roots);
    return found;
  }

  /**
   * Whether one workspace can hold both folders: it would hold all that is between them, which the home folder and those
   * above it may not be. So a look-up that hangs, as on a dead network disk, holds up nobody who works elsewhere.
   */
  #mayShare(one: string, other: string): boolean {
    if (!isFilePath(one) || !isFilePath(other)) return false;
    let common = one;
    while (!isInside(other, common)) common = posix.dirname(common);
    return !isInside(this.options.host.home, common);
  }

  async #find(message: Message, workspace: SessionWorkspace): Promise<Found> {
    const roots = await this.#pinsFor(workspace, furtherRoots(message));
    await this.children.retire(workspace);
    // Without its own folder, the call could not be repeated.
    const openParams = cwdOf(message) === undefined ? undefined : bodyTextOf(message);
    const editorCwd = workspace.worktreeOf?.cwd;
    const folders = { roots, map: this.children.mapFor(workspace), openParams };
    return { workspace, folders: editorCwd === undefined ? folders : { ...folders, editorCwd } };
  }

  #lookUp(cwd: string): Promise<Workspace> {
    const known = this.#lookUps.get(cwd);
    const found =
      known ?? findCheckedWorkspace(cwd, this.options.host).finally(() => this.#lookUps.delete(cwd));
    this.#lookUps.set(cwd, found);
    return found;
  }

  /** The working directory and the further folders, each where agents have it. */
  async #pinsFor(workspace: SessionWorkspace, further: readonly string[]): Promise<PinnedFolder[]> {
    const { root, cwd, realCwd, identity } = workspace;
    const given = [{ real: root, isReadOnly: false }, ...(await this.#mounts(workspace))];
    if (cwd !== realCwd) await refuseLinks('cwd', cwd, realCwd, [root]);
    const own = { spelled: root, real: root, identity };
    const pinned = cwd === root ? own : await pinFolder(cwd, realCwd);
    const others = await Promise.all(further.map((folder) => this.#pinFurther(folder, workspace, given)));
    return [pinned, ...others.filter((pin) => pin !== undefined)];
  }

  /**
   * Source: ACP v1, session setup: additional directories are absolute, and served or refused. `undefined`: nothing is
   * there, and what comes there later is not served.
   */
  async #pinFurther(
    folder: string,
    workspace: SessionWorkspace,
    given: readonly Given[],
  ): Promise<PinnedFolder | undefined> {
    const key = 'additionalDirectories';
    if (!isFilePath(folder))
      throw new CaiError('INVALID_PARAMS', `${key}: ${quoted(folder)} is not an absolute path`);
    const spelled = inWorktree(posix.resolve(folder), workspace);
    const isEverywhere = this.#seesAll(workspace);
    if (!isEverywhere && !this.#canSee(spelled, workspace)) throw notServed(folder);
    const real = await realpath(spelled).catch(() => undefined);
    if (real === undefined) return undefined;
    const why = await kernelPlaceOn(spelled, real);
    if (why !== undefined)
      throw new CaiError('WORKSPACE', `${key}: ${quoted(folder)} cannot be served, because ${why}`);
    if (real !== spelled) {
      const writable = given.filter(({ isReadOnly }) => !isReadOnly).map((each) => each.real);
      await refuseLinks(key, spelled, real, [...writable, ...recordedRoots(this.options.host.folders.state)]);
    }
    const isGiven = given.some((each) => isInside(real, each.real));
    if (!isGiven && !(isEverywhere && isAllowed(this.options.host, real))) throw notServed(folder);
    return await pinFolder(spelled, real);
  }

  /** What is mounted besides the workspace for agents that do not see all of this machine, as far as it is there. */
  async #mounts(workspace: Workspace): Promise<Given[]> {
    if (this.#seesAll(workspace)) return [];
    const found = await Promise.all(
      this.options.configOf(workspace.root).mounts.map(async ({ path, isReadOnly }) => {
        const real = await realpath(path).catch(() => undefined);
        return real === undefined ? undefined : { real, isReadOnly };
      }),
    );
    return found.filter((mount) => mount !== undefined);
  }

  /** Whether the agents of a workspace have something under that name, which is one of the host's. */
  #canSee(folder: string, { root, spelledRoot, cwd }: Workspace): boolean {
    const mounted = this.options.configOf(root).mounts.map(({ path }) => path);
    return [root, spelledRoot, cwd, ...mounted].some((each) => isInside(folder, each));
  }

  /** Whether the agents of a workspace see the files of this machine. */
  #seesAll({ root }: Workspace): boolean {
    return this.options.placesOf(root) === undefined;
  }
}

/** A link in a folder that agents can write can be theirs, and lead elsewhere at any later time. */
async function refuseLinks(
  key: string,
  path: string,
  real: string,
  folders: readonly string[],
): Promise<void> {
  const { links } = await resolvePath(path);
  const link = links.find((each) => folders.some((folder) => isInside(each, folder)));
  if (link === undefined) return;
  throw new CaiError(
    'WORKSPACE',
    `${key}: ${quoted(path)} leads through the link ${quoted(link)}, where an agent can make links: if that is right, name ${quoted(real)} instead`,
  );
}

/** A folder that the editor names in the workspace that a worktree stands for, as it is in the worktree. */
function inWorktree(folder: string, { root, worktreeOf }: SessionWorkspace): string {
  const named =
    worktreeOf && [worktreeOf.spelledRoot, worktreeOf.root].find((each) => isInside(folder, each));
  return named === undefined ? folder : posix.join(root, posix.relative(named, folder));
}

function cwdOf(message: Message): string | undefined {
  return stringOf(message, 'cwd');
}

function furtherRoots(message: Message): string[] {
  const fields = message.fields.filter((field) => field.kind === 'root');
  return fields.map((field) => (field.isString ? textOf(message, field) : ''));
}

function notServed(folder: string): CaiError {
  return new CaiError(
    'WORKSPACE',
    `additionalDirectories: "${folder}" lies outside the workspace and is not mounted for the agent: add a table [[mounts]] with path = "${folder}" to your configuration`,
  );
}

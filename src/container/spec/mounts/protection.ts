/** Mounts over folders that agents can write, which keep in their place what the user's machine would execute. */
import { constants, fstatSync, lstatSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf, errorCodeOf } from '../../../errors';
import type { OuterGitFolder } from '../../../workspace/outer-git';
import { identityIn } from '../../../system/paths/pinned-folder';
import type { Patterns } from '../../../workspace/protect/git-named-paths';
import { allProtectedIn, parentsOf, protectedInGitFolder } from '../../../workspace/protect/protected-paths';
import { isProtectable, type ProtectedPath } from '../../../system/paths/look-inside';
import { quoted } from '../../../system/quoted';
import { withFile } from '../../../system/files/open-file';
import { pathOfOpen } from '../../../system/files/descriptor';
import { makeInside } from './own-folders';
import type { Bind } from '../spec';
import { isMissing, unlessFails } from '../../../system/unless';
import { innermost, isInside } from '../../../system/paths/is-inside';

/** Mounts that come after those that are there, and sentences for the user about what cannot be protected. */
type Protection = Readonly<Record<'binds', readonly Bind[]> & Record<'notices', readonly string[]>>;

interface ProtectionRequest {
  readonly git: OuterGitFolder | undefined;
  readonly binds: readonly Bind[];
  readonly patterns: ReadonlyMap<string, Pick<Patterns, 'patterns'>>;
}

/**
 * A read-only mount for each protected path in what the agent can write, and one for each folder on the way, on itself:
 * a folder can be renamed with all that is mounted in it, unless something is mounted on it, too. `binds` are all that is
 * mounted; `patterns` tell by their sources what is protected besides the list, as `patternsFor` has it. Fails with
 * `CaiError('WORKSPACE')` for what is just being replaced, and for more than can be protected.
 */
export function protectionOf({ git, binds, patterns }: ProtectionRequest): Protection {
  const writable = binds.filter(({ isReadOnly }) => !isReadOnly);
  const parts = writable.map((bind) => {
    const more = patterns.get(bind.source)?.patterns ?? [];
    return bind.source === git?.folder
      ? ofGitFolder(bind, git, more)
      : ofFolder(bind, allProtectedIn(bind.source, more));
  });
  const mounts = parts.flatMap((part) => part.binds);
  const all = [...mounts, ...elsewhere(binds, mounts)];
  return { binds: eachPlaceOnce(binds, all), notices: parts.flatMap((part) => part.notices) };
}

/** The same protection wherever else the protected can be reached: in a mount under another name of a folder above it. */
function elsewhere(binds: readonly Bind[], mounts: readonly Bind[]): Bind[] {
  const found: (Bind | undefined)[] = [];
  for (const bind of binds.filter(({ isReadOnly }) => !isReadOnly))
    for (const mount of mounts) {
      if (mount.source === bind.source || !isInside(mount.source, bind.source)) continue;
      const path = posix.relative(bind.source, mount.source);
      const target = posix.join(bind.target, path);
      if (target === mount.target || holderOf(target, binds) !== bind) continue;
      found.push(...parentsOf(path).map((parent) => bindOf(bind, parent, false)), { ...mount, target });
    }
  return found.filter((each) => each !== undefined);
}

/** What a path inside lies in. */
function holderOf(path: string, binds: readonly Bind[]): Bind | undefined {
  return innermost(path, binds, ({ target }) => target);
}

/** The engine takes one mount for each place. What must be read-only for one reason is so. */
function eachPlaceOnce(binds: readonly Bind[], mounts: readonly Bind[]): Bind[] {
  const taken = new Set(binds.map(({ target }) => target));
  const byTarget = new Map<string, Bind>();
  for (const mount of mounts)
    if (!taken.has(mount.target) && byTarget.get(mount.target)?.isReadOnly !== true)
      byTarget.set(mount.target, mount);
  return [...byTarget.values()];
}

type Mounted = Pick<Bind, 'source' | 'target'>;

function ofFolder(folder: Mounted, paths: readonly ProtectedPath[]): Protection {
  const [protectable, others] = [paths.filter(isProtectable), paths.filter((path) => !isProtectable(path))];
  // What lies in one that is read-only is so already.
  const kept = protectable
    .map(({ path }) => path)
    .filter((path, _, all) => !all.some((other) => other !== path && isInside(`/${path}`, `/${other}`)));
  const pins = [...new Set(kept.flatMap(parentsOf))].sort();
  const mounts = [
    ...pins.map((path) => bindOf(folder, path, false)),
    ...kept.map((path) => bindOf(folder, path, true)),
  ];
  return {
    binds: mounts.filter((bind) => bind !== undefined),
    notices: others.map(
      ({ path }) =>
        `${quoted(posix.join(folder.source, path))} cannot be protected from the agent, because it is neither a file nor a folder: put the file or folder itself there`,
    ),
  };
}

/** Folders in a common git folder that git in a linked worktree does not write: all but the first two are of the main tree. */
const ofOthers = ['worktrees', 'modules', 'rebase-merge', 'rebase-apply', 'sequencer'];

/**
 * The folder itself stays writable: to remove any reference, such as `CHERRY_PICK_HEAD`, git locks `packed-refs` by a file
 * beside it.
 */
function ofGitFolder(folder: Mounted, { worktree }: OuterGitFolder, patterns: readonly string[]): Protection {
  const paths = protectedInGitFolder(folder.source, patterns);
  if (worktree === undefined) return ofFolder(folder, paths);
  const shared = paths.filter(({ path }) => !ofOthers.includes(path.split('/')[0]!));
  const others = ofOthers.map((path) => ({ path, kind: 'folder' }) as const);
  const common = ofFolder(folder, [...shared, ...others]);
  const own = bindOf(folder, worktree, false);
  const gitdir = { path: posix.join(worktree, 'gitdir'), kind: 'file' } as const;
  const inOwn = ofFolder(folder, [...paths.filter(({ path }) => path.startsWith(`${worktree}/`)), gitdir]);
  // Below `worktrees`, which is read-only, nothing else needs to be kept in its place.
  const pointers = inOwn.binds.filter(({ source }) =>
    source.startsWith(`${posix.join(folder.source, worktree)}/`),
  );
  const mounts = [...common.binds, own, ...pointers].filter((bind) => bind !== undefined);
  return { binds: mounts, notices: [...common.notices, ...inOwn.notices] };
}

/**
 * Makes the folder of hooks where a repository lacks it, so that it can be protected: else an agent could make it. Most
 * have it, also without hooks.
 */
export function makeHooks(gitFolder: string): void {
  const make = (folder: number) => makeInside(gitFolder, folder, 'hooks');
  // Where this fails it is no repository, or it cannot be written: not by the agent either.
  unlessFails(() => {
    if (!lstatSync(posix.join(gitFolder, 'HEAD')).isFile()) return;
    withFile(gitFolder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW, make);
  });
}

function bindOf({ source, target }: Mounted, path: string, isReadOnly: boolean): Bind | undefined {
  const place = posix.join(source, path);
  const identity = identityOfMounted(place);
  return identity === undefined
    ? undefined
    : { source: place, target: posix.join(target, path), isReadOnly, identity, isRoot: false };
}

/** `device:inode` as `Bind` has it; `undefined` if nothing is there any more. */
function identityOfMounted(path: string): string | undefined {
  const identify = (file: number): string => {
    const opened = pathOfOpen(file);
    // Elsewhere the engine runs in another machine, which has other numbers.
    if (opened === undefined) return '';
    if (opened !== path) throw new Error('it is being replaced by something else');
    return identityIn(fstatSync(file, { bigint: true }));
  };
  try {
    return withFile(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, identify);
  } catch (reason) {
    if (isMissing(reason)) return undefined;
    // An agent that keeps others from opening a file is not to be given that file.
    const remedy =
      errorCodeOf(reason) === 'EAGAIN'
        ? 'a program has a lease on it: end that one, in a container with "cai stop"'
        : 'correct that, or leave all unprotected with "cai exec --writable"';
    throw new CaiError(
      'WORKSPACE',
      `${path} cannot be protected from the agent: ${messageOf(reason)}: ${remedy}`,
    );
  }
}

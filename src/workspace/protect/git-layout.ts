/** Where repositories have git folders, and inner repositories, by git's files. An agent may have written these. */
import * as fs from 'node:fs';
import { posix } from 'node:path';
import { gitFolderIn, readGitFile } from '../git';
import { inOneLook, lookAt, namesIn } from '../../system/paths/look-inside';
import { bytesAt, withFile } from '../../system/files/open-file';
import { unlessFails, unlessGone } from '../../system/unless';
import { isInside } from '../../system/paths/is-inside';

/** Of one workspace only so many work trees are looked at. */
const mostTrees = 256;

/** Longer configuration files of git are not read, in bytes. */
export const maxConfigBytes = 1024 * 1024;

/**
 * The git folder of a work tree, and the common one of a linked worktree; real paths, wherever. Empty for a folder without git.
 * Source: gitrepository-layout(5).
 */
export function gitFoldersOf(workTree: string): string[] {
  try {
    const named = gitFolderAt(posix.join(workTree, '.git'));
    const folder = named === undefined ? bareAt(workTree) : fs.realpathSync(named);
    if (folder === undefined) return [];
    const common = readGitFile(posix.join(folder, 'commondir')).replace(/\n$/, '');
    return common === '' ? [folder] : [folder, fs.realpathSync(posix.resolve(folder, common))];
  } catch {
    // It is being replaced, or leads nowhere: then git finds nothing there either.
    return [];
  }
}

/** A folder that git can take for a work tree, by its absolute path, and its `gitFoldersOf`. */
type WorkTree = Readonly<{
  path: string;
  gitFolders: readonly string[];
  /**
   * Repositories that it may name are not known: its index cannot be read, or that, or too many others, would be too much
   * to look at.
   */
  isUnread: boolean;
  /** Its index cannot be read. */
  isUnreadable: boolean;
  /** Files of which `git status` tells no change, as its index says. */
  hidden: readonly string[];
}>;

/**
 * Of all indexes in one folder so much is read, in bytes, enough for 450 000 files: an agent can make each as long as
 * it likes.
 */
const mostIndexBytes = 48 * 1024 * 1024;

/**
 * The work trees in a folder that `git status` looks into, the folder itself first: submodules that an index names,
 * theirs, and the linked worktrees of all. Reads each index, which can be long: pass the result on.
 */
export function workTreesIn(root: string): WorkTree[] {
  return inOneLook(() => workTreesOf(root));
}

function workTreesOf(root: string): WorkTree[] {
  const paths = new Set([root]);
  const found: WorkTree[] = [];
  let room = mostIndexBytes;
  for (const path of paths) {
    const gitFolders = gitFoldersOf(path);
    const [own, common = own] = gitFolders;
    // Where there are too many to look at all, none is looked for in the rest.
    const isLooked = own !== undefined && common !== undefined && paths.size <= mostTrees;
    const links = isLooked ? linksIn(own, room) : nothing;
    const linked = isLooked ? linkedTrees(common) : nothing;
    room -= links.bytes;
    for (const link of links.paths) paths.add(posix.join(path, link));
    for (const tree of linked.paths) if (isInside(tree, root)) paths.add(tree);
    const isUnread = !links.isWhole || !linked.isWhole || paths.size > mostTrees;
    found.push({ path, gitFolders, isUnread, isUnreadable: links.fault !== undefined, hidden: links.hidden });
    if (found.length === mostTrees) break;
  }
  return found;
}

/** The git folders of work trees that lie in the folder `root`, each once; relative to it. */
export function gitFoldersIn(root: string, workTrees: readonly WorkTree[]): string[] {
  const inside = workTrees.flatMap(({ gitFolders }) => gitFolders.filter((each) => isInside(each, root)));
  return [...new Set(inside)].map((folder) => posix.relative(root, folder));
}

/** The indexes of work trees that were not read; below `root`. */
export function unreadIndexesIn(root: string, workTrees: readonly WorkTree[]): string[] {
  return workTrees.filter(({ isUnread }) => isUnread).map(({ path }) => indexOf(root, path));
}

/** The git folder that `.git` is, links to, or names as a file. */
function gitFolderAt(dotGit: string): string | undefined {
  const there = fs.lstatSync(dotGit, { throwIfNoEntry: false });
  return there?.isFile() === true ? gitFolderIn(dotGit) : there && dotGit;
}

/** A folder without `.git` that is a git folder itself: a bare repository. */
function bareAt(folder: string): string | undefined {
  const names = ['HEAD', 'objects', 'refs'];
  return names.every((name) => lookAt(folder, name) !== undefined) ? folder : undefined;
}

/** The files in work trees of which git tells no change, as their index says; below `root`. */
export function hiddenIn(root: string, workTrees: readonly WorkTree[]): string[] {
  return workTrees.flatMap(({ path, hidden }) =>
    hidden.map((name) => posix.join(posix.relative(root, path), name)),
  );
}

/** The files of packed references in git folders (below `root`) by which git shows one object in the place of another. */
export function packedReplacesIn(root: string, gitFolders: readonly string[]): string[] {
  let room = mostIndexBytes;
  return gitFolders
    .map((folder) => posix.join(folder, 'packed-refs'))
    .filter((file) => {
      const start = room <= 0 ? undefined : unlessFails(() => startOf(posix.join(root, file), room));
      room -= start?.index.length ?? 0;
      return start?.index.includes(' refs/replace/') === true;
    });
}

function indexOf(root: string, workTree: string): string {
  return posix.join(posix.relative(root, workTree), '.git/index');
}

interface Named {
  readonly paths: readonly string[];
  readonly isWhole: boolean;
  /** How much was read for it. */
  readonly bytes: number;
  /** The system's error, if it cannot be read. */
  readonly fault?: Error;
}

interface InIndex extends Named {
  /** Of the files of which git tells no change, at most `mostLinks`. */
  readonly hidden: readonly string[];
}

const nothing: InIndex = { paths: [], isWhole: true, bytes: 0, hidden: [] };

function linkedTrees(common: string): Named {
  const worktrees = posix.join(common, 'worktrees');
  const treeOf = (name: string): string[] => {
    const back = readGitFile(posix.join(worktrees, name, 'gitdir')).replace(/\n$/, '');
    return back === '' ? [] : [posix.dirname(posix.resolve(worktrees, name, back))];
  };
  const names = namesIn(worktrees, '');
  const paths = names?.slice(0, mostTrees).flatMap((name) => unlessFails(() => treeOf(name)) ?? []) ?? [];
  return { paths, isWhole: names !== undefined && names.length <= mostTrees, bytes: 0 };
}

/** Of one index only so many repositories are looked at: an agent can have it name any number. */
const mostLinks = 256;

/** Longer paths cannot exist, so an index with one is damaged. */
const maxPathBytes = 4_096;

/**
 * The submodules in the index of a git folder, whether `.gitmodules` names them or not; relative, sorted. Fails with the
 * system's error if that cannot be read: it may then name any.
 */
export function gitlinksOf(gitFolder: string): string[] {
  const { paths, fault } = linksIn(gitFolder, mostIndexBytes);
  if (fault !== undefined) throw fault;
  return [...paths];
}

/** The same from the next `room` bytes. */
function linksIn(gitFolder: string, room: number): InIndex {
  let bytes = 0;
  try {
    const config = unlessFails(() => readGitFile(posix.join(gitFolder, 'config'), maxConfigBytes));
    const isLong = /objectformat\s*=\s*"?sha256/i.test(config ?? '');
    const sizes = config === undefined ? [20, 32] : [isLong ? 32 : 20];
    const ofTree = unlessFails(() => readGitFile(posix.join(gitFolder, 'config.worktree'), maxConfigBytes));
    // What is not checked out has the same bit, and git takes it from files that are there.
    const isSparse = /^[ \t]*sparsecheckout[ \t]*=[ \t]*true/im.test(`${config}\n${ofTree}`);
    unlessGone(() => fs.accessSync(gitFolder, fs.constants.R_OK | fs.constants.X_OK));
    // A split index has most of its entries in another file.
    const all = namesIn(gitFolder, '');
    const names = all?.filter((name) => /^(?:index|sharedindex\.[0-9a-f]+)$/.test(name)) ?? [];
    bytes = config?.length ?? 0;
    let isWhole = all !== undefined;
    const found = names.flatMap((name) => {
      const start = unlessGone(() => startOf(posix.join(gitFolder, name), Math.max(0, room - bytes)));
      if (start === undefined) return [];
      bytes += start.index.length;
      isWhole &&= start.isWhole;
      return sizes.flatMap((hashBytes) => entriesOf(start.index, hashBytes, isSparse));
    });
    const [paths, hidden] = (['links', 'hidden'] as const).map((kind) =>
      [...new Set(found.flatMap((each) => each[kind]))].sort(),
    );
    return { paths: paths!, hidden: hidden!, isWhole, bytes };
  } catch (fault) {
    return { paths: [], hidden: [], isWhole: false, bytes, fault: fault as Error };
  }
}

/** The first bytes of a regular file of git, and whether these are all. */
export function startOf(
  file: string,
  maxBytes: number,
): { readonly index: Buffer; readonly isWhole: boolean } {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  return withFile(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, (open) => {
    const stats = fs.fstatSync(open);
    const size = stats.isFile() ? stats.size : 0;
    return { index: bytesAt(open, 0, Math.min(size, maxBytes)), isWhole: size <= maxBytes };
  });
}

/** The bits of an entry's mode that tell its kind, and their value for a repository. */
const [kindMask, gitlink] = [0o170000, 0o160000];

/** The bits of the two bytes of flags, and of the two more: assume-unchanged, more flags, skip-worktree. */
const [unchanged, extended, skipped] = [0x80, 0x40, 0x40];

/**
 * Submodules, and files of which git tells no change. Source: gitformat-index(5), versions 2 to 4. An entry has 40 bytes with
 * the mode at 24, the hash, two bytes of flags of which one bit announces two more, and the path, which version 4 abbreviates
 * by the one before.
 */
function entriesOf(
  index: Buffer,
  hashBytes: number,
  isSparse: boolean,
): { readonly links: string[]; readonly hidden: string[] }[] {
  if (index.length < 12 || index.toString('latin1', 0, 4) !== 'DIRC') return [];
  const [version, count] = [index.readUInt32BE(4), index.readUInt32BE(8)];
  if (version < 2 || version > 4) return [];
  const [links, hidden]: [string[], string[]] = [[], []];
  /** The path of version 4, of which each entry has the end: copied as a whole, long ones would take long. */
  const path = Buffer.alloc(maxPathBytes);
  let length = 0;
  let start = 12;
  for (let i = 0; i < count; i += 1) {
    const flags = start + 40 + hashBytes;
    if (flags + 2 > index.length) break;
    const isExtended = (index[flags]! & extended) !== 0;
    let at = flags + (isExtended ? 4 : 2);
    let kept = 0;
    if (version === 4) [kept, at] = stripped(index, at, length);
    const end = index.indexOf(0, at);
    if (end < 0 || kept + end - at > maxPathBytes) break;
    const isLink = (index.readUInt32BE(start + 24) & kindMask) === gitlink;
    if (version === 4) length = kept + index.copy(path, kept, at, end);
    const isHidden =
      (index[flags]! & unchanged) !== 0 || (isExtended && !isSparse && (index[flags + 2]! & skipped) !== 0);
    if (isLink || isHidden) {
      const name = (version === 4 ? path.subarray(0, length) : index.subarray(at, end)).toString();
      if (isLink && links.length < mostLinks) links.push(name);
      if (isHidden && hidden.length < mostLinks) hidden.push(name);
    }
    start = version === 4 ? end + 1 : start + Math.floor((end - start + 8) / 8) * 8;
  }
  return [{ links: links.filter(isBelow), hidden: hidden.filter(isBelow) }];
}

/** Version 4: how many bytes of the path before are kept, and the offset after the number that says so. */
function stripped(index: Buffer, at: number, length: number): [kept: number, at: number] {
  let byte = index[at]!;
  let value = byte & 0x7f;
  let next = at + 1;
  // No path needs more digits.
  while ((byte & 0x80) !== 0 && next < at + 5) {
    byte = index[next++]!;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return [Math.max(0, length - value), next];
}

function isBelow(path: string): boolean {
  return path !== '' && !path.split('/').some((name) => name === '' || name === '.' || name === '..');
}

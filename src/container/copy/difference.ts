/** What of a work tree is not committed: each file that is new, changed or gone. */
import { createHash } from 'node:crypto';
import { lstat, readlink, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import { gitFoldersOf, gitlinksOf } from '../../workspace/protect/git-layout';
import { quoted } from '../../system/quoted';
import { isMissing } from '../../system/unless';
import type { Repository } from './repository';

/** A file that differs from the commit. Names have a character for each byte. */
export type Differing =
  | { readonly is: 'gone'; readonly name: string }
  | {
      readonly is: 'file';
      readonly name: string;
      readonly mode: number;
      readonly size: number;
      readonly at: number;
    }
  | { readonly is: 'link'; readonly name: string; readonly to: Buffer };

/** How a work tree is at a moment. */
export interface State {
  /** The commit that is checked out; empty before the first commit. */
  readonly commit: string;
  /** The branch, as `refs/heads/NAME`; without one the commit. */
  readonly head: string;
  /** Sorted by names. */
  readonly differing: readonly Differing[];
  /** Other repositories in it, which git does not look into. */
  readonly inner: readonly string[];
  /** The same as long as all that differs has the same times. */
  readonly fingerprint: string;
}

const quick = ['--name-only', '-z', '--no-renames', '--ignore-submodules=all'];

/** Looks at all files as `git status` does, by their times. Rejects with `CaiError('WORKSPACE')`. */
export async function stateOf(repository: Repository): Promise<State> {
  const [commit, branch] = await Promise.all([
    repository.attempt(['rev-parse', '--quiet', '--verify', 'HEAD^0']),
    repository.attempt(['symbolic-ref', '--quiet', 'HEAD']),
  ]);
  const base = commit === '' ? await repository.ask(['hash-object', '-t', 'tree', '--stdin']) : commit;
  const listed = await Promise.all([
    repository.ask(['diff-index', '--cached', ...quick, base]),
    repository.ask(['diff-files', ...quick]),
    repository.ask(['ls-files', '--others', '--exclude-standard', '-z']),
  ]);
  const names = [...new Set(listed.flatMap((each) => each.split('\0')).filter(Boolean))].sort();
  const [own] = gitFoldersOf(repository.root);
  const inner = [...names.filter(isRepository), ...(own === undefined ? [] : gitlinksOf(own))];
  const differing: Differing[] = [];
  const folders = new RealFolders(repository.root);
  for (const name of names) if (!isRepository(name)) differing.push(await looked(folders, name));
  const hash = createHash('sha256');
  for (const each of differing) hash.update(JSON.stringify(each));
  return { commit, head: branch === '' ? commit : branch, differing, inner, fingerprint: hash.digest('hex') };
}

/** As git tells it: without git's own files. */
const isRepository = (name: string): boolean => name.endsWith('/');

export function pathOf(root: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);
}

async function looked(folders: RealFolders, name: string): Promise<Differing> {
  // An index may be a stranger's, too.
  if (name.split('/').some((part) => ['', '.', '..', '.git'].includes(part.toLowerCase())))
    throw new CaiError(
      'WORKSPACE',
      `${quoted(folders.root)} cannot be copied, because its index names ${quoted(name)}`,
    );
  const path = pathOf(folders.root, name);
  try {
    if (!(await folders.has(posix.dirname(name)))) return { is: 'gone', name };
    const found = await lstat(path);
    if (found.isSymbolicLink()) return { is: 'link', name, to: await readlink(path, 'buffer') };
    const { mode, size, mtimeMs: at } = found;
    return found.isFile() ? { is: 'file', name, mode: mode & 0o777, size, at } : { is: 'gone', name };
  } catch (reason) {
    if (isMissing(reason)) return { is: 'gone', name };
    throw new CaiError(
      'WORKSPACE',
      `${quoted(folders.root)} cannot be copied: ${quoted(name)}: ${messageOf(reason)}`,
    );
  }
}

/** Folders of a work tree, without links on the way: behind one, git sees nothing. */
class RealFolders {
  readonly #known = new Map<string, boolean>();

  constructor(readonly root: string) {}

  async has(folder: string): Promise<boolean> {
    if (folder === '.') return true;
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const path = pathOf(this.root, folder);
    const isReal = path.equals(await realpath(path, { encoding: 'buffer' }));
    this.#known.set(folder, isReal);
    return isReal;
  }
}

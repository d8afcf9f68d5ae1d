/** What the user trusts in a repository is trusted in its worktrees, too. */
import { writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { unlessFails } from '../../system/unless';
import { readDevcontainer } from '../devcontainer/devcontainer';
import { devcontainerFiles } from '../devcontainer/find';
import type { Snapshot } from '../devcontainer/snapshot';
import type { HostGit } from '../host-git';
import { record, recorded } from '../records';
import { isFree } from './copied';

/**
 * Has the new worktree at `folder` trusted as the repository of `git` is. A record counts for one content alone, so the
 * files of a trusted development container that git ignores, such as `.env`, come into the worktree as they were read,
 * unless something is in their place. Rejects with `CaiError`.
 */
export async function trustAlike(git: HostGit, state: string, folder: string): Promise<void> {
  const repository = git.root;
  const there = (file: string): string => posix.join(folder, posix.relative(repository, file));
  const trust = (file: string): string | undefined => {
    const digest = recorded(state, 'trusted', file);
    if (digest !== undefined) record(state, 'trusted', there(file), digest);
    return digest;
  };
  trust(posix.join(repository, '.containai/config.toml'));
  for (const file of devcontainerFiles(repository)) {
    const digest = trust(file);
    if (digest === undefined) continue;
    // Variables of this machine would only count where they name a file.
    const content = unlessFails(() => readDevcontainer(repository, file, {}));
    if (content?.digest === digest) await writeIgnored(git, content.files, folder);
  }
}

async function writeIgnored(git: HostGit, { files }: Snapshot, folder: string): Promise<void> {
  const listing = ['--literal-pathspecs', 'ls-files', '-z', '--others', '--ignored', '--exclude-standard'];
  const names = (await git.ask([...listing, '--', ...files.keys()])).split('\0');
  for (const [name, { content, isExecutable }] of files) {
    if (!names.includes(name) || !(await isFree(folder, name).catch(() => false))) continue;
    await writeFile(posix.join(folder, name), content, { flag: 'wx', mode: isExecutable ? 0o700 : 0o600 });
  }
}

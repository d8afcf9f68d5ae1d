import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { rememberAgentFolders } from '../../src/system/paths/agent-folders';
import { HostGit } from '../../src/workspace/host-git';
import { mergeWorktree } from '../../src/workspace/worktrees/merge';
import { changesIn, makeWorktree, removeUnchanged } from '../../src/workspace/worktrees/worktrees';
import { git } from '../support/git';
import { Repository } from './worktrees/repository';

let user: Repository;
beforeEach(() => {
  user = new Repository();
});
const hasRun = (): boolean => existsSync(join(user.folder, 'mark'));

test('fails with what to do where the state folder cannot be written', async () => {
  const { state } = user.host.folders;
  mkdirSync(join(state, '..'), { recursive: true });
  writeFileSync(state, '');

  await expect(HostGit.at(user.root, user.host)).rejects.toThrow('or set XDG_STATE_HOME to such a folder');
});

/** Makes a worktree in which an agent changes and commits a file, and merges it. */
async function goThrough(): Promise<void> {
  const { host, root } = user;
  const worktree = await makeWorktree(root, { isOfSession: true }, { copy: [] }, host);
  user.write('file', 'of the agent\n', worktree.folder);
  await changesIn(worktree, host);
  user.plainly(() => {
    user.commit('two', worktree.folder);
    user.write('other', 'of the user\n');
    user.commit('other');
  });
  await mergeWorktree(worktree, [], host);
  await removeUnchanged(worktree, host);
}

describe('what the repository itself names is not run', () => {
  const keys: readonly (readonly [string, string])[] = [
    ['filter.x.clean', ''],
    ['filter.x.smudge', ''],
    ['filter.x.process', ''],
    ['core.fsmonitor', ''],
    ['gpg.program', ''],
    ['core.editor', ''],
  ];
  test.each(keys)('%s', async (key) => {
    user.write('.gitattributes', 'file filter=x\n');
    user.commit('attributes');
    git(user.root, 'config', 'filter.x.required', String(key.startsWith('filter.')));
    git(user.root, 'config', 'commit.gpgSign', String(key === 'gpg.program'));
    git(user.root, 'config', key, user.evil);
    await goThrough().catch((reason: unknown) => {
      // Whoever wants signatures by that program gets no commit.
      if (key !== 'gpg.program') throw reason;
    });
    expect(hasRun()).toBe(false);
  });

  test('hooks', async () => {
    // Not the user's own git.
    user.plainly = (act) => {
      const [hooks, aside] = [join(user.root, '.git/hooks'), join(user.folder, 'hooks')];
      renameSync(hooks, aside);
      act();
      renameSync(aside, hooks);
    };
    for (const name of [
      'post-checkout',
      'pre-merge-commit',
      'post-merge',
      'commit-msg',
      'reference-transaction',
    ]) {
      const hook = join(user.root, '.git/hooks', name);
      mkdirSync(join(hook, '..'), { recursive: true });
      writeFileSync(hook, `#!/bin/sh\n${user.evil}\n`);
      chmodSync(hook, 0o755);
    }
    await goThrough();
    expect(hasRun()).toBe(false);
  });

  test('a merge strategy that an agent has put into a folder of PATH', async () => {
    const { home, root } = user;
    const bin = join(user.folder, 'bin');
    mkdirSync(bin);
    renameSync(user.evil, join(bin, 'git-merge-x'));
    user = Object.assign(user, { host: new Host({ HOME: home, PATH: `${bin}:${process.env.PATH}` }) });
    rememberAgentFolders(user.host.folders.state, [bin]);
    git(root, 'config', 'pull.twohead', 'x');
    await expect(goThrough()).rejects.toThrow("Could not find merge strategy 'x'");
    expect(hasRun()).toBe(false);
  });

  test('a transport, for an object that is missing', async () => {
    const blob = git(user.root, 'rev-parse', 'HEAD:file').trim();
    rmSync(join(user.root, '.git/objects', blob.slice(0, 2), blob.slice(2)));
    for (const [key, value] of [
      ['core.repositoryFormatVersion', '1'],
      ['extensions.partialClone', 'origin'],
      ['remote.origin.url', `ext::${user.evil}`],
      ['protocol.ext.allow', 'always'],
    ] as const)
      git(user.root, 'config', key, value);
    await expect(goThrough()).rejects.toThrow("transport 'ext' not allowed");
    expect(hasRun()).toBe(false);
  });

  test('a merge driver: what it would merge is a conflict', async () => {
    const { host, root } = user;
    user.write('.gitattributes', 'file merge=x\n');
    user.commit('attributes');
    git(root, 'config', 'merge.x.driver', user.evil);
    const worktree = await makeWorktree(root, { isOfSession: true }, { copy: [] }, host);
    user.plainly(() => {
      for (const folder of [root, worktree.folder]) {
        user.write('file', `of ${folder}\n`, folder);
        user.commit('two', folder);
      }
    });
    await expect(mergeWorktree(worktree, [], host)).rejects.toThrow('have changed the same places');
    expect(hasRun()).toBe(false);
  });
});

test('what comes into the configuration once that was looked at is not run', async () => {
  user.write('.gitattributes', 'file filter=x\n');
  user.commit('attributes');
  const host = await HostGit.at(user.root, user.host);
  git(user.root, 'config', 'filter.x.clean', user.evil);
  user.write('file', 'two\n');
  expect(await host.ask(['status', '--porcelain'])).toBe(' M file');
  expect(hasRun()).toBe(false);
});

test('what git prints is limited', async () => {
  const long = join(user.folder, 'long');
  writeFileSync(long, '');
  truncateSync(long, 65 * 2 ** 20);
  const blob = git(user.root, '-c', 'core.compression=1', 'hash-object', '-w', long);

  const asked = (await HostGit.at(user.root, user.host)).ask(['cat-file', 'blob', blob.trim()]);

  await expect(asked).rejects.toThrow(/git prints more than 64 MiB about .*: look at its files yourself/);
});

test('what the user’s own configuration names is run, whatever the repository says', async () => {
  const { host, root } = user;
  user.write('.gitattributes', 'file merge=x\n');
  user.commit('attributes');
  git(root, 'config', '--file', join(user.home, '.gitconfig'), 'merge.x.driver', user.evil);
  git(root, 'config', 'merge.x.driver', 'false');
  const worktree = await makeWorktree(root, { isOfSession: true }, { copy: [] }, host);
  user.plainly(() => {
    for (const folder of [root, worktree.folder]) {
      user.write('file', `of ${folder}\n`, folder);
      user.commit('two', folder);
    }
  });
  await mergeWorktree(worktree, [], host);
  expect(hasRun()).toBe(true);
});

test('a filter of the user’s own is not run, because it may read what the repository says', async () => {
  user.write('.gitattributes', 'file filter=x\n');
  user.commit('attributes');
  const own = (key: string, value: string): string =>
    git(user.root, 'config', '--file', join(user.home, '.gitconfig'), `filter.x.${key}`, value);
  for (const key of ['clean', 'smudge', 'process']) own(key, user.evil);
  own('required', 'true');
  await goThrough();
  expect(hasRun()).toBe(false);
});

test('a look at a pipe in the place of a file ends', async () => {
  user.write('sub/new', '');
  execFileSync('mkfifo', [join(user.root, 'sub/.gitignore')]);

  const look = (await HostGit.at(user.root, user.host, 500)).ask(['status', '--porcelain']);

  await expect(look).rejects.toThrow(/git did not end within 0.5 s: look for a pipe .* "find -type p"/);
});

describe('at fails', () => {
  const failure = async (root = user.root): Promise<string> =>
    await HostGit.at(root, user.host).then(
      () => '',
      (reason: unknown) => (reason as Error).message,
    );

  test('for what cannot be overridden', async () => {
    git(user.root, 'config', 'includeIf.onbranch:cai/**.path', 'evil');
    expect(await failure()).toContain('includes another file ("includeif.onbranch:cai/**.path")');
    git(user.root, 'config', '--remove-section', 'includeIf.onbranch:cai/**');
    git(user.root, 'config', 'include.path', '../inc');
    expect(await failure()).toContain('includes another file ("include.path")');
    git(user.root, 'config', '--remove-section', 'include');
    git(user.root, 'config', 'filter.a=b.clean', user.evil);
    expect(await failure()).toContain('names a program ("filter.a=b.clean")');
    git(user.root, 'config', '--remove-section', 'filter.a=b');
    git(user.root, 'config', 'extensions.worktreeConfig', 'true');
    expect(await failure()).toContain('lets worktrees have configurations ("extensions.worktreeconfig")');
  });

  test('where git is slow, without saying what it has not found out', async () => {
    rmSync(join(user.root, '.git/HEAD'));
    execFileSync('mkfifo', [join(user.root, '.git/HEAD')]);
    await expect(HostGit.at(user.root, user.host, 500)).rejects.toThrow('git did not answer within 0.5 s');
  });

  test('where git would write the words of others to where a link leads', async () => {
    symlinkSync(join(user.home, '.zshenv'), join(user.root, '.git/MERGE_MSG'));
    expect(await failure()).toMatch(
      /\.git.MERGE_MSG" is a link, and git would write where it leads: remove it$/,
    );
  });

  test('for a folder that is no top of a work tree', async () => {
    mkdirSync(join(user.root, 'sub'));
    expect(await failure(join(user.root, 'sub'))).toContain('is not the top of a git repository');
    expect(await failure(user.home)).toContain('is not the top of a git repository');
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { rememberAgentFolders } from '../../src/system/paths/agent-folders';
import { findOuterGit, recordOuterGit } from '../../src/workspace/git-folder';
import { record } from '../../src/workspace/records';
import { git } from '../support/git';
import { newFolder } from '../support/temp-folder';

let host: Host;
let main: string;

beforeEach(() => {
  host = new Host({ HOME: newFolder(), PATH: process.env.PATH });
  main = newFolder();
  git(main, 'init', '-q');
  git(main, 'commit', '-q', '--allow-empty', '-m', 'first');
});

/** What an agent in `main` and one in `root` can do together. */
function collude(root: string): void {
  const evil = join(main, '.git/worktrees/evil');
  mkdirSync(evil, { recursive: true });
  writeFileSync(join(evil, 'gitdir'), `${join(root, '.git')}\n`);
  writeFileSync(join(root, '.git'), `gitdir: ${evil}\n`);
}

/** As the first use of a workspace does. */
async function use(root: string): Promise<void> {
  recordOuterGit(root, host, (await findOuterGit(root, host)).git);
}

describe('findOuterGit', () => {
  test('counts a worktree from its first use on', async () => {
    const tree = join(newFolder(), 'tree');
    git(main, 'worktree', 'add', '-q', tree);
    const wanted = { git: { folder: join(main, '.git'), worktree: 'worktrees/tree' } };

    await use(tree);
    rememberAgentFolders(host.folders.state, [tree, main]);
    expect(await findOuterGit(tree, host)).toEqual(wanted);
  });

  test('does not count one that a workspace has become', async () => {
    const unrelated = newFolder();
    expect(await findOuterGit(unrelated, host)).toEqual({ git: undefined });
    await use(unrelated);
    collude(unrelated);

    const { git: found, notice } = await findOuterGit(unrelated, host);
    expect(found).toBeUndefined();
    expect(notice).toContain(`run: cai trust "${unrelated}"`);
  });

  test('does not count one that lies where an agent can write, unless its repository does, too', async () => {
    const around = newFolder();
    rememberAgentFolders(host.folders.state, [around, main]);
    const inner = join(around, 'inner');
    mkdirSync(inner);
    collude(inner);
    const { git: found, notice } = await findOuterGit(inner, host);
    expect(found).toBeUndefined();
    expect(notice).toContain(around);

    const tree = join(main, '.worktrees/tree');
    git(main, 'worktree', 'add', '-q', tree);
    expect((await findOuterGit(tree, host)).git?.folder).toBe(join(main, '.git'));
  });

  test('counts what the user has agreed to', async () => {
    const unrelated = newFolder();
    await use(unrelated);
    collude(unrelated);
    record(host.folders.state, 'git-folders', unrelated, join(main, '.git'));

    expect((await findOuterGit(unrelated, host)).git?.folder).toBe(join(main, '.git'));
  });
});

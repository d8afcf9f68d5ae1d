import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ownIdentity } from '../../../src/system/process-identity';
import type { CliOptions, CliResult } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { git } from '../../support/git';
import { Repository } from '../../workspace/worktrees/repository';

let user: Repository;
let options: CliOptions;
let folder: string;
beforeEach(async () => {
  user = new Repository();
  options = { env: { HOME: user.home }, cwd: user.root };
  folder = (await worktree('new', 'one')).stdout.trim();
});

async function worktree(...args: string[]): Promise<CliResult> {
  return await runHere(['worktree', ...args], options);
}

/** Has `cai` remember a session in a worktree. */
function remember(openBy?: string): void {
  const at = new Date().toISOString();
  const record = {
    id: 'i',
    agent: 'claude',
    agentId: 'a',
    root: folder,
    cwd: user.root,
    at,
    title: 'Mend it',
    openBy,
  };
  const { state } = user.host.folders;
  mkdirSync(state, { recursive: true });
  appendFileSync(join(state, 'sessions.ndjson'), `${JSON.stringify(record)}\n`);
}

test('new makes one, and list shows what it has', async () => {
  expect(git(folder, 'branch', '--show-current')).toBe('cai/one\n');
  remember(ownIdentity());
  user.write('file', 'two\n', folder);
  user.commit('two', folder);
  user.write('more', '', folder);

  expect(await worktree()).toEqual({
    status: 0,
    stderr: '',
    stdout: expect.stringMatching(/^BRANCH +FOLDER +SESSION +STATE\ncai\/one +\S+shop-one +Mend it \(open\) +not committed, 1 commit\n$/) as string, // prettier-ignore
  });
  // In the worktree itself, it is the same repository.
  const { stdout } = await runHere(['worktree', '--json'], { ...options, cwd: folder });
  expect(JSON.parse(stdout)).toEqual([
    {
      ...{ branch: 'cai/one', folder, repository: user.root },
      ...{ isOfSession: false, isUncommitted: true, commits: 1 },
      sessions: [{ id: 'i', title: 'Mend it', agent: 'claude', isLive: true }],
    },
  ]);
});

test('merge brings the branch into the repository, and rm takes the folder and the branch away', async () => {
  user.write('.envrc', 'two\n', folder);
  user.commit('two', folder);
  expect(await worktree('merge', 'one')).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^cai\/one is merged into main;/) as string,
    stderr: expect.stringMatching(/^cai: .* look at them first: "\.envrc"\n$/) as string,
  });
  expect((await worktree('merge', folder)).stdout).toMatch(/^main has all of cai\/one already;/);

  expect((await worktree('rm', 'cai/one')).stdout).toBe(
    `Removed ${JSON.stringify(folder)}, and its branch cai/one\n`,
  );

  expect(existsSync(folder)).toBe(false);
  expect(user.branches).toEqual(['main']);
  expect((await worktree()).stderr).toContain('no worktrees of');
});

test('rm refuses what would be lost, but for --force, and leaves commits in the branch', async () => {
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'two');
  user.write('more', '', folder);
  expect(await worktree('rm', 'one')).toMatchObject({ status: 2, stderr: expect.stringContaining('it has changes that are not committed') as string }); // prettier-ignore
  remember(ownIdentity());
  expect((await worktree('rm', 'one')).stderr).toContain('a session is open in it');
  expect(existsSync(folder)).toBe(true);

  expect((await worktree('rm', '--force', 'one')).stdout).toContain('but its branch stays');

  expect(user.branches).toEqual(['cai/one', 'main']);
});

const misuses: readonly [string, string[], string][] = [
  ['an unknown word', ['mrege', 'one'], '"mrege" is not one of list, new, merge, rm, did you mean "cai worktree merge"?'], // prettier-ignore
  ['a name that is a path', ['new', '../up'], '"../up" cannot name a branch and a folder'],
  ['no name', ['rm'], 'name a worktree by its branch'],
  ['a name of none', ['merge', 'two'], 'has no worktree "two"'],
  ['a name for list', ['list', 'one'], 'takes no name'],
  ['an option of another word', ['merge', '--force', 'one'], '--force is for rm'],
];
test.each(misuses)('%s is a mistake', async (_, args, message) => {
  const { status, stderr } = await worktree(...args);
  expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
});

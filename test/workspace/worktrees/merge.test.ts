import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mergeWorktree } from '../../../src/workspace/worktrees/merge';
import { makeWorktree, type Worktree } from '../../../src/workspace/worktrees/worktrees';
import { git } from '../../support/git';
import { Repository } from './repository';

let user: Repository;
let worktree: Worktree;
beforeEach(async () => {
  user = new Repository();
  const config = { copy: [] };
  worktree = await makeWorktree(user.root, { name: 'one', isOfSession: false }, config, user.host);
});
const merge = async () => await mergeWorktree(worktree, ['own/*'], user.host);

test('merges into the branch that is checked out, once', async () => {
  expect(await merge()).toEqual({ into: 'main', isNews: false, toReview: [] });
  user.write('file', 'two\n', worktree.folder);
  user.commit('two', worktree.folder);
  user.write('other', '');
  user.commit('other');

  expect(await merge()).toEqual({ into: 'main', isNews: true, toReview: [] });

  expect(readFileSync(join(user.root, 'file'), 'utf8')).toBe('two\n');
  expect(git(user.root, 'log', '-1', '--format=%s')).toBe("Merge branch 'cai/one'\n");
  expect(await merge()).toEqual({ into: 'main', isNews: false, toReview: [] });
});

test('names the files that programs on the machine would run', async () => {
  for (const name of ['.vscode/tasks.json', 'own/hook\n', '.mvn/jvm.config', 'other', 'out/.envrc'])
    user.write(name, 'text', worktree.folder);
  user.commit('two', worktree.folder);

  const { toReview } = await merge();

  expect(toReview).toEqual(['.mvn/jvm.config', '.vscode/tasks.json', 'own/hook\n']);
});

test('refuses what would be left out, and a repository without a branch', async () => {
  user.write('new', '', worktree.folder);
  await expect(merge()).rejects.toThrow('has changes that are not committed, which would be left out');
  user.commit('new', worktree.folder);
  git(user.root, 'switch', '-q', '--detach');
  await expect(merge()).rejects.toThrow('has no branch checked out');
});

test('leaves a conflict to the user, and work that is not committed as it is', async () => {
  user.write('file', 'two\n', worktree.folder);
  user.commit('two', worktree.folder);
  user.write('file', 'of the user\n');
  await expect(merge()).rejects.toThrow('git failed');
  expect(readFileSync(join(user.root, 'file'), 'utf8')).toBe('of the user\n');
  user.commit('of the user');
  await expect(merge()).rejects.toThrow(/resolve that in .* and run "git commit" there.*\nCONFLICT .*file/s);
  expect(git(user.root, 'diff', '--name-only', '--diff-filter=U')).toBe('file\n');
});

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathsNamedByGit, patternsFor } from '../../src/workspace/git-named-paths';
import { newFolder } from './temp-folder';

let root: string;
let home: string;

beforeEach(() => {
  root = newFolder();
  home = newFolder();
  execFileSync('git', ['-C', root, 'init', '-q']);
});

const set = (key: string, value: string) => execFileSync('git', ['-C', root, 'config', key, value]);
const paths = () => pathsNamedByGit(root, { HOME: home, PATH: process.env.PATH });

describe('pathsNamedByGit', () => {
  test('tells the folder of core.hooksPath that lies in the workspace', async () => {
    set('core.hooksPath', '.githooks');
    expect(await paths()).toEqual(['.githooks']);
  });

  test('tells it where the user has set it for all repositories', async () => {
    writeFileSync(join(home, '.gitconfig'), '[core]\n\thookspath = tools/hooks\n');
    expect(await paths()).toEqual(['tools/hooks']);
  });

  test('tells it wherever it is set, because a condition may make any of them count', async () => {
    writeFileSync(join(home, '.gitconfig'), '[core]\n\thooksPath = tools/hooks\n');
    set('core.hooksPath', join(root, 'own'));
    expect(await paths()).toEqual(['tools/hooks', 'own']);
  });

  test('tells included files of configuration', async () => {
    writeFileSync(join(root, '.gitconfig'), '[alias]\n\tx = !true\n');
    set('include.path', '../.gitconfig');
    expect(await paths()).toEqual(['.gitconfig']);
  });

  test('tells files that are included on a condition, or not there', async () => {
    set('include.path', '../missing');
    set('includeIf.gitdir:/elsewhere/.path', '../conditional');
    expect(await paths()).toEqual(['missing', 'conditional']);
  });

  test.each(['/usr/share/hooks', '~/hooks', '.git/own-hooks', '../beside', '.'])(
    'tells nothing of hooks in %s, which is elsewhere or protected by its name',
    async (path) => {
      set('core.hooksPath', path);
      expect(await paths()).toEqual([]);
    },
  );

  test('tells what a linked worktree takes from the repository that it belongs to', async () => {
    execFileSync('git', ['-C', root, '-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-q', '--allow-empty', '-m', 'first']); // prettier-ignore
    set('core.hooksPath', '.githooks');
    const tree = join(newFolder(), 'tree');
    execFileSync('git', ['-C', root, 'worktree', 'add', '-q', tree]);
    expect(await pathsNamedByGit(tree, { HOME: home, PATH: process.env.PATH })).toEqual(['.githooks']);
  });

  test('does not run git where nothing speaks of paths', async () => {
    expect(await pathsNamedByGit(root, { HOME: home, PATH: '/nonexistent' })).toEqual([]);
    set('core.hooksPath', '.githooks');
    expect(await pathsNamedByGit(root, { HOME: home, PATH: '/nonexistent' })).toEqual([]);
  });
});

test('patternsFor tells what is configured and what git names', async () => {
  set('core.hooksPath', '.githooks');
  const patterns = await patternsFor(root, ['deploy'], { HOME: home, PATH: process.env.PATH });
  expect(patterns).toEqual(['deploy', '.githooks']);
});

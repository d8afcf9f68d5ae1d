import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { recordBaseline } from '../../../src/workspace/protect/baseline';
import { pathsNamedByGit, patternsFor } from '../../../src/workspace/protect/git-named-paths';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

let root: string;
let home: string;

beforeEach(() => {
  root = newFolder();
  home = newFolder();
  git(root, 'init', '-q');
});

const commit = (folder: string) => git(folder, 'commit', '-q', '--allow-empty', '-m', 'first');
const set = (key: string, value: string) => git(root, 'config', key, value);
const named = async (workTree: string, PATH = process.env.PATH, within = workTree) =>
  (await pathsNamedByGit({ workTree, within, host: new Host({ HOME: home, PATH }) })).patterns;
const paths = () => named(root);

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
    expect(await paths()).toEqual(['own', 'tools/hooks']);
  });

  test('tells included files of configuration', async () => {
    writeFileSync(join(root, '.gitconfig'), '[alias]\n\tx = !true\n');
    set('include.path', '../.gitconfig');
    expect(await paths()).toEqual(['.gitconfig']);
  });

  test('tells hooks in the git folder, and where a link leads to hooks', async () => {
    set('core.hooksPath', '.git/own-hooks');
    expect(await paths()).toEqual(['.git/own-hooks']);
    mkdirSync(join(root, 'real'));
    symlinkSync('real', join(root, 'linked'));
    set('core.hooksPath', 'linked');
    expect(await paths()).toEqual(['linked', 'real']);
  });

  test('tells the hooks of repositories inside, each in its own folder, and of linked worktrees', async () => {
    const inner = join(root, 'deps/lib');
    execFileSync('git', ['init', '-q', inner]);
    commit(inner);
    git(inner, 'config', 'core.hooksPath', 'hooks-of-lib');
    git(root, '-c', 'advice.addEmbeddedRepo=false', 'add', 'deps/lib');
    commit(root);
    git(root, 'worktree', 'add', '-q', 'tree');
    set('core.hooksPath', '.githooks');
    expect(await paths()).toEqual(['.githooks', 'deps/lib/hooks-of-lib', 'tree/.githooks']);
  });

  test('tells them though an agent has broken the repository', async () => {
    set('core.hooksPath', '.githooks');
    rmSync(join(root, '.git/HEAD'));
    expect(await paths()).toEqual(['.githooks']);
  });

  test('tells what lies in the git folder of a linked worktree', async () => {
    commit(root);
    set('include.path', 'branchless/config');
    const tree = join(newFolder(), 'tree');
    git(root, 'worktree', 'add', '-q', tree);
    expect(await named(tree, process.env.PATH, join(root, '.git'))).toEqual(['branchless/config']);
  });

  test('tells files that are included on a condition, or not there', async () => {
    set('include.path', '../missing');
    set('includeIf.gitdir:/elsewhere/.path', '../conditional');
    expect(await paths()).toEqual(['conditional', 'missing']);
  });

  test.each(['/usr/share/hooks', '~/hooks', '../beside', '.'])(
    'tells nothing of hooks in %s, which is elsewhere or protected by its name',
    async (path) => {
      set('core.hooksPath', path);
      expect(await paths()).toEqual([]);
    },
  );

  test('tells what a linked worktree takes from the repository that it belongs to', async () => {
    commit(root);
    set('core.hooksPath', '.githooks');
    const tree = join(newFolder(), 'tree');
    git(root, 'worktree', 'add', '-q', tree);
    expect(await named(tree)).toEqual(['.githooks']);
  });

  test('does not run git where nothing speaks of paths', async () => {
    expect(await named(root, '/nonexistent')).toEqual([]);
    set('core.hooksPath', '.githooks');
    expect(await named(root, '/nonexistent')).toEqual([]);
  });
});

test('patternsFor goes by what was known where git cannot tell', async () => {
  set('include.path', '../fifo');
  execFileSync('mkfifo', [join(root, 'fifo')]);
  const host = new Host({ HOME: home, PATH: process.env.PATH });
  recordBaseline(host.folders.state, root, { patterns: ['.githooks'] });
  expect(await patternsFor({ workTree: root, within: root, host }, ['deploy'])).toEqual({
    patterns: ['deploy', '.githooks'],
    unasked: ['.git/config'],
  });
});

test('patternsFor asks git of so many files at most, four at a time, and tells of which it was not asked', async () => {
  const [bin, count] = [newFolder(), 150];
  const log = join(bin, 'log');
  const script = `#!/bin/sh\necho begin >> ${log}; echo end >> ${log}\n`;
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
  const links: string[] = [];
  for (let n = 0; n < count; n++) {
    const lib = `lib/${String(n).padStart(3, '0')}`;
    for (const name of ['objects', 'refs']) mkdirSync(join(root, lib, '.git', name), { recursive: true });
    writeFileSync(join(root, lib, '.git/HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(root, lib, '.git/config'), '[include]\n\tpath = more\n');
    links.push(`160000 ${'1'.repeat(40)} 0\t${lib}\n`);
  }
  execFileSync('git', ['-C', root, 'update-index', '--index-info'], { input: links.join('') });
  const host = new Host({ HOME: home, PATH: `${bin}:${process.env.PATH}` });

  const { unasked } = await patternsFor({ workTree: root, within: root, host }, []);

  const rest = Array.from({ length: count - 128 }, (_, n) => `lib/${n + 128}/.git/config`);
  // There may be more on a machine that is slow.
  expect(unasked).toEqual(expect.arrayContaining(rest));
  let open = 0;
  const most = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (open += line === 'begin' ? 1 : -1));
  expect(Math.max(...most)).toBeLessThanOrEqual(4);
  expect(most.length).toBeLessThanOrEqual(2 * 128);
});

test('patternsFor tells what is configured and what git names', async () => {
  set('core.hooksPath', '.githooks');
  const patterns = await patternsFor(
    { workTree: root, within: root, host: new Host({ HOME: home, PATH: process.env.PATH }) },
    ['deploy'],
  );
  expect(patterns).toEqual({ patterns: ['deploy', '.githooks'], unasked: [] });
});

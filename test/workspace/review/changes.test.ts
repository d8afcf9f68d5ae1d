import { chmodSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderFor, readTold, recordBaseline, writeTold } from '../../../src/workspace/protect/baseline';
import { accept, changesIn, forgetTold } from '../../../src/workspace/review/changes';
import { Watch } from '../../../src/workspace/review/watch';
import { newFolder } from '../../support/temp-folder';
import { root, state, write } from '../protect/recorded-root';

const found = (): string[] => changesIn(state, root).map(({ kind, name }) => `${kind} ${name}`);

test('what is new, changed, made executable or gone is told, in all folders of sessions', () => {
  for (const path of ['.envrc', '.husky/a', '.husky/b', '.husky/c', 'app/.envrc']) write(path);
  recordBaseline(state, root);
  recordBaseline(state, join(root, 'app'), { root });
  expect(found()).toEqual([]);

  write('.zed/tasks.json');
  write('.husky/a', 'other');
  chmodSync(join(root, '.husky/b'), 0o755);
  rmSync(join(root, '.husky/c'));
  write('app/.mcp.json');

  expect(found()).toEqual([
    'changed .husky/a',
    'changed .husky/b',
    'gone .husky/c',
    'new .zed/tasks.json',
    'new app/.mcp.json',
  ]);
});

test('what git itself puts into the folder of each worktree is not told, unless it leads elsewhere', () => {
  const tree = '.git/worktrees/tree';
  write('.git/HEAD', 'ref: refs/heads/main\n');
  write('.git/worktrees/earlier/commondir', '../..\n');
  recordBaseline(state, root);
  const watch = new Watch(state, root);
  rmSync(join(root, '.git/worktrees/earlier'), { recursive: true });
  write(`${tree}/commondir`, '../..\n');
  const told: string[] = [];
  watch.look(
    [root],
    ({ changed }) => told.push(...changed),
    (reason) => told.push(String(reason)),
  );
  expect([found(), told]).toEqual([[], []]);

  write(`${tree}/commondir`, '../../..\n');
  write(`${tree}/config.worktree`);
  write('.git/commondir', '../..\n');

  expect(found()).toEqual(['new .git/commondir', `new ${tree}/commondir`, `new ${tree}/config.worktree`]);
});

test('upstreams of branches in the configuration of git are not told, unless there is more', () => {
  const config = '[core]\n\tbare = false\n[remote "origin"]\n\turl = x\n';
  const branch = '[branch "a"]\n\tremote = origin\n\tmerge = refs/heads/a\n';
  write('.git/config', config);
  recordBaseline(state, root);
  write('.git/config', config + branch);
  expect(found()).toEqual([]);

  write('.git/config', `${config}${branch}[core]\n\tpager = x\n`);
  expect(found()).toEqual(['changed .git/config']);

  write('.git/config', config + branch);
  chmodSync(join(root, '.git/config'), 0o666);
  expect(found()).toEqual(['changed .git/config']);
});

test('without what was written down, all is unknown', () => {
  write('.envrc');
  expect(found()).toEqual(['unknown .envrc']);

  recordBaseline(state, root);
  writeFileSync(join(folderFor(state, root), 'baseline.json'), 'damaged');
  expect(found()).toEqual(['unknown .envrc']);

  accept(state, root, changesIn(state, root));
  expect(found()).toEqual([]);
});

test('a folder that has become a link is not followed', () => {
  write('app/.envrc');
  recordBaseline(state, root);
  recordBaseline(state, join(root, 'app'), { root });
  renameSync(join(root, 'app'), join(root, 'was'));
  symlinkSync(newFolder(), join(root, 'app'));

  expect(found()).toEqual(['gone app/.envrc']);
});

test('what is accepted is known as it was then, and nothing else', () => {
  recordBaseline(state, root);
  write('.envrc', 'seen');
  write('.zed/tasks.json');
  const seen = changesIn(state, root).filter(({ name }) => name === '.envrc');
  write('.envrc', 'swapped');

  accept(state, root, seen);
  expect(found()).toEqual(['changed .envrc', 'new .zed/tasks.json']);

  write('.envrc', 'seen');
  expect(found()).toEqual(['new .zed/tasks.json']);
});

test('what is put aside is forgotten, so that it is told again', () => {
  recordBaseline(state, root);
  write('.envrc');
  write('mise.toml');
  writeTold(state, root, new Map([['.envrc', 'x'], ['mise.toml', 'y']])); // prettier-ignore

  forgetTold(state, changesIn(state, root).filter(({ name }) => name === '.envrc')); // prettier-ignore

  expect(readTold(state, root)).toEqual(new Map([['mise.toml', 'y']]));
});

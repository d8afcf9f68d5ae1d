import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import type * as promises from 'node:fs/promises';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { recordBaseline } from '../../../src/workspace/protect/baseline';
import { accept, changesIn } from '../../../src/workspace/review/changes';
import { Watch } from '../../../src/workspace/review/watch';
import { newFolder } from '../../support/temp-folder';
import { root, state, write } from '../protect/recorded-root';

jest.mock('node:fs/promises', () => {
  const real: typeof promises = jest.requireActual('node:fs/promises');
  return { ...real, statfs: jest.fn(real.statfs), stat: jest.fn(real.stat) };
});

beforeEach(() => {
  jest.mocked(statfs).mockResolvedValue({ type: 0xef53 } as never);
});

/** A look that fails. */
function fail(reason: unknown): void {
  throw reason;
}

/** A watch that has found out where the root lies. */
async function watched(isProtected = true, records = state): Promise<Watch> {
  recordBaseline(records, root, { readOnly: isProtected ? [root] : [] });
  const watch = new Watch(records, root);
  await Promise.resolve();
  return watch;
}

function news(watch: Watch, ...folders: string[]): readonly string[] {
  let found: readonly string[] = [];
  watch.look([root, ...folders], ({ changed }) => (found = changed), fail);
  return found;
}

function crowds(watch: Watch): readonly string[] {
  let found: readonly string[] = [];
  watch.look([root], (all) => (found = all.crowds), fail);
  return found;
}

test('tells what comes into being, once', async () => {
  write('.git/config');
  write('.envrc');
  const watch = await watched();
  expect(news(watch)).toEqual([]);

  write('.vscode/tasks.json');
  write('.git/hooks/post-checkout');
  write('.git/hooks/post-checkout.sample');
  write('src/main.ts');

  expect(news(watch)).toEqual(['.git/hooks/post-checkout', '.vscode/tasks.json']);
  expect(news(watch)).toEqual([]);
  expect(news(await watched())).toEqual([]);
});

test('tells each time what is too much to look at, also if that was so from the start', async () => {
  write('.git/HEAD', 'ref: refs/heads/main\n');
  mkdirSync(join(root, '.git/objects'));
  mkdirSync(join(root, '.git/refs'));
  write('.git/index');
  truncateSync(join(root, '.git/index'), 49 * 2 ** 20);
  const watch = await watched();

  for (let turn = 0; turn < 3; turn++) expect(crowds(watch)).toEqual(['.git/index']);
  expect(news(watch)).toEqual([]);
  expect(changesIn(state, root).map(({ name, now }) => [name, now?.state])).toEqual([
    ['.git/index', 'crowd'],
  ]);

  truncateSync(join(root, '.git/index'), 48 * 2 ** 20);
  expect(crowds(watch)).toEqual([]);
});

test('tells again what was changed, made executable, or taken away and made again', async () => {
  const watch = await watched();
  write('.vscode/tasks.json', 'one');
  news(watch);

  write('.vscode/tasks.json', 'two');
  expect(news(watch)).toEqual(['.vscode/tasks.json']);

  rmSync(join(root, '.vscode'), { recursive: true });
  expect(news(watch)).toEqual([]);
  write('.vscode/tasks.json', 'two');
  expect(news(watch)).toEqual(['.vscode/tasks.json']);

  symlinkSync('/etc/passwd', join(root, '.vscode/link'));
  expect(news(watch)).toEqual(['.vscode/link']);
});

test('tells what was renamed into the place of something read-only, which no mount protects any more', async () => {
  write('.git/config');
  write('.envrc');
  const watch = await watched();

  write('.git/config.lock', 'push -u');
  renameSync(join(root, '.git/config.lock'), join(root, '.git/config'));
  expect(news(watch)).toEqual(['.git/config']);
  expect(news(watch)).toEqual([]);

  write('.git/config', 'by the agent');
  expect(news(watch)).toEqual(['.git/config']);
});

test('says nothing of what is read-only in the container: the user changes it', async () => {
  write('.vscode/settings.json');
  const watch = await watched();

  write('.vscode/settings.json', 'mine');
  write('.vscode/more.json');
  expect(news(watch)).toEqual([]);

  // Taken away by the user and made again: what is there now may be the agent's.
  rmSync(join(root, '.vscode'), { recursive: true });
  news(watch);
  write('.vscode/settings.json', 'theirs');
  expect(news(watch)).toEqual(['.vscode/settings.json']);
});

test('tells what was replaced before it began to look', async () => {
  write('.git/config');
  await watched();
  write('.git/config.lock', 'git config');
  renameSync(join(root, '.git/config.lock'), join(root, '.git/config'));
  expect(news(await watched())).toEqual(['.git/config']);

  write('.git/config', 'by the agent');

  expect(news(await watched())).toEqual(['.git/config']);
});

test('tells what was replaced as often as it takes to have the same inode number again', async () => {
  write('.git/config');
  const watch = await watched();
  for (const text of ['one', 'two', 'three', 'four']) {
    write('.git/config.lock', text);
    renameSync(join(root, '.git/config.lock'), join(root, '.git/config'));
    expect(news(watch)).toEqual(['.git/config']);
  }
});

test('tells changes of a file that has another name, which no mount protects', async () => {
  write('src/a');
  linkSync(join(root, 'src/a'), join(root, '.envrc'));
  const watch = await watched();

  write('src/a', 'by the agent');
  rmSync(join(root, 'src/a'));

  expect(news(watch)).toEqual(['.envrc']);
});

test('tells what is in a folder that has taken the place of a link', async () => {
  write('settings/a');
  symlinkSync('settings', join(root, '.vscode'));
  const watch = await watched();

  rmSync(join(root, '.vscode'));
  write('.vscode/tasks.json');

  expect(news(watch)).toEqual(['.vscode/tasks.json']);
});

test('tells changes of what was accepted, which a container that runs can still write', async () => {
  write('.envrc');
  write('.vscode/tasks.json');
  rmSync(join(root, '.vscode'), { recursive: true });
  await watched();
  write('.vscode/tasks.json', 'one');
  accept(state, root, changesIn(state, root));
  const watch = await watched();
  expect(news(watch)).toEqual([]);

  write('.vscode/tasks.json', 'two');
  write('.envrc', 'mine');

  expect(news(watch)).toEqual(['.vscode/tasks.json']);
});

test('tells changes of what agents could write once, or can in a folder around it', async () => {
  write('.envrc');
  write('app/.envrc');
  const app = join(root, 'app');
  const watch = await watched();
  recordBaseline(state, app, { readOnly: [app] });

  recordBaseline(state, root);
  await watched();
  write('.envrc', 'two');
  write('app/.envrc', 'two');

  expect(news(watch, app)).toEqual(['.envrc', 'app/.envrc']);
});

test('tells changes where nothing is protected', async () => {
  write('.git/config', 'one');
  const watch = await watched(false);

  write('.git/config', 'two');

  expect(news(watch)).toEqual(['.git/config']);
});

test('looks at the folder of a session as well, in which the container can change what is there', async () => {
  write('packages/app/.envrc', 'one');
  const watch = await watched();
  const folder = join(root, 'packages/app');
  watch.open(folder);
  expect(news(watch, folder)).toEqual([]);

  write('packages/app/.envrc', 'two');
  write('packages/app/.zed/tasks.json');
  write('packages/other/.zed/tasks.json');

  expect(news(watch, folder)).toEqual(['packages/app/.envrc', 'packages/app/.zed/tasks.json']);
});

test('takes what is there for known where nothing was written down', async () => {
  write('.envrc');
  const file = join(newFolder(), 'file');
  writeFileSync(file, '');
  const host = new Host({ HOME: newFolder(), XDG_STATE_HOME: file });
  const watch = await watched(true, host.folders.state);
  expect(news(watch)).toEqual([]);

  write('.zed/tasks.json');

  expect(news(watch)).toEqual(['.zed/tasks.json']);
});

test('on a file system that may not answer, looks once that does, and asks one thing at a time', async () => {
  jest.mocked(statfs).mockResolvedValue({ type: 0x6969 } as never);
  const answers: ((value: never) => void)[] = [];
  jest.mocked(stat).mockImplementation(() => new Promise((resolve) => answers.push(resolve)));
  const watch = await watched();
  write('.envrc');
  const told: (readonly string[])[] = [];
  const look = (): void => watch.look([root], ({ changed }) => told.push(changed), fail);

  look();
  look();
  expect([told, answers.length]).toEqual([[], 1]);

  answers[0]!(undefined as never);
  await new Promise(setImmediate);
  expect(told).toEqual([['.envrc']]);
  look();
  expect(answers.length).toBe(2);
});

test('tells all else where an agent has closed the way to what is read-only', async () => {
  write('.claude/settings.json');
  const watch = await watched();
  renameSync(join(root, '.claude'), join(root, 'other'));
  symlinkSync('.claude', join(root, '.claude'));
  write('.envrc');
  expect(news(watch)).toContain('.envrc');
});

test.each([0xef53, 0x6969])('tells whoever asks that a look has failed (%d)', async (type) => {
  jest.mocked(statfs).mockResolvedValue({ type } as never);
  jest.mocked(stat).mockResolvedValue(undefined as never);
  const watch = await watched();
  write('.envrc');
  const failed = jest.fn();

  watch.look([root], () => fail('this'), failed);
  await new Promise(setImmediate);
  expect(failed.mock.calls).toEqual([['this']]);
});

test('tells what comes into being where only the configuration or git protects', async () => {
  recordBaseline(state, root, { readOnly: [root], patterns: ['deploy', '.githooks'] });
  const watch = await watched();
  write('deploy/run.sh');
  write('.githooks/pre-commit');
  write('other/run.sh');
  expect(news(watch)).toEqual(['.githooks/pre-commit', 'deploy/run.sh']);
});

test('tells of a folder that the configuration protects no longer', async () => {
  write('deploy/run.sh');
  recordBaseline(state, root, { readOnly: [root], patterns: ['deploy'] });
  const watch = await watched();
  write('deploy/run.sh', 'of the user');
  expect(news(watch)).toEqual([]);

  recordBaseline(state, root, { readOnly: [join(root, '.git')], patterns: [] });
  recordBaseline(state, root, { readOnly: [root], patterns: ['deploy'] });
  write('deploy/run.sh', 'of the agent');
  expect(news(watch)).toEqual(['deploy/run.sh']);
});

test('tells what links in a git folder come into being, through which git would write', async () => {
  for (const path of ['.git/HEAD', '.git/logs/HEAD', '.git/objects/ab/c']) write(path);
  symlinkSync('/elsewhere', join(root, '.git/known'));
  const watch = await watched();
  expect(news(watch)).toEqual([]);
  rmSync(join(root, '.git/logs/HEAD'));
  symlinkSync('/home/user/.profile', join(root, '.git/logs/HEAD'));
  symlinkSync('/home/user/.profile', join(root, '.git/COMMIT_EDITMSG'));
  symlinkSync('x', join(root, '.git/objects/link'));
  expect(news(watch)).toEqual(['.git/COMMIT_EDITMSG', '.git/logs/HEAD']);
});

test('tells again what was taken away and made again between two looks', async () => {
  const watch = await watched();
  write('.envrc', 'evil');
  expect(news(watch)).toEqual(['.envrc']);
  rmSync(join(root, '.envrc'));
  write('.envrc', 'evil');
  expect(news(watch)).toEqual(['.envrc']);
});

test('does not trust what the next container leaves open', async () => {
  write('sub/.git/config', 'of the user');
  recordBaseline(state, root, { readOnly: [root], patterns: ['sub/.git/config'] });
  recordBaseline(state, root, { readOnly: [join(root, '.git')] });
  const watch = new Watch(state, root);
  await Promise.resolve();
  write('sub/.git/config', 'of the agent');
  expect(news(watch)).toEqual(['sub/.git/config']);
});

test('tells of names that are no text', async () => {
  const watch = await watched();
  mkdirSync(join(root, '.idea'));
  writeFileSync(Buffer.concat([Buffer.from(join(root, '.idea/')), Buffer.from([0xff])]), '');
  writeFileSync(
    Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff]), Buffer.from('.code-workspace')]),
    '',
  );
  expect(news(watch)).toEqual(['.idea/\ufffd', '\ufffd.code-workspace']);
});

test('tells the commands of a rebase that waits, which cannot be protected', async () => {
  write('.git/HEAD');
  write('.git/rebase-merge/git-rebase-todo', 'pick 1');
  const watch = await watched();
  write('.git/rebase-merge/git-rebase-todo', 'exec evil');
  write('.git/modules/libs/foo/rebase-merge/git-rebase-todo', 'exec evil');
  write('.git/sequencer/opts', 'strategy = x/evil');
  expect(news(watch)).toEqual([
    '.git/modules/libs/foo/rebase-merge/git-rebase-todo',
    '.git/rebase-merge/git-rebase-todo',
    '.git/sequencer/opts',
  ]);
});

test('tells each time of more files than can be looked at', async () => {
  const watch = await watched();
  for (let i = 0; i < 65; i += 1) write(`${i}.code-workspace`);
  for (let turn = 0; turn < 3; turn++) expect(crowds(watch)).toEqual(['*.code-workspace']);
});

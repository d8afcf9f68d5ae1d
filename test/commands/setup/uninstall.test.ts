import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { join } from 'node:path';
import * as selection from '../../../src/commands/containers/selection';
import { removalOf } from '../../../src/commands/setup/uninstall';
import { userWith } from '../../support/cli';
import type { Engine } from '../../../src/container/engine/engine';
import { imageLabel } from '../../../src/container/image/image-tag';
import { label } from '../../../src/container/spec/labels';
import { recordBaseline } from '../../../src/workspace/protect/baseline';
import { runHere } from '../../support/cli-here';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';
import { Repository } from '../../workspace/worktrees/repository';

const settings = '{\n  "theme": "x" // mine\n}\n';

jest.mock('../../../src/commands/containers/selection');
const actual = jest.requireActual<typeof selection>('../../../src/commands/containers/selection');
beforeEach(() => void jest.mocked(selection.connectEngine).mockImplementation(actual.connectEngine));

/** A user with Zed, who has used cai, and whose engine is gone. */
async function used() {
  const user = userWith('[container]\npids = 200\n', { DOCKER_HOST: 'unix:///no/such/engine.sock' });
  const zed = join(user.cwd!, '.config/zed/settings.json');
  const state = join(user.cwd!, '.local/state/containai');
  mkdirSync(join(zed, '..'), { recursive: true });
  writeFileSync(zed, settings);
  // Another engine than before is another entry, in the place of the first.
  await runHere(['setup', 'zed'], { ...user, env: { ...user.env, DOCKER_HOST: 'unix:///old.sock' } });
  await runHere(['setup', 'zed', '--agent', 'codex'], user);
  await runHere(['setup', 'zed'], user);
  mkdirSync(state, { recursive: true });
  return { user, zed, state };
}

test('removes what is remembered and what stands in editors, and keeps the configuration', async () => {
  const { user, zed, state } = await used();

  const { status, stdout, stderr } = await runHere(['uninstall', '--yes'], user);

  expect(stdout).toContain(`Claude (cai) in ${zed}`);
  expect(stdout).toContain(state);
  expect(stderr).toMatch(/^cai: containers, data and images stay: the engine at .* is not running/);
  expect(stderr).toMatch(/is yours and stays; to remove the program, remove .* and what leads to it\n$/);
  expect(status).toBe(1);
  expect(existsSync(state)).toBe(false);
  expect(readFileSync(zed, 'utf8')).toBe(settings);
  expect(existsSync(user.file)).toBe(true);
});

test('removes what is remembered in a folder that a link leads to', async () => {
  const { user, state } = await used();
  const real = join(newFolder(), 'state');
  renameSync(state, real);
  symlinkSync(real, state);

  await runHere(['uninstall', '--yes'], user);

  expect([state, real].map((each) => existsSync(each))).toEqual([false, false]);
});

test('names what setup has kept of settings that somebody has changed since', async () => {
  const { user, zed } = await used();
  const changed = readFileSync(zed, 'utf8').replace('"x"', '"y"');
  writeFileSync(zed, changed);

  const { stderr } = await runHere(['uninstall', '--yes'], user);

  expect(readFileSync(zed, 'utf8')).toMatch(/^(?![^]*\(cai\))[^]*"theme": "y"/);
  expect(stderr).toContain(`cai: ${zed}.before-cai stays: it is what was there before "cai setup"`);
  expect(stderr).toContain(`cai: ${zed}.before-cai-2 stays: `);
});

test('finds what stands for servers, in every file of an editor, and leaves what others have written', async () => {
  const { user, zed } = await used();
  const flatpak = join(user.cwd!, '.var/app/dev.zed.Zed/config');
  const other = join(flatpak, 'zed/settings.json');
  mkdirSync(join(other, '..'), { recursive: true });
  writeFileSync(other, '{ "agent_servers": { "mine (x)": { "args": ["connect", "wss://y"] }, "o (y)": 1 } }');
  for (const remote of ['wss://build.example', 'unix:/run/s.sock', 'http://127.0.0.1:8722'])
    await runHere(['setup', 'zed', '--remote', remote, '--agent', 'codex'], user);

  const { stdout } = await runHere(['uninstall', '--yes'], user);

  for (const place of ['build.example', 'this machine', '127.0.0.1:8722'])
    expect(stdout).toContain(`Codex (${place}) in ${zed}`);
  expect(stdout).not.toContain(flatpak);
  expect(readFileSync(zed, 'utf8')).toBe(settings);
});

test('shows all of it, and changes nothing, with --dry-run', async () => {
  const { user, zed, state } = await used();
  const before = readFileSync(zed, 'utf8');

  const { status, stdout } = await runHere(['uninstall', '--dry-run'], user);

  expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'KIND',
    'entry',
    'entry',
    'folder',
    '',
  ]);
  expect(status).toBe(0);
  expect(existsSync(state)).toBe(true);
  expect(readFileSync(zed, 'utf8')).toBe(before);
});

test('asks nobody who cannot answer', async () => {
  const { user, state } = await used();

  expect(await runHere(['uninstall'], user)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('Use --yes to remove these, or --dry-run to see them.') as string,
  });
  expect(existsSync(state)).toBe(true);
});

test.each([
  [
    '/home/ann/.npm/lib/node_modules/containai',
    'run: npm uninstall --global --prefix /home/ann/.npm containai',
  ],
  [
    '/opt/homebrew/Cellar/containai/0.1.0/libexec/lib/node_modules/containai',
    'run: brew uninstall containai',
  ],
  ['/home/ann/.local/lib/containai', 'remove /home/ann/.local/lib/containai and what leads to it'],
])('says how the program in %s goes', (folder, words) => {
  expect(removalOf(folder)).toBe(words);
});

test('says how a single file goes', () => {
  expect(removalOf(undefined, '/usr/bin/cai')).toBe('run: apt remove containai');
  expect(removalOf(undefined, '/home/ann/bin/cai')).toBe('remove /home/ann/bin/cai');
});

test('removes services with their container, also those whose container is gone, and tells of an image that stays', async () => {
  const user = userWith('');
  const own = { id: '1', name: 'cai-own', labels: { [label.managed]: 'true', [label.services]: 'db' } };
  const db = { id: '2', name: 'cai-own-db', labels: { [label.serviceOf]: '1' } };
  const lost = { id: '3', name: 'cai-old-db', labels: { [label.serviceOf]: '0' } };
  const there = new Set(['1', '2', '3']);
  jest.mocked(selection.connectEngine).mockResolvedValue({
    listContainers: (labels: object) =>
      Promise.resolve(
        (label.managed in labels ? [own] : [own, db, lost]).map((each) => ({ ...each, state: 'running' })),
      ),
    listVolumes: () => Promise.resolve([]),
    inspectContainer: (name: string) => Promise.resolve([own, db, lost].find((each) => each.name === name)),
    stopContainer: () => Promise.resolve(),
    removeContainer: (id: string) => Promise.resolve(void there.delete(id)),
    diskUse: () =>
      Promise.resolve({
        images: [{ id: 'i', tags: [], labels: { [imageLabel.stage]: 'x' }, isUsed: false }],
      }),
    images: { remove: () => Promise.reject(new Error('it is in use')) },
  } as unknown as Engine);

  const { status, stderr } = await runHere(['uninstall', '--yes'], user);

  expect(there).toEqual(new Set());
  expect(stderr).toContain('stays: it is in use');
  expect(status).toBe(1);
});

/** An engine that has nothing of ours. */
const emptyEngine = {
  listContainers: () => Promise.resolve([]),
  listVolumes: () => Promise.resolve([]),
} as unknown as Engine;

describe('what exists nowhere else stays', () => {
  let user: Repository;
  let options: { env: NodeJS.ProcessEnv; cwd: string };
  beforeEach(() => {
    jest.mocked(selection.connectEngine).mockResolvedValue(emptyEngine);
    user = new Repository();
    options = { env: { HOME: user.home }, cwd: user.root };
  });

  const make = async (name: string) => (await runHere(['worktree', 'new', name], options)).stdout.trim();
  const uninstall = () => runHere(['uninstall', '--yes'], options);
  const registered = () => git(user.root, 'worktree', 'list', '--porcelain').match(/^worktree .*/gm);

  test('worktrees without changes are named, and go as git knows them; commits stay in their branch', async () => {
    const unchanged = await make('one');
    const committed = await make('two');
    user.write('file', 'two\n', committed);
    user.commit('two', committed);

    const { status, stdout, stderr } = await uninstall();

    expect(stdout).toContain(`worktree  ${unchanged} (cai/one of ${user.root})\n`);
    expect(stdout).toContain(`worktree  ${committed} (cai/two of ${user.root})\n`);
    expect(stderr).toContain(`the branch cai/two of "${user.root}" stays: it has commits of its own`);
    expect(registered()).toEqual([`worktree ${user.root}`]);
    expect(user.branches).toEqual(['cai/two', 'main']);
    expect(existsSync(user.host.folders.state)).toBe(false);
    expect(status).toBe(0);
  });

  const work: readonly [string, string, (folder: string) => void][] = [
    ['a file that is new', 'changes that are not committed', (folder) => user.write('new', '', folder)],
    [
      'commits of no branch',
      'commits that are in no branch',
      (folder) => {
        git(folder, 'switch', '-q', '--detach');
        git(folder, 'commit', '-q', '--allow-empty', '-m', 'two');
      },
    ],
  ];
  test.each(work)('a worktree with %s stays, and what it says helps', async (_, why, change) => {
    const folder = await make('one');
    change(folder);
    const state = user.host.folders.state;
    writeFileSync(join(state, 'sessions.ndjson'), '');

    const { status, stdout, stderr } = await uninstall();

    expect(status).toBe(1);
    expect(stdout).not.toContain('worktree ');
    const remedy = `cai worktree rm --force -w "${user.root}" cai/one`;
    expect(stderr).toContain(`cai: the worktree ${folder} (cai/one of ${user.root}) stays: it has ${why};`);
    expect(stderr).toContain(`; to lose it: ${remedy}\n`);
    expect(stderr).toContain(`cai: the folder ${state} stays: `);
    expect(readdirSync(state).sort()).toEqual(['git-folders', 'session-worktrees', 'worktrees']);
    expect((await runHere(['worktree', 'rm', '--force', '-w', user.root, 'cai/one'], options)).status).toBe(
      0,
    );
    expect((await uninstall()).status).toBe(0);
    expect(existsSync(state)).toBe(false);
  });

  test('a worktree whose repository is gone stays', async () => {
    const folder = await make('one');
    rmSync(user.root, { recursive: true });

    const { status, stderr } = await runHere(['uninstall', '--yes'], { ...options, cwd: user.home });

    expect([status, existsSync(join(folder, 'file'))]).toEqual([1, true]);
    expect(stderr).toContain(`; look at it, and remove it by: rm -r "${folder}"\n`);
  });

  test('files that were moved aside are named, and stay', async () => {
    const root = newFolder();
    recordBaseline(user.host.folders.state, root);
    writeFileSync(join(root, '.envrc'), 'mine');
    const { stdout: restored } = await runHere(['review', '--restore'], { ...options, cwd: root });
    const [, kept] = /what was there is in (.*)$/m.exec(restored)!;

    const { status, stderr } = await uninstall();

    const [, folder] = /; if you need none of them: rm -r "(.*)"$/m.exec(stderr)!;
    expect(kept!.startsWith(`${folder}/`)).toBe(true);
    expect(stderr).toContain(`has moved files of ${root} there`);
    expect([status, readFileSync(kept!, 'utf8')]).toEqual([1, 'mine']);
  });
});

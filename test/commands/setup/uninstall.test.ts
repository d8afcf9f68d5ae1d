import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as selection from '../../../src/commands/containers/selection';
import { removalOf } from '../../../src/commands/setup/uninstall';
import { userWith } from '../../support/cli';
import type { Engine } from '../../../src/container/engine/engine';
import { imageLabel } from '../../../src/container/image/image-tag';
import { label } from '../../../src/container/spec/spec';
import { runHere } from '../../support/cli-here';

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
  await runHere(['setup', 'zed'], user);
  await runHere(['setup', 'zed', '--agent', 'codex'], user);
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

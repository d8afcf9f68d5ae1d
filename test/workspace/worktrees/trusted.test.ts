import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { readDevcontainer } from '../../../src/workspace/devcontainer/devcontainer';
import { record, recorded } from '../../../src/workspace/records';
import { makeWorktree } from '../../../src/workspace/worktrees/worktrees';
import { Repository } from './repository';

const file = '.devcontainer/devcontainer.json';
const compose = { services: { app: { image: 'debian', env_file: 'secret/app.env' } } };

let user: Repository;
beforeEach(() => {
  user = new Repository();
  user.write(file, JSON.stringify({ dockerComposeFile: '../compose.yml', service: 'app' }));
  user.write('compose.yml', JSON.stringify(compose));
  user.write('.gitignore', '/secret\nlocal.sh\n');
  user.commit('container');
  user.write('secret/app.env', 'KEY=1\n');
  user.write('.devcontainer/local.sh', 'true\n');
  chmodSync(join(user.root, '.devcontainer/local.sh'), 0o755);
});

const digestIn = (root: string): string => readDevcontainer(root, join(root, file), {}).digest;
const trust = (): void =>
  record(user.host.folders.state, 'trusted', join(user.root, file), digestIn(user.root));
const make = async (): Promise<string> =>
  (await makeWorktree(user.root, { isOfSession: true }, { copy: [] }, user.host)).folder;
const isTrusted = (folder: string): boolean =>
  recorded(user.host.folders.state, 'trusted', join(folder, file)) === digestIn(folder);

test('a worktree has the ignored files of a trusted development container, for the user alone', async () => {
  user.write('secret/other', '');
  trust();

  const folder = await make();

  expect(isTrusted(folder)).toBe(true);
  expect(statSync(join(folder, 'secret/app.env')).mode & 0o077).toBe(0);
  expect(readdirSync(join(folder, 'secret'))).toEqual(['app.env']);
});

test('it has none of what has changed since, or what git does not ignore', async () => {
  user.write('.devcontainer/new.sh', '');
  trust();
  expect(existsSync(join(await make(), '.devcontainer/new.sh'))).toBe(false);

  user.write('secret/app.env', 'KEY=2\n');
  expect(existsSync(join(await make(), 'secret'))).toBe(false);
});

test('nothing is written through a link that the repository has there', async () => {
  const [outside, aside] = [join(user.folder, 'outside'), join(user.folder, 'aside')];
  mkdirSync(outside);
  renameSync(join(user.root, 'secret'), aside);
  symlinkSync(outside, join(user.root, 'secret'));
  user.write('.gitignore', '/secret/*\nlocal.sh\n');
  user.commit('link');
  rmSync(join(user.root, 'secret'));
  renameSync(aside, join(user.root, 'secret'));
  trust();

  expect(existsSync(join(await make(), '.devcontainer/local.sh'))).toBe(true);
  expect(readdirSync(outside)).toEqual([]);
});

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { folderFor, recordBaseline } from '../../../src/workspace/protect/baseline';
import { changesIn } from '../../../src/workspace/review/changes';
import { asideFolder, putBack } from '../../../src/workspace/review/put-back';
import { newFolder } from '../../support/temp-folder';
import { root, state, write } from '../protect/recorded-root';

let aside: string;

beforeEach(() => {
  aside = asideFolder(state, root, new Date());
});

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Puts all back; what came of each, by name. */
function putAllBack(before: () => void = () => undefined): Record<string, ReturnType<typeof putBack>> {
  const changes = changesIn(state, root);
  before();
  return Object.fromEntries(changes.map((change) => [change.name, putBack(state, change, aside)]));
}

test('what is new is moved aside, with the folders that were made for it', () => {
  write('.git/config');
  recordBaseline(state, root);
  write('.vscode/deep/tasks.json', 'evil');
  write('.git/hooks/post-checkout', 'evil');
  write('.github/hooks/x');
  write('.github/workflow.yml');
  rmSync(join(root, '.git/config'));

  const done = putAllBack();

  expect(done['.vscode/deep/tasks.json']).toEqual({ aside: join(aside, '.vscode/deep/tasks.json'), failure: undefined }); // prettier-ignore
  expect(readFileSync(join(aside, '.vscode/deep/tasks.json'), 'utf8')).toBe('evil');
  expect(statSync(aside).mode & 0o777).toBe(0o700);
  expect(aside.startsWith(folderFor(state, root))).toBe(true);
  expect(readdirSync(root).sort()).toEqual(['.git', '.github']);
  expect(readdirSync(join(root, '.git'))).toEqual(['config']);
  expect(readdirSync(join(root, '.github'))).toEqual(['workflow.yml']);
  expect(changesIn(state, root)).toEqual([]);
});

test('what was changed or is gone comes back with its permissions', () => {
  write('.envrc', 'mine');
  chmodSync(join(root, '.envrc'), 0o600);
  write('.husky/pre-commit', 'mine');
  chmodSync(join(root, '.husky/pre-commit'), 0o755);
  symlinkSync('there', join(root, 'mise.toml'));
  recordBaseline(state, root);
  write('.envrc', 'evil');
  chmodSync(join(root, '.envrc'), 0o777);
  rmSync(join(root, '.husky'), { recursive: true });
  rmSync(join(root, 'mise.toml'));
  write('mise.toml', 'evil');

  const done = putAllBack();

  expect(Object.values(done).map(({ failure }) => failure)).toEqual([undefined, undefined, undefined]);
  expect([read('.envrc'), read('.husky/pre-commit')]).toEqual(['mine', 'mine']);
  expect(statSync(join(root, '.envrc')).mode & 0o777).toBe(0o600);
  expect(statSync(join(root, '.husky/pre-commit')).mode & 0o777).toBe(0o755);
  expect(readlinkSync(join(root, 'mise.toml'))).toBe('there');
  expect(readFileSync(join(aside, '.envrc'), 'utf8')).toBe('evil');
  expect(changesIn(state, root)).toEqual([]);
});

test('links and FIFOs are taken away, and nothing that they lead to is touched', () => {
  const outside = newFolder();
  writeFileSync(join(outside, 'secret'), 'SECRET');
  recordBaseline(state, root);
  symlinkSync(join(outside, 'secret'), join(root, '.envrc'));
  symlinkSync(outside, join(root, '.vscode'));
  execFileSync('mkfifo', [join(root, 'mise.toml')]);

  putAllBack();

  expect(readdirSync(root)).toEqual([]);
  expect(readdirSync(outside)).toEqual(['secret']);
  expect(readFileSync(join(aside, '.envrc'), 'utf8')).toBe(join(outside, 'secret'));
  expect(lstatSync(join(aside, '.vscode')).isFile()).toBe(true);
});

test('nothing outside is touched where a folder was swapped for a link since', () => {
  const outside = newFolder();
  writeFileSync(join(outside, 'tasks.json'), 'mine');
  write('.husky/a', 'mine');
  recordBaseline(state, root);
  write('.vscode/tasks.json', 'evil');
  write('.husky/a', 'evil');

  const done = putAllBack(() => {
    for (const name of ['.vscode', '.husky']) {
      renameSync(join(root, name), join(root, `${name}-was`));
      symlinkSync(outside, join(root, name));
    }
  });

  for (const { failure } of Object.values(done)) expect(failure).toContain('a link is on the way');
  expect(readdirSync(outside)).toEqual(['tasks.json']);
  expect(readFileSync(join(outside, 'tasks.json'), 'utf8')).toBe('mine');
});

test('what cannot be kept or brought back is left', () => {
  write('.envrc', 'mine');
  recordBaseline(state, root);
  write('.envrc', 'evil');
  rmSync(join(folderFor(state, root), 'copies'), { recursive: true });
  write('mise.toml', '');
  truncateSync(join(root, 'mise.toml'), 2 ** 40);
  mkdirSync(join(root, '.idea'));
  for (let i = 0; i <= 1_000; i++) writeFileSync(join(root, `.idea/${i}`), '');

  const done = putAllBack();

  expect(done['.envrc']!.failure).toContain('no copy was kept');
  expect(done['mise.toml']!.failure).toContain('longer than');
  expect(done['.idea']!.failure).toContain('too much to look at');
  expect(read('.envrc')).toBe('evil');
  expect(existsSync(join(root, 'mise.toml'))).toBe(true);
});

test('a folder that others can write in is left, and it is told how to close it', () => {
  recordBaseline(state, root);
  chmodSync(root, 0o777);

  expect(putAllBack()).toEqual({
    './': { aside: undefined, failure: `others can write in it: run: chmod go-w "${root}/"` },
  });
});

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { stateOf } from '../../../src/container/copy/difference';
import { Repository } from '../../../src/container/copy/repository';
import { Host } from '../../../src/system/host';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

let home: string;
let root: string;
let secret: string;

beforeEach(() => {
  home = newFolder();
  [root, secret] = [join(home, 'work'), join(home, 'secret')] as const;
  for (const folder of [root, secret]) {
    mkdirSync(folder);
    git(folder, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(folder, 'file'), folder);
    git(folder, 'add', '--all');
    git(folder, 'commit', '--quiet', '-m', 'one');
  }
});

const opened = () => Repository.at(root, new Host({ HOME: home, PATH: process.env.PATH }));

describe('the history of another repository is not copied, whatever names it', () => {
  test.each([
    ['a file .git', () => {
      rmSync(join(root, '.git'), { recursive: true });
      writeFileSync(join(root, '.git'), `gitdir: ${join(secret, '.git')}\n`);
    }],
    ['a link .git', () => {
      rmSync(join(root, '.git'), { recursive: true });
      symlinkSync(join(secret, '.git'), join(root, '.git'));
    }],
    ['a common folder', () => writeFileSync(join(root, '.git/commondir'), join(secret, '.git'))],
    ['alternates', () => writeFileSync(join(root, '.git/objects/info/alternates'), join(secret, '.git/objects'))],
    ['a link to its branches', () => {
      rmSync(join(root, '.git/refs'), { recursive: true });
      symlinkSync(join(secret, '.git/refs'), join(root, '.git/refs'));
    }],
    ['a link among its objects', () => symlinkSync(join(secret, '.git/objects'), join(root, '.git/objects/pack/x'))],
  ])('%s', async (_, change) => {
    change();

    await expect(opened().then((found) => found.checkOwn())).rejects.toMatchObject({ code: 'WORKSPACE' });
  }); // prettier-ignore
});

test('a folder that is no root of a repository is refused, with what to do', async () => {
  rmSync(join(root, '.git'), { recursive: true });

  await expect(opened()).rejects.toThrow(/"\S+\/work" is in no folder that pods can mount.*run "git init"/);
});

test('a file behind a link is none of the work tree', async () => {
  writeFileSync(join(secret, 'key'), 'key');
  mkdirSync(join(root, 'sub'));
  writeFileSync(join(root, 'sub/key'), 'x');
  git(root, 'add', '--all');
  renameSync(join(root, 'sub'), join(home, 'was'));
  symlinkSync(secret, join(root, 'sub'));

  const { differing } = await stateOf(await opened());

  expect(differing).toEqual([
    { is: 'link', name: 'sub', to: Buffer.from(secret) },
    { is: 'gone', name: 'sub/key' },
  ]);
});

test('looking at the files runs no filter and no monitor', async () => {
  writeFileSync(join(root, '.gitattributes'), '* filter=x\n');
  // As new as the index, so that only the content tells whether it has changed.
  const soon = new Date(Date.now() + 60_000);
  utimesSync(join(root, 'file'), soon, soon);
  git(root, 'add', '--all');
  utimesSync(join(root, '.git/index'), soon, soon);
  const trap = join(home, 'trap');
  writeFileSync(trap, '#!/bin/sh\ntouch "$(dirname "$0")/sprung"\ncat\n');
  chmodSync(trap, 0o755);
  for (const key of [
    'filter.x.clean',
    'filter.x.process',
    'filter.x.smudge',
    'core.fsmonitor',
    'diff.external',
  ])
    git(root, 'config', key, trap);
  git(root, 'config', 'filter.x.required', 'true');

  const { differing } = await stateOf(await opened());

  expect(differing.map(({ name }) => name)).toEqual(['.gitattributes']);
  expect(existsSync(join(home, 'sprung'))).toBe(false);
});

test.each(['.gitignore', '.git/packed-refs'])('a pipe in the place of %s is not waited for', async (file) => {
  execFileSync('mkfifo', [join(root, file)]);
  const host = new Host({ HOME: home, PATH: process.env.PATH });

  await expect(Repository.at(root, host, 1_000).then(stateOf)).rejects.toThrow('look for a pipe');
});

import { appendFileSync, chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { join } from 'node:path';
import { bytesAt, withFile } from '../../../src/system/files/open-file';
import { copyInto } from '../../../src/workspace/worktrees/copied';
import { newFolder } from '../../support/temp-folder';

let from: string;
let to: string;
let outside: string;
beforeEach(() => {
  [from, to, outside] = [newFolder(), newFolder(), newFolder()];
  writeFileSync(join(outside, 'secret'), 'secret');
});

test('copies files with their mode, and folders with the links inside', async () => {
  writeFileSync(join(from, '.env'), 'KEY=1');
  chmodSync(join(from, '.env'), 0o640);
  mkdirSync(join(from, 'a/modules/.bin'), { recursive: true });
  writeFileSync(join(from, 'a/modules/empty'), '');
  symlinkSync('../empty', join(from, 'a/modules/.bin/empty'));
  symlinkSync('../../../.env', join(from, 'a/modules/.bin/out'));
  symlinkSync(join(outside, 'secret'), join(from, 'a/modules/secret'));

  await copyInto(['.env', 'a/modules', 'missing', 'missing/too'], from, to);

  expect(readFileSync(join(to, '.env'), 'utf8')).toBe('KEY=1');
  expect(statSync(join(to, '.env')).mode & 0o777).toBe(0o640);
  expect(readlinkSync(join(to, 'a/modules/.bin/empty'))).toBe('../empty');
  expect(readdirSync(join(to, 'a/modules'), { recursive: true }).sort()).toEqual([
    '.bin',
    '.bin/empty',
    'empty',
  ]);
});

test('copies a file that is mostly empty as one', async () => {
  writeFileSync(join(from, '.env'), 'KEY=1');
  truncateSync(join(from, '.env'), 2 ** 27);
  appendFileSync(join(from, '.env'), 'END=1');

  await copyInto(['.env'], from, to);

  const { size, blocks } = statSync(join(to, '.env'));
  expect([size, blocks * 512 < 2 ** 20]).toEqual([2 ** 27 + 5, true]);
  const ends = (folder: string): string[] =>
    [0, 2 ** 27].map((at) => withFile(join(folder, '.env'), 'r', (file) => String(bytesAt(file, at, 5))));
  expect(ends(to)).toEqual(ends(from));
});

test('leaves out what has a name that is not UTF-8, and copies what is beside it', async () => {
  const names = ['a', 'b', 'c'];
  for (const name of names) {
    mkdirSync(join(from, 'all', name), { recursive: true });
    writeFileSync(Buffer.from(join(from, 'all', name, '\xed'), 'latin1'), '');
  }

  await copyInto(['all'], from, to);

  expect(readdirSync(join(to, 'all'), { recursive: true }).sort()).toEqual(names);
});

test('leaves what comes with the worktree', async () => {
  for (const folder of [from, to]) writeFileSync(join(folder, '.env'), folder);
  await copyInto(['.env'], from, to);
  expect(readFileSync(join(to, '.env'), 'utf8')).toBe(to);
});

describe('follows no link', () => {
  test('that is the path itself, or on its way', async () => {
    symlinkSync(join(outside, 'secret'), join(from, '.env'));
    symlinkSync(outside, join(from, 'certs'));
    await expect(copyInto(['.env'], from, to)).rejects.toThrow('it is a link: put the file itself there');
    await expect(copyInto(['certs/secret'], from, to)).rejects.toThrow('leads through a link');
    expect(existsSync(join(to, '.env'))).toBe(false);
    expect(existsSync(join(to, 'certs/secret'))).toBe(false);
  });

  test('in the worktree', async () => {
    mkdirSync(join(from, 'certs'));
    writeFileSync(join(from, 'certs/mine'), 'mine');
    symlinkSync(outside, join(to, 'certs'));
    await expect(copyInto(['certs/mine'], from, to)).rejects.toThrow('is no folder');
    expect(readdirSync(outside)).toEqual(['secret']);
  });
});

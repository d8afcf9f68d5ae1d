import { mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inFolderOf } from '../../../src/workspace/review/put-back';
import { newFolder } from '../../support/temp-folder';

let root: string;
let outside: string;

beforeEach(() => {
  root = newFolder();
  outside = newFolder();
  mkdirSync(join(root, 'a/b'), { recursive: true });
});

test('the name that is given leads to the folder, whatever takes its place', () => {
  inFolderOf(root, 'a/b/file', (place) => {
    renameSync(join(root, 'a'), join(root, 'was'));
    symlinkSync(outside, join(root, 'a'));
    mkdirSync(join(outside, 'b'));
    writeFileSync(place, 'text');
  });

  expect(readFileSync(join(root, 'was/b/file'), 'utf8')).toBe('text');
  expect(readdirSync(join(outside, 'b'))).toEqual([]);
});

test.each(['link/file', 'a/link/file', 'a/file/file'])('a link or a file on the way ends it: %s', (path) => {
  symlinkSync(outside, join(root, 'link'));
  symlinkSync(outside, join(root, 'a/link'));
  writeFileSync(join(root, 'a/file'), '');
  const act = jest.fn<undefined, [string]>();

  expect(() => inFolderOf(root, path, act, true)).toThrow('a link is on the way to');
  expect(act).not.toHaveBeenCalled();
});

test('a root that is reached by a link is none', () => {
  symlinkSync(root, join(outside, 'root'));
  symlinkSync(join(root, 'a'), join(outside, 'a'));

  expect(() => inFolderOf(join(outside, 'root'), 'file', () => undefined)).toThrow();
  expect(() => inFolderOf(join(outside, 'a/b'), 'file', () => undefined)).toThrow('a link is on the way');
});

test('missing folders are made if that is wanted', () => {
  expect(() => inFolderOf(root, 'x/y/file', () => undefined)).toThrow('ENOENT');

  inFolderOf(root, 'x/y/file', (place) => writeFileSync(place, 'text'), true);

  expect(readFileSync(join(root, 'x/y/file'), 'utf8')).toBe('text');
});

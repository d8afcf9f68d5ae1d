import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../../src/system/files/make-folder';
import { codeOf } from '../../support/code-of';
import { newFolder } from '../../support/temp-folder';

test('makes a folder and those above it, and takes one that is there', () => {
  const path = join(newFolder(), 'a/b/c');

  makeFolder(path);
  makeFolder(path);

  expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
});

test('fails where a file is in the way', () => {
  const file = join(newFolder(), 'file');
  writeFileSync(file, '');

  expect(codeOf(() => makeFolder(file))).toBe('EEXIST');
  expect(codeOf(() => makeFolder(join(file, 'a')))).toBe('ENOTDIR');
});

(existsSync('/proc') ? test : test.skip)('fails where nothing can be made, as below /proc', () => {
  expect(codeOf(() => makeFolder('/proc/none/a'))).toBe('ENOENT');
});

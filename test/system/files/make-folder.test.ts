import fs, { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
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

test('goes on where another process makes the folder above meanwhile', () => {
  const parent = join(newFolder(), 'a');
  jest.spyOn(fs, 'mkdirSync').mockImplementationOnce((path) => {
    mkdirSync(parent);
    throw Object.assign(new Error(`ENOENT: ${String(path)}`), { code: 'ENOENT' });
  });

  makeFolder(join(parent, 'b'));

  expect(existsSync(join(parent, 'b'))).toBe(true);
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

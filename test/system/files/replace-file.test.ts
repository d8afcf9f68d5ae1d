import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../../src/system/files/replace-file';
import { newFolder } from '../../support/temp-folder';

test('writes a file for its owner alone, in a folder that is made, and leaves nothing else', () => {
  const folder = join(newFolder(), 'deep');
  replaceFile(join(folder, 'file'), 'one');
  replaceFile(join(folder, 'file'), Buffer.from('two'));

  expect(readdirSync(folder)).toEqual(['file']);
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('two');
  expect([folder, join(folder, 'file')].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
});

test('fails where something else is in the way, and leaves nothing', () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'file/below'), { recursive: true });
  expect(() => replaceFile(join(folder, 'file'), '')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
  expect(readdirSync(folder)).toEqual(['file']);
});

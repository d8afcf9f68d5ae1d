import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stampOf } from '../../../../src/served/server/door/stamp';
import { newFolder } from '../../../support/temp-folder';

test('is another one after each change of a file, and the same without one', () => {
  const folder = newFolder();
  const [path, other] = [join(folder, 'a'), join(folder, 'b')];
  const stamps = [stampOf(path)];
  const changes = [
    () => writeFileSync(path, 'one'),
    () => writeFileSync(path, 'longer'),
    () => {
      writeFileSync(other, 'longer');
      renameSync(other, path);
    },
    () => {
      symlinkSync(path, other);
      renameSync(other, path);
    },
  ];
  for (const change of changes) {
    change();
    stamps.push(stampOf(path));
    expect(stampOf(path)).toBe(stamps.at(-1));
  }

  expect(new Set(stamps).size).toBe(changes.length + 1);
});

test('of a folder is the same whatever comes into it', () => {
  const folder = newFolder();
  const before = stampOf(folder);
  mkdirSync(join(folder, 'a'));

  expect(stampOf(folder)).toBe(before);
});

import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endsWhole } from '../../src/system/open-file';
import { newFolder } from '../support/temp-folder';

describe('endsWhole', () => {
  test.each([
    ['', true],
    ['a\n', true],
    ['a\nb\n', true],
    ['a', false],
    ['a\nb', false],
  ])('of a file with %j is %s', (text, isWhole) => {
    const path = join(newFolder(), 'file');
    writeFileSync(path, text);
    const file = openSync(path, 'a+');

    expect(endsWhole(file, text.length)).toBe(isWhole);
    closeSync(file);
  });
});

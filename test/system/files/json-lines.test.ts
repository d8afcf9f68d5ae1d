import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appendLines, readLines } from '../../../src/system/files/json-lines';
import { newFolder } from '../../support/temp-folder';

describe('appendLines', () => {
  test.each([
    ['', '{}\n'],
    ['{"a":1}\n', '{"a":1}\n{}\n'],
    ['{"a":1}\n{"b', '{"a":1}\n{"b\n{}\n'],
  ])('to a file with %j makes it %j', (before, after) => {
    const path = join(newFolder(), 'file');
    writeFileSync(path, before);
    const file = openSync(path, 'a+');

    expect(appendLines(file, '{}\n')).toBe(after.length - before.length);

    expect(readFileSync(path, 'utf8')).toBe(after);
    closeSync(file);
  });
});

test('readLines leaves out what is damaged, no object, or not wanted', () => {
  const text = '{"n":1}\n{"n":2\n\n[3]\n7\nnull\n{"n":4}\n{"m":5}\n{"n":6}';

  expect(readLines(text, ({ n }) => n)).toEqual([1, 4, 6]);
});

/**
 * The tables were made by git 2.47, in `git init --ref-format=reftable`, with `reftable.blockSize=256`, so that they have
 * two blocks, and `core.logAllRefUpdates=false`: two commits, `git replace HEAD HEAD~` and, before the latter, a branch
 * refs/replacd/x, after which the table has but `e/OBJECT` of the name.
 */
import { copyFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { replacesIn } from '../../../src/workspace/protect/reftable';
import { newFolder } from '../../support/temp-folder';

const made = join(__dirname, '../../../fixtures/reftable');
const list = '.git/reftable/tables.list';
const replaced = 'd2c837c9c14bc0aec1457e721ad805f6e8a8e69a';
let root: string;

beforeEach(() => {
  root = newFolder();
  mkdirSync(join(root, '.git/reftable'), { recursive: true });
});

/** Makes these the tables of the repository. */
function have(...tables: string[]): void {
  for (const table of tables) copyFileSync(join(made, table), join(root, '.git/reftable', table));
  writeFileSync(join(root, list), tables.map((table) => `${table}\n`).join(''));
}

/** A table whose blocks are said to be `blockBytes` apart; its first block is of 76 bytes, and has no record. */
function writeTable(bytes: number, blockBytes: number, change: (table: Buffer) => void): void {
  const table = Buffer.alloc(bytes);
  change(table);
  table.write('REFT\x01', 'latin1');
  table.writeUIntBE(blockBytes, 5, 3);
  table.write('r', 24);
  table.writeUIntBE(100, 25, 3);
  writeFileSync(join(root, '.git/reftable/sha1.ref'), table);
}

test('tells which objects are replaced, however the table shortens their names', () => {
  have('none.ref', 'sha1.ref');

  const { names, unread } = replacesIn(root, ['.git']);

  expect([names, unread]).toEqual([[expect.stringMatching(/^\.git\/refs\/replace\/d2c8\w{36} [0-9a-f]{40}$/)], []]); // prettier-ignore
  expect(names[0]).toContain(replaced);
});

test('tells them by SHA-256, too', () => {
  have('sha256.ref');

  expect(replacesIn(root, ['.git']).names).toEqual([
    expect.stringMatching(/^\.git\/refs\/replace\/8901af47\w{56} 39048f8b\w{56}$/),
  ]);
});

test('tells nothing of a repository without any, or in another format', () => {
  have('none.ref');
  mkdirSync(join(root, 'other/.git'), { recursive: true });

  expect(replacesIn(root, ['.git', 'other/.git'])).toEqual({ names: [], unread: [] });
});

test.each<[string, () => void]>([
  ['is cut off', () => truncateSync(join(root, '.git/reftable/sha1.ref'), 240)],
  ['is none', () => writeFileSync(join(root, '.git/reftable/sha1.ref'), 'text')],
  ['is too long', () => truncateSync(join(root, '.git/reftable/sha1.ref'), 17 * 1024 * 1024)],
  ['is one of too many', () => writeFileSync(join(root, list), 'gone.ref\n'.repeat(5_000))],
  ['lies elsewhere', () => writeFileSync(join(root, list), '../elsewhere.ref\n')],
  ['has a block of no bytes', () => writeTable(200, 0, (table) => table.write('r', 100))],
  ['has blocks that overlap', () => writeTable(200, 1, (table) => table.write('r\0\0\x32', 100))],
])('tells that a table was not read that %s', (_, change) => {
  have('sha1.ref');
  change();

  expect(replacesIn(root, ['.git']).unread).toEqual([list]);
});

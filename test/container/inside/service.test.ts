import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { newFolder } from '../../support/temp-folder';

const script = resolve(__dirname, '../../../src/container/inside/service');
const listener = 'ffff1: 00000002 00000000 00010000 0001 01 100 /run/cai/door/ssh\n';
const connection = 'ffff2: 00000003 00000000 00000000 0001 03 200 /run/cai/door/ssh\n';

/** How often the service looks until it ends, while the kernel shows these sockets, one text for each look. */
function looksUntilEnd(...tables: readonly [string, ...string[]]): number {
  const folder = newFolder();
  const table = join(folder, 'table');
  tables.forEach((text, index) => writeFileSync(`${table}${index}`, text));
  writeFileSync(table, tables[0]);
  // It takes the place of the pause: what is there changes with each.
  const next = `#!/bin/sh\necho >>'${folder}/looks'\ncp '${table}'"$(grep -c '' '${folder}/looks')" '${table}' 2>/dev/null\n`;
  writeFileSync(join(folder, 'sleep'), next, { mode: 0o755 });
  const text = readFileSync(script, 'utf8')
    .replaceAll('/proc/net/unix', table)
    .replace('patience=10', 'patience=0');
  const env = { PATH: `${folder}:${process.env.PATH}` };
  spawnSync('/bin/sh', ['-c', text, 'cai', 'SIGTERM', 'tail', '-f', '/dev/null'], { env });
  return readFileSync(join(folder, 'looks'), 'utf8').length;
}

test('a service ends once the socket of the keeper is gone', () => {
  expect(looksUntilEnd(listener, listener, '', '')).toBe(4);
});

test('a service goes on when a session ends that was connected when it began', () => {
  const both = connection + listener;
  expect(looksUntilEnd(both, both, listener, listener, listener, '', '')).toBe(7);
});

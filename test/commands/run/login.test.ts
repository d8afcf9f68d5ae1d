import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openerOf } from '../../../src/commands/run/login';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const bin = newFolder();
for (const name of ['open', 'xdg-open']) {
  writeFileSync(join(bin, name), '');
  chmodSync(join(bin, name), 0o755);
}
const over = { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' };

test.each<[NodeJS.ProcessEnv, NodeJS.Platform, string | undefined]>([
  [{ DISPLAY: ':0' }, 'linux', 'xdg-open'],
  [{ WAYLAND_DISPLAY: 'wayland-0' }, 'linux', 'xdg-open'],
  [{}, 'linux', undefined],
  [over, 'linux', undefined],
  [{ ...over, DISPLAY: 'localhost:10.0' }, 'linux', 'xdg-open'],
  [{}, 'darwin', 'open'],
  [over, 'darwin', undefined],
])('with %j on %s, pages are opened by %s', (env, system, name) => {
  const host = new Host({ HOME: newFolder(), PATH: bin, ...env });

  expect(openerOf(host, system)).toBe(name === undefined ? undefined : join(bin, name));
});

test('without a program that opens pages, none is opened', () => {
  expect(
    openerOf(new Host({ HOME: newFolder(), PATH: newFolder(), DISPLAY: ':0' }), 'linux'),
  ).toBeUndefined();
});

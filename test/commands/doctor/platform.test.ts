import type { Facts } from '../../../src/commands/doctor/checks';
import { platform } from '../../../src/commands/doctor/platform';

const linux = 'Linux version 6.1.0-40-amd64 (debian-kernel@lists.debian.org)';
const wsl = 'Linux version 6.6.87.2-microsoft-standard-WSL2 (root@439a258ad544)';

const seen = (root: string | undefined, virtualMachine?: string) =>
  ({ place: { root }, engine: { about: { virtualMachine } } }) as Facts;

test.each([
  ['/mnt/c/Users/me/project', 'warn'],
  ['/mnt/d', 'warn'],
  ['/mnt/data/project', 'ok'],
  ['/home/me/mnt/c', 'ok'],
  [undefined, 'ok'],
])('on WSL, a workspace at %s: %s', (root, status) => {
  expect(platform(seen(root), wsl)).toMatchObject({
    status,
    detail: expect.stringMatching(/^WSL: /) as string,
  });
});

test.each([
  ['Docker Desktop', 'Settings, Resources'],
  ['Colima', 'colima start --edit'],
  ['OrbStack', 'Settings, System'],
])('of %s it says what its machine limits, and where that is set', (product, where) => {
  expect(platform(seen('/Users/me/project', product), '')).toEqual({
    status: 'ok',
    detail: `${product}: workspaces must lie in folders that its machine shares, whose memory is the limit for all containers (${where})`,
    remedy: undefined,
  });
});

test('of Linux there is nothing to say, whether or not its engine answers', () => {
  expect(platform(seen('/mnt/c/project'), linux)).toBeUndefined();
  expect(platform({}, linux)).toBeUndefined();
});

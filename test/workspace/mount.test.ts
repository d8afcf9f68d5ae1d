import { mountPointOf } from '../../src/workspace/mount';

describe('mountPointOf', () => {
  it.each(['/home/u/app', '/Users/u/app', '/tmp/app', '/srv/app', '/var/www', '/rooted', '/home/agents/x'])(
    'is the path of the host itself: %s',
    (root) => expect(mountPointOf(root)).toBe(root),
  );

  it.each(['/root/app', '/usr/src/app', '/etc/nixos', '/home/agent/app', '/run/user/1000/app', '/var/lib/x'])(
    'is a folder of its own for a path that the image needs: %s',
    (root) => expect(mountPointOf(root)).toBe('/home/agent/workspace'),
  );
});

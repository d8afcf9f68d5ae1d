import { Host } from '../../src/system/host';
import { isMountable, mountOf } from '../../src/workspace/mount';

describe('mountOf', () => {
  it.each(['/home/u/app', '/Users/u/app', '/tmp/app', '/srv/app', '/var/www', '/rooted', '/home/agents/x'])(
    'is the path of the host itself: %s',
    (root) => expect(mountOf(root, new Host({}))).toBe(root),
  );

  it.each(['/root/app', '/usr/src/app', '/etc/nixos', '/home/agent/app', '/run/user/1000/app', '/var/lib/x'])(
    'is a folder of its own for a path that the image needs: %s',
    (root) => expect(mountOf(root, new Host({}))).toBe('/home/agent/workspace'),
  );

  test('is what the environment says, as far as that can be', () => {
    expect(mountOf('/home/u/x', new Host({ CAI_ACP_WORKSPACE_MOUNT: '/srv/' }))).toBe('/srv');
    expect(mountOf('/home/u/x', new Host({ CAI_ACP_WORKSPACE_MOUNT: '/home/agent/workspace' }))).toBe(
      '/home/agent/workspace',
    );
  });

  test.each(['/etc', 'relative', '/home/agent', '/x/../run/cai'])('refuses %s', (mount) => {
    expect(() => mountOf('/home/u/x', new Host({ CAI_ACP_WORKSPACE_MOUNT: mount }))).toThrow(/unset it/);
  });
});

describe('isMountable', () => {
  it.each([
    ...['/', '/home', '/home/agent', '/home/agent/.config/x', '/run', '/run/cai', '/etc'],
    ...['/etc/passwd', '/var'],
  ])('refuses what would get into the way of the files that are put in: %s', (path) =>
    expect(isMountable(path)).toBe(false),
  );

  it.each(['/home/u', '/opt/data', '/mnt'])('allows %s', (path) => expect(isMountable(path)).toBe(true));
});

import { tamperingOf } from '../../src/container/check';
import type { ContainerInfo, ContainerRights } from '../../src/container/engine/container-info';
import { label } from '../../src/container/spec/spec';
import { containerInfo } from './given';

const check = (info: ContainerInfo): void => {
  const tampering = tamperingOf(info, { workspace: '/home/u/app', agent: 'claude' });
  if (tampering !== undefined) throw tampering;
};

/** The container with other rights. */
function withRights(changes: Partial<ContainerRights>): ContainerInfo {
  const info = containerInfo();
  return { ...info, rights: { ...info.rights, ...changes } };
}

describe('tamperingOf', () => {
  it('accepts a container that is as it was made', () => {
    expect(() => check(containerInfo())).not.toThrow();
  });

  it.each<[string, ContainerInfo]>([
    ['another image', containerInfo({ imageId: 'sha256:other' })],
    ['another user', containerInfo({ user: '0:0' })],
    ['the user of the image', containerInfo({ user: '' })],
    [
      'one mount more',
      containerInfo({
        mounts: [...containerInfo().mounts, { type: 'bind', source: '/', target: '/host', isReadOnly: true }],
      }),
    ],
    ['one mount less', containerInfo({ mounts: containerInfo().mounts.slice(1) })],
    ['a capability', withRights({ capAdd: ['SYS_ADMIN'] })],
    ['the standard capabilities', withRights({ capDrop: [] })],
    ['new privileges', withRights({ securityOpt: [] })],
    ['no seccomp', withRights({ seccomp: 'unconfined' })],
    ["the engine's profile of system calls", withRights({ seccomp: 'default' })],
    ["the host's control groups", withRights({ cgroupMode: 'host' })],
    ['open paths in /proc', withRights({ securityOpt: ['no-new-privileges', 'systempaths=unconfined'] })],
    ['all rights', withRights({ isPrivileged: true })],
    ['a device', withRights({ devices: ['/dev/kvm:/dev/kvm'] })],
    ['a further group', withRights({ groups: ['docker'] })],
    ["the host's processes", withRights({ pidMode: 'host' })],
    ["the host's network", withRights({ networkMode: 'host' })],
    ['a further network', withRights({ networks: ['other'] })],
    ["the host's user ids", withRights({ usernsMode: 'host' })],
    ['more memory', withRights({ memoryBytes: 0 })],
    ['more processes', withRights({ pidsLimit: 0 })],
    ['a port for everybody', withRights({ ports: [{ port: '2222/tcp', hostIp: '0.0.0.0' }] })],
  ])('refuses one with %s, and tells expected, actual and remedy', (_what, info) => {
    expect(() => check(info)).toThrow(
      expect.objectContaining({
        code: 'FOREIGN_CONTAINER',
        exitCode: 15,
        message: expect.stringMatching(
          /^the container cai-x is not as it was made: \w+ should be .+, and is .+: use --fresh/,
        ) as string,
      }) as Error,
    );
  });

  it('takes a container of an earlier version, which recorded less', () => {
    const info = withRights({ seccomp: 'default', cgroupMode: 'host' });
    const { seccomp, cgroups, ...earlier } = JSON.parse(info.labels[label.spec]!) as Record<string, unknown>;
    expect([seccomp, cgroups]).toEqual([expect.stringMatching(/^sha256:/), 'private']);
    const labels = { ...info.labels, [label.spec]: JSON.stringify(earlier) };

    expect(() => check({ ...info, labels })).not.toThrow();
    expect(() => check({ ...info, labels: { ...labels, [label.spec]: '{}' } })).toThrow('image should be');
  });

  it.each([
    [{ 'containai.managed': 'yes' }, 'was not made by cai'],
    [{ 'containai.workspace': '/home/u/other' }, 'was made for another workspace or agent'],
    [{ 'containai.agent': 'gemini' }, 'was made for another workspace or agent'],
    [{ 'containai.spec': '{' }, 'has no readable record'],
    [{ 'containai.spec': 'null' }, 'has no readable record'],
  ])('refuses one with the label %j', (change, what) => {
    const info = containerInfo();

    expect(() => check({ ...info, labels: { ...info.labels, ...change } })).toThrow(what);
  });
});

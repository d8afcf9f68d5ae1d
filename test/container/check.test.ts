import { tamperingOf } from '../../src/container/check';
import type { ContainerInfo } from '../../src/container/engine/container-info';
import { seccompProfile } from '../../src/container/engine/seccomp';
import { label } from '../../src/container/spec/labels';
import { containerInfo } from './given';

const check = (info: ContainerInfo): void => {
  const tampering = tamperingOf(info, { workspace: '/home/u/app', agent: 'claude' });
  if (tampering !== undefined) throw tampering;
};

/** The container with another configuration of the engine. */
const withHost = (hostConfig: object): ContainerInfo => containerInfo({}, hostConfig);

const seccomp = `seccomp=${seccompProfile()}`;

describe('tamperingOf', () => {
  it('accepts a container that is as it was made', () => expect(() => check(containerInfo())).not.toThrow());

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
    ['a capability', withHost({ CapAdd: ['SYS_ADMIN'] })],
    ['the standard capabilities', withHost({ CapDrop: [] })],
    ['new privileges', withHost({ SecurityOpt: [seccomp] })],
    ['no seccomp', withHost({ SecurityOpt: ['no-new-privileges', 'seccomp=unconfined'] })],
    ["the engine's profile of system calls", withHost({ SecurityOpt: ['no-new-privileges'] })],
    [
      'no seccomp as the last word',
      withHost({ SecurityOpt: ['no-new-privileges', seccomp, 'seccomp:unconfined'] }),
    ],
    ['a further option', withHost({ SecurityOpt: ['no-new-privileges', seccomp, 'label=disable'] })],
    ["the host's control groups", withHost({ CgroupnsMode: 'host' })],
    ['open paths in /proc', withHost({ MaskedPaths: [] })],
    ['all rights', withHost({ Privileged: true })],
    ['a device', withHost({ Devices: [{ PathOnHost: '/dev/kvm', PathInContainer: '/dev/kvm' }] })],
    ['a rule for devices', withHost({ DeviceCgroupRules: ['c 1:3 r'] })],
    ['a request for devices', withHost({ DeviceRequests: [{ Driver: 'nvidia' }] })],
    ['a further group', withHost({ GroupAdd: ['docker'] })],
    ["the host's processes", withHost({ PidMode: 'host' })],
    ["another container's memory", withHost({ IpcMode: 'container:1' })],
    ["the host's name", withHost({ UTSMode: 'host' })],
    ["the host's user ids", withHost({ UsernsMode: 'host' })],
    ["the host's network", withHost({ NetworkMode: 'host' })],
    ['a network of its own', withHost({ NetworkMode: 'mine' })],
    ['more memory', withHost({ Memory: 0 })],
    ['more processes', withHost({ PidsLimit: -1 })],
    ['a port for everybody', withHost({ PortBindings: { '2222/tcp': [{ HostIp: '', HostPort: '' }] } })],
    ['all ports for everybody', withHost({ PublishAllPorts: true })],
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

  it('refuses one whose record lacks something', () => {
    const info = containerInfo();
    const { seccomp, ...rest } = JSON.parse(info.labels[label.spec]!) as Record<string, unknown>;
    expect(seccomp).toEqual(expect.stringMatching(/^sha256:/));
    const labels = { ...info.labels, [label.spec]: JSON.stringify(rest) };

    expect(() => check({ ...info, labels })).toThrow('seccomp should be undefined');
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

/** What Docker's API tells of containers that nobody made by `cai`, the same on Docker and podman. */
import { engineClient } from '../../src/container/engine/docker/client';
import { resolveEngine } from '../../src/container/engine/docker/context';
import type { Engine } from '../../src/container/engine/engine';
import { findEngine } from '../../src/container/engine/find-engine';
import { Host } from '../../src/system/host';
import { newFolder } from '../support/temp-folder';
import { testUnless } from './engines';

const image = process.env.CAI_TEST_IMAGE ?? 'node:22-bookworm-slim';
const host = new Host(process.env);
const docker = engineClient(resolveEngine(host), host);
const made: string[] = [];
let engine: Engine;

beforeAll(async () => (engine = await findEngine(host).connect()));
afterAll(async () => {
  for (const id of made) await engine.removeContainer(id);
});

/** The rights and mounts of a container that was asked for like this. */
async function told(hostConfig: object) {
  const request = { Image: image, Entrypoint: [''], Cmd: ['/bin/true'], HostConfig: hostConfig };
  const { id } = await docker.createContainer(request);
  made.push(id);
  return (await engine.inspectContainer(id))!;
}

test.each([
  { SecurityOpt: [] },
  { NetworkMode: 'host' },
  { PidMode: 'host' },
  { UTSMode: 'host' },
  { GroupAdd: ['12'] },
  { Devices: [{ PathOnHost: '/dev/null', PathInContainer: '/dev/nothing', CgroupPermissions: 'rwm' }] },
  { Privileged: true },
])('%j confines a container no more', async (change) => {
  const confined = { CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'] };

  expect((await told({ ...confined, ...change })).rights.isConfined).toBe(false);
});

testUnless('control groups told otherwise')('the control groups of the host are told', async () => {
  expect((await told({ CgroupnsMode: 'private' })).rights.cgroups).toBe('private');
  expect((await told({ CgroupnsMode: 'host' })).rights.cgroups).toBe('host');
});

test('what is not asked for is what the engine gives everybody, and not what cai wants', async () => {
  const { rights } = await told({ SecurityOpt: ['no-new-privileges'] });

  expect(rights.seccomp).toBe('default');
  expect(rights.pids).not.toBe(1024);
  // What podman tells of capabilities is the sum.
  expect(rights.isConfined && rights.capabilities.length === 0).toBe(false);
});

test('a published port is told with its address', async () => {
  const PortBindings = { '2222/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] };

  expect((await told({ PortBindings })).rights.publishedOn).toEqual(['127.0.0.1']);
});

test('rights are told that a container should not have, and what is mounted in whatever way', async () => {
  const folder = newFolder();
  const { rights, mounts } = await told({
    CapDrop: ['ALL'],
    CapAdd: ['NET_RAW'],
    SecurityOpt: ['no-new-privileges:true', 'seccomp=unconfined'],
    Tmpfs: { '/run/cai': 'ro' },
    Binds: [`${folder}:/mnt`],
  });

  expect(rights).toMatchObject({ capabilities: ['NET_RAW'], seccomp: 'unconfined' });
  expect(mounts).toEqual([
    { type: 'bind', source: folder, target: '/mnt', isReadOnly: false },
    { type: 'tmpfs', source: '', target: '/run/cai', isReadOnly: true },
  ]);
});

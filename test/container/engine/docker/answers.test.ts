import { once } from 'node:events';
import { release } from 'node:os';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pack, type Header } from 'tar-stream';
import {
  aboutOf,
  fileIn,
  imageInfoOf,
  processesOf,
  textOfFrames,
} from '../../../../src/container/engine/docker/answers';

test('an engine on another machine shares no kernel, whatever version that has there', () => {
  const info = { Name: 'far', ServerVersion: '29', KernelVersion: release() };
  const greeting = { apiVersion: '1.41', isPodman: false };

  expect(aboutOf(info, greeting, { state: '/state' })).toMatchObject({ sharesKernel: true });
  expect(aboutOf(info, greeting, { state: '/state' })).not.toHaveProperty('machine');
  expect(aboutOf(info, greeting, { state: '/state', isElsewhere: true })).toMatchObject({
    sharesKernel: false,
    machine: 'far',
  });
});

test('an engine says what its layers lie on', () => {
  const info = { Driver: 'overlay2', DriverStatus: [['Supports d_type', 'true'], ['Backing Filesystem', 'extfs']] }; // prettier-ignore
  const greeting = { apiVersion: '1.41', isPodman: false };

  expect(aboutOf(info, greeting, { state: '/state' }).storage).toBe('overlay2 on extfs');
  expect(aboutOf({ Driver: 'btrfs' }, greeting, { state: '/state' }).storage).toBe('btrfs');
});

test.each([
  ['Docker', { SecurityOptions: ['name=seccomp,profile=builtin', 'name=selinux'] }, undefined, true],
  ['podman', {}, { host: { security: { selinuxEnabled: true } } }, true],
  ['podman', {}, { host: { security: { selinuxEnabled: false } } }, undefined],
])('%s says whether SELinux decides what containers may use', (_, info, podman, isLabelled) => {
  const greeting = { apiVersion: '1.41', isPodman: podman !== undefined };

  expect(aboutOf(info, greeting, { state: '/state' }, podman).isLabelled).toBe(isLabelled);
});

test.each([
  [{ OperatingSystem: 'Docker Desktop', Name: 'docker-desktop' }, 'Docker Desktop'],
  [{ OperatingSystem: 'OrbStack', Name: 'orbstack' }, 'OrbStack'],
  [{ OperatingSystem: 'Ubuntu 24.04.2 LTS', Name: 'colima-work' }, 'Colima'],
  [{ OperatingSystem: 'Debian GNU/Linux 12', Name: 'colimas' }, undefined],
])('%j is in the virtual machine of %s', (info, product) => {
  const greeting = { apiVersion: '1.41', isPodman: false };

  expect(aboutOf(info, greeting, { state: '/state' }).virtualMachine).toBe(product);
  expect(aboutOf(info, greeting, { state: '/state', isElsewhere: true }).virtualMachine).toBeUndefined();
});

describe('what an engine leaves out', () => {
  test('is none of it', () => {
    const info = { ServerVersion: '29', MemTotal: 1, NCPU: 2, OSType: 'linux', SecurityOptions: null, MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true }; // prettier-ignore

    const podman = { host: { security: { rootless: true } } };
    const about = aboutOf(info, { apiVersion: '1.41', isPodman: true }, { state: '/state' }, podman);
    expect(about).toMatchObject({ name: 'podman 29, API 1.41, rootless', isRootless: true, cpus: 2 });
    expect(about.can).toMatchObject({ memory: false, pids: false, cpus: false, systemCalls: false });
    expect(aboutOf(info, { apiVersion: '1.52', isPodman: false }, { state: '/state' }).isRootless).toBe(
      false,
    );
    // Docker from API 1.52 on, and an image of nothing.
    const nothing = { id: '1', tags: [], labels: {}, env: [] };
    expect(imageInfoOf({ Id: '1', Config: {} })).toEqual(nothing);
    expect(imageInfoOf({ Id: '1', Config: null })).toEqual(nothing);
  });
});

test('an image tells the TCP ports at which it listens', () => {
  const ExposedPorts = { '5432/tcp': {}, '53/udp': {} };

  expect(imageInfoOf({ Id: '1', Config: { ExposedPorts } })).toMatchObject({ ports: [5_432] });
});

describe('fileIn', () => {
  test.each([
    ['a file', { name: 'x' }, 'content'],
    ['an empty file', { name: 'x' }, ''],
    ['a file of a whole block', { name: 'x' }, 'a'.repeat(512)],
    ['a file with attributes before it', { name: 'é'.repeat(200), pax: { mtime: '1.5' } }, 'content'],
  ])('finds %s', async (_, header, content) => {
    expect(await fileIn(archive({ ...header, mode: 0o640, uid: 1, gid: 2 }, content))).toEqual({
      content: Buffer.from(content),
      mode: 0o640,
      uid: 1,
      gid: 2,
    });
  });

  test.each(['directory', 'symlink', 'character-device'] as const)('finds no file in a %s', async (type) => {
    expect(await fileIn(archive({ name: 'x', type, linkname: 'y' }, ''))).toBeUndefined();
  });

  test('finds no file in nothing', async () => expect(await fileIn(Readable.from([]))).toBeUndefined());

  test('reads nothing of a huge file', async () => {
    const tar = pack();
    tar.entry({ name: 'x', size: 2 ** 40 }).write('the beginning');

    const ended = once(tar, 'close');

    expect(await fileIn(Readable.from(tar))).toBeUndefined();
    await ended;
  });

  test('fails where reading does', async () => {
    const failing = new Readable({ read: () => failing.destroy(new Error('gone')) });

    await expect(fileIn(failing)).rejects.toThrow('gone');
  });

  test('fails where the archive breaks off', async () => {
    const broken = Readable.from([(await buffer(archive({ name: 'x' }, 'content'))).subarray(0, 514)]);

    await expect(fileIn(broken)).rejects.toThrow('Unexpected end of data');
  });
});

describe('textOfFrames', () => {
  test('joins both streams in their order, also within a character', () => {
    const euro = Buffer.from('€\n');

    const text = textOfFrames(
      Buffer.concat([
        frame(1, 'out\n'),
        frame(2, 'err\n'),
        frame(1, euro.subarray(0, 2)),
        frame(1, euro.subarray(2)),
      ]),
    );

    expect(text).toBe('out\nerr\n€\n');
    expect(textOfFrames(Buffer.alloc(0))).toBe('');
  });
});

function frame(stream: number, content: string | Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(content), 4);
  return Buffer.concat([header, Buffer.from(content)]);
}

function archive(header: Partial<Header> & { name: string }, content: string): Readable {
  const tar = pack();
  tar.entry(header, content);
  tar.finalize();
  return Readable.from(tar);
}

describe('processesOf', () => {
  test('reads the columns, and nothing of a container that does not run', () => {
    expect(processesOf({ Processes: [['7', '1', 'sh -c true'], ['8', '7']] })).toEqual([
      { pid: 7, parent: 1, command: 'sh -c true' },
      { pid: 8, parent: 7, command: '' },
    ]); // prettier-ignore
    expect(processesOf({ Processes: null })).toEqual([]);
    expect(processesOf(undefined)).toEqual([]);
  });
});

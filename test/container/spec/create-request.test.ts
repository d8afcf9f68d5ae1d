import { createRequest } from '../../../src/container/spec/create-request';
import { engineProfile } from '../../../src/container/engine/seccomp';
import { label, recordedOf, type Settings } from '../../../src/container/spec/spec';
import { circumstances, settings } from '../given';

describe('createRequest', () => {
  const request = createRequest(settings(), circumstances, 'SHA256:key');

  it('takes all rights away and gives none', () => {
    expect(request.HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      CapAdd: [],
      SecurityOpt: ['no-new-privileges', `seccomp=${circumstances.seccomp}`],
      IpcMode: 'private',
      CgroupnsMode: 'private',
      Init: false,
      PidsLimit: 1024,
    });
    expect(request.HostConfig).not.toHaveProperty('Privileged');
  });

  it('leaves the engine its own profile of system calls where it takes no other', () => {
    const { HostConfig, Labels } = createRequest(
      settings(),
      { ...circumstances, seccomp: engineProfile },
      'k',
    );

    expect(HostConfig.SecurityOpt).toEqual(['no-new-privileges']);
    expect(JSON.parse(Labels[label.spec])).toMatchObject({ seccomp: 'default' });
  });

  it('mounts the workspace at its own path, the data volume, and nothing else', () => {
    expect(
      request.HostConfig.Mounts.map(({ Type, Source, Target }) => `${Type} ${Source} ${Target}`),
    ).toEqual(['volume cai-data-claude-1000 /home/agent/.data', 'bind /home/u/app /home/u/app']);
  });

  it('gives it a host name where the agent needs one, and leaves that to the engine otherwise', () => {
    expect(createRequest(settings({ hostname: 'cai-x' }), circumstances, 'k').Hostname).toBe('cai-x');
    expect(request).not.toHaveProperty('Hostname');
  });

  it('publishes no port', () => {
    expect(request).not.toHaveProperty('ExposedPorts');
    expect(request.HostConfig).not.toHaveProperty('PortBindings');
  });

  it('records what it asks for', () => {
    expect(JSON.parse(request.Labels[label.spec])).toEqual(recordedOf(settings(), circumstances));
    expect(request.Labels).toMatchObject({
      'containai.managed': 'true',
      'containai.workspace': '/home/u/app',
      'containai.agent': 'claude',
      'containai.host-key': 'SHA256:key',
    });
  });

  it.each([
    [4 * 2 ** 30, 2 * 2 ** 30],
    [64 * 2 ** 30, 8 * 2 ** 30],
  ])('leaves a machine with %d bytes of memory half of it: %d', (ofMachine, memoryBytes) => {
    const engine = { ...circumstances.engine, memoryBytes: ofMachine };
    const { HostConfig } = createRequest(settings(), { ...circumstances, engine }, 'k');

    expect(HostConfig).toMatchObject({ Memory: memoryBytes, MemorySwap: memoryBytes });
  });

  it.each([
    [{ memoryBytes: 1 }, 1],
    [{ memoryBytes: 8 * 2 ** 30 }, 8 * 2 ** 30],
    [{ memoryAtMostBytes: 3 }, 3],
    [{ memoryAtMostBytes: 8 * 2 ** 30 }, 4 * 2 ** 30],
  ])("takes the user's memory as it is, and a repository's for the most: %j", (wanted, expected) => {
    expect(createRequest(settings(wanted), circumstances, 'k').HostConfig.Memory).toBe(expected);
  });

  it('asks for no more processors than there are', () => {
    const cpusFor = (changes: Partial<Settings>) =>
      createRequest(settings(changes), circumstances, 'k').HostConfig.NanoCpus;

    expect([{}, { cpus: 1.5 }, { cpus: 64 }, { cpus: 1e300 }].map(cpusFor)).toEqual([0, 1.5e9, 4e9, 4e9]);
  });

  it('asks for no limit that the engine cannot hold', () => {
    const engine = { ...circumstances.engine, limits: { memory: false, pids: false, cpus: false } };
    const { HostConfig, Labels } = createRequest(settings({ cpus: 2 }), { ...circumstances, engine }, 'k');

    expect(HostConfig).toMatchObject({ Memory: 0, MemorySwap: 0, NanoCpus: 0, PidsLimit: 0 });
    expect(JSON.parse(Labels[label.spec])).toMatchObject({ memoryBytes: 0, pids: 0 });
  });

  it('gives root on a rootless engine what sshd needs, and tells agents that this is a sandbox', () => {
    const rootless = { ...circumstances, user: { uid: 0, gid: 0 } };
    const { HostConfig, Env } = createRequest(settings(), rootless, 'k');

    expect(HostConfig.CapAdd).toEqual(['SETGID', 'SETUID', 'SYS_CHROOT']);
    expect(Env).toContain('IS_SANDBOX=1');
    expect(request.Env).not.toContain('IS_SANDBOX=1');
  });

  it('gives a workspace a data volume of its own when that is asked for', () => {
    const sourceOf = (changes: Parameters<typeof settings>[0]) =>
      createRequest(settings({ data: 'workspace', ...changes }), circumstances, 'k').HostConfig.Mounts[0]!
        .Source;

    expect(sourceOf({})).toMatch(/^cai-app-[0-9a-f]{12}-data$/);
    expect(sourceOf({ workspace: '/home/u/other/app' })).not.toBe(sourceOf({}));
    // Who gets a new key keeps what the agent keeps.
    expect(sourceOf({ authorizedKey: 'ssh-ed25519 BBBB' })).toBe(sourceOf({}));
  });

  it.each(['../../etc', 'a b', 'X', '.hidden'])(
    'names a volume for the agent %j that engines take',
    (agent) => {
      const { HostConfig } = createRequest(settings({ agent }), circumstances, 'k');

      expect(HostConfig.Mounts[0]!.Source).toMatch(/^cai-data-[0-9a-f]{12}-1000$/);
    },
  );
});

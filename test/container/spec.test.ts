import { configHash, containerName, createRequest, label, recordedOf } from '../../src/container/spec';
import { circumstances, settings } from './given';

describe('containerName', () => {
  it('tells the folder to people and everything else by its hash', () => {
    expect(containerName('/home/u/My Project!', 'claude', 1000)).toMatch(/^cai-my-project--[0-9a-f]{12}$/);
    const names = [
      containerName('/a', 'claude', 1000),
      containerName('/b/a', 'claude', 1000),
      containerName('/a', 'gemini', 1000),
      containerName('/a', 'claude', 1001),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(containerName('/a', 'claude', 1000)).toBe(names[0]);
  });

  it.each(['/', '/..x', '/日本', `/${'x'.repeat(300)}`, ''])('is a name that engines take for %j', (root) => {
    expect(containerName(root, 'claude', 0)).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,62}$/);
  });
});

describe('configHash', () => {
  it('changes with every setting', () => {
    const changed = [
      { workingFolder: '/elsewhere' },
      { binds: [{ source: '/a', target: '/a', isReadOnly: false, identity: '1:1' }] },
      { binds: [{ source: '/a', target: '/a', isReadOnly: true, identity: '1:1' }] },
      { data: 'workspace' as const },
      { memoryBytes: 1 },
      { cpus: 1 },
      { pids: 7 },
      { idleMs: 7 },
      { extraHosts: ['a:1.2.3.4'] },
      { certificates: 'PEM' },
      { filesHash: 'other' },
      { authorizedKey: 'other' },
    ].map((change) => configHash(settings(change)));

    expect(new Set([configHash(settings()), ...changed]).size).toBe(changed.length + 1);
  });

  it('does not depend on the numbers of files, which can change when the machine is started', () => {
    const [bind] = settings().binds;

    expect(configHash(settings({ binds: [{ ...bind!, identity: '3:4' }] }))).toBe(configHash(settings()));
  });

  it('does not depend on the order in which settings were written', () => {
    const given = settings();
    const reversed = Object.fromEntries(Object.entries(given).reverse()) as unknown as typeof given;

    expect(configHash(reversed)).toBe(configHash(given));
  });
});

describe('createRequest', () => {
  const request = createRequest(settings(), 'cai-x', circumstances, 'SHA256:key');

  it('takes all rights away and gives none', () => {
    expect(request.HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      CapAdd: [],
      SecurityOpt: ['no-new-privileges'],
      Init: false,
      PidsLimit: 1024,
    });
    expect(request.HostConfig).not.toHaveProperty('Privileged');
  });

  it('mounts the workspace at its own path, the data volume, and nothing else', () => {
    expect(
      request.HostConfig.Mounts.map(({ Type, Source, Target }) => `${Type} ${Source} ${Target}`),
    ).toEqual(['volume cai-data-claude-1000 /home/agent/.data', 'bind /home/u/app /home/u/app']);
  });

  it('publishes sshd on the loopback only', () => {
    expect(request.HostConfig.PortBindings).toEqual({ '2222/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] });
  });

  it('records what it asks for', () => {
    expect(JSON.parse(request.Labels[label.spec])).toEqual(recordedOf(settings(), 'cai-x', circumstances));
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
  ])('leaves a machine with %d bytes of memory half of it: %d', (engineMemoryBytes, memoryBytes) => {
    const { HostConfig } = createRequest(settings(), 'cai-x', { ...circumstances, engineMemoryBytes }, 'k');

    expect(HostConfig).toMatchObject({ Memory: memoryBytes, MemorySwap: memoryBytes });
  });

  it('asks for no limit that the engine cannot hold', () => {
    const limits = { memory: false, pids: false, cpus: false };
    const { HostConfig, Labels } = createRequest(
      settings({ cpus: 2 }),
      'cai-x',
      { ...circumstances, limits },
      'k',
    );

    expect(HostConfig).toMatchObject({ Memory: 0, MemorySwap: 0, NanoCpus: 0, PidsLimit: 0 });
    expect(JSON.parse(Labels[label.spec])).toMatchObject({ memoryBytes: 0, pids: 0 });
  });

  it('gives root on a rootless engine what sshd needs, and tells agents that this is a sandbox', () => {
    const rootless = { ...circumstances, user: { uid: 0, gid: 0 } };
    const { HostConfig, Env } = createRequest(settings(), 'cai-x', rootless, 'k');

    expect(HostConfig.CapAdd).toEqual(['SETGID', 'SETUID', 'SYS_CHROOT']);
    expect(Env).toContain('IS_SANDBOX=1');
    expect(request.Env).not.toContain('IS_SANDBOX=1');
  });

  it('gives a workspace a data volume of its own when that is asked for', () => {
    const { HostConfig } = createRequest(settings({ data: 'workspace' }), 'cai-x', circumstances, 'k');

    expect(HostConfig.Mounts[0]).toMatchObject({ Type: 'volume', Source: 'cai-x-data' });
  });

  it.each(['../../etc', 'a b', 'X', '.hidden'])(
    'names a volume for the agent %j that engines take',
    (agent) => {
      const { HostConfig } = createRequest(settings({ agent }), 'cai-x', circumstances, 'k');

      expect(HostConfig.Mounts[0]!.Source).toMatch(/^cai-data-[0-9a-f]{12}-1000$/);
    },
  );
});

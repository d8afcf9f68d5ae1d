import { configHash, containerName } from '../../../src/container/spec/spec';
import { settings } from '../given';

describe('containerName', () => {
  const nameFor = (changes: Parameters<typeof settings>[0]) => containerName(settings(changes));

  it('tells the folder to people and everything else by its hash', () => {
    expect(nameFor({ workspace: '/home/u/My Project!' })).toMatch(/^cai-my-project--[0-9a-f]{12}$/);
    const names = [
      nameFor({ workspace: '/a' }),
      nameFor({ workspace: '/b/a' }),
      nameFor({ workspace: '/a', agent: 'gemini' }),
      nameFor({ workspace: '/a', hostUser: { uid: 1001, gid: 1000 } }),
      nameFor({ workspace: '/a', authorizedKey: 'ssh-ed25519 BBBB' }),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(nameFor({ workspace: '/a', pids: 7 })).toBe(names[0]);
  });

  it.each(['/', '/..x', '/日本', `/${'x'.repeat(300)}`, undefined])(
    'is a name that engines take for %j',
    (workspace) => expect(nameFor({ workspace })).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,62}$/),
  );
});

describe('configHash', () => {
  it('changes with every setting', () => {
    const changed = [
      { hostname: 'h' },
      { workingFolder: '/elsewhere' },
      { binds: [{ source: '/a', target: '/a', isReadOnly: false, identity: '1:1', isRoot: true }] },
      { binds: [{ source: '/a', target: '/a', isReadOnly: true, identity: '1:1', isRoot: true }] },
      { data: 'workspace' as const },
      { memoryBytes: 1 },
      { memoryAtMostBytes: 1 },
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

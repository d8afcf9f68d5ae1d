import { chownSync } from 'node:fs';
import { configHash, containerName, containerUser } from '../../../src/container/spec/spec';
import { newFolder } from '../../support/temp-folder';
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

const isRoot = process.getuid?.() === 0;

describe('containerUser', () => {
  it('is the user of the host', async () => {
    expect(await containerUser({ uid: 501, gid: 20 }, '/', false)).toEqual({ user: { uid: 501, gid: 20 } });
  });

  it('is root on a rootless engine, where that is the user of the host', async () => {
    expect(await containerUser({ uid: 501, gid: 20 }, '/', true)).toEqual({ user: { uid: 0, gid: 0 } });
  });

  it('is never root when cai runs as root, and says whom it takes instead', async () => {
    const { user, notice } = await containerUser({ uid: 0, gid: 0 }, '/', false);

    expect(user).toEqual({ uid: 1000, gid: 1000 });
    expect(notice).toBe(
      'cai runs as root: commands run not as root, with the user id 1000, which cannot write in "/"',
    );
    expect((await containerUser({ uid: 0, gid: 0 }, undefined, false)).user).toEqual(user);
  });

  (isRoot ? it : it.skip)('is the owner of the workspace for root (needs root)', async () => {
    const folder = newFolder();
    chownSync(folder, 4711, 4712);

    const { user, notice } = await containerUser({ uid: 0, gid: 0 }, folder, false);

    expect(user).toEqual({ uid: 4711, gid: 4712 });
    expect(notice).toBe(
      'cai runs as root: commands run as the owner of the workspace, with the user id 4711',
    );
  });
});

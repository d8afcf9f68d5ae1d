import { containerName } from '../../../src/container/spec/names';
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

import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFileOf, loadConfig } from '../../../../src/config/config';
import { Users } from '../../../../src/served/server/door/users';
import { Host } from '../../../../src/system/host';
import { expectedError } from '../../../expected-error';
import { newFolder } from '../../../support/temp-folder';

const all = { agents: 'all', workspaces: 'all' } as const;
type People = ConstructorParameters<typeof Users>[0];

function usersOf(users: People['users'], more: Partial<People> = {}): Users {
  return new Users({ users, groups: [], ...more });
}

describe('Users', () => {
  test('says what each may use', () => {
    const folder = newFolder();
    const users = usersOf([
      { name: 'ann', agents: ['claude'], workspaces: [folder, '/not/there'] },
      { name: 'bot', agents: 'all', workspaces: 'all' },
    ]);

    expect(users.visitor('ann')).toEqual({
      name: 'ann',
      agents: ['claude'],
      workspaces: [folder, '/not/there'],
    });
    expect(users.visitor('bot')).toEqual({ name: 'bot' });
    expect(users.visitor('owner')).toEqual({ name: 'owner' });
    expect(users.visitor('ann')).not.toBe(users.visitor('ann'));
  });

  test.each(['eve', '', 'Ann', '__proto__', 'constructor'])('knows no %j', (name) => {
    expect(usersOf([{ name: 'ann', ...all }]).visitor(name)).toBeUndefined();
  });

  test('follows links of folders once', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'real'));
    mkdirSync(join(folder, 'secret'));
    symlinkSync('real', join(folder, 'link'));
    const users = usersOf([
      { name: 'ann', agents: 'all', workspaces: [join(folder, 'link'), join(folder, 'real')] },
    ]);

    renameSync(join(folder, 'real'), join(folder, 'away'));
    symlinkSync('secret', join(folder, 'real'));

    expect(users.visitor('ann')!.workspaces).toEqual([join(folder, 'real'), join(folder, 'real')]);
  });

  test('takes no name twice', () => {
    const twice = [
      { name: 'ann', ...all },
      { name: 'ann', ...all, agents: ['claude'] },
    ] as const;
    const refusal = (table: string) =>
      expect.objectContaining(expectedError('CONFIG', `two [[serve.${table}]] have the name "ann"`)) as Error;

    expect(() => usersOf(twice)).toThrow(refusal('users'));
    expect(() => usersOf([], { groups: twice, groupsHeader: 'x' })).toThrow(refusal('groups'));
  });

  test('of a group have its rights, and folders of their own; their own entry comes before', () => {
    const users = usersOf([{ name: 'ann', ...all, agents: ['codex'] }], {
      groupsHeader: 'X-Groups',
      groups: [
        { name: 'shop', agents: ['claude'], workspaces: ['/srv/{user}', '/srv/shop'] },
        { name: 'all', ...all },
      ],
    });
    const bob = { name: 'bob', group: 'shop', agents: ['claude'], workspaces: ['/srv/bob', '/srv/shop'] };

    expect(users.visitor('bob', ['all', 'shop'])).toEqual(bob);
    expect(users.visitor('bob', ['All', 'all'])).toEqual({ name: 'bob', group: 'all' });
    expect(users.visitor('ann', ['all'])).toEqual({ name: 'ann', agents: ['codex'] });
    expect(users.visitor('owner', ['shop'])).toEqual({ name: 'owner' });
    expect([users.visitor('bob', ['sho']), users.visitor('bob')]).toEqual([undefined, undefined]);
    expect([users.isStill(users.visitor('bob', ['shop'])!), users.isStill({ ...bob, group: 'all' })]).toEqual(
      [true, false],
    );
  });

  test('of a group need somebody who says who is in it', () => {
    expect(() => usersOf([], { groups: [{ name: 'shop', ...all }] })).toThrow(
      expect.objectContaining(
        expectedError('CONFIG', 'put groups_header = "X-Auth-Request-Groups"'),
      ) as Error,
    );
  });

  describe('of a configuration', () => {
    const entry = (name: string, workspaces: string) =>
      `[[serve.users]]\nname = "${name}"\nagents = "all"\nworkspaces = ${workspaces}\n`;
    let host: Host;
    let file: string;
    const write = (...entries: string[]): void => writeFileSync(file, entries.join(''));
    const users = () => new Users(loadConfig(host).serve, host);
    beforeEach(() => {
      host = new Host({ HOME: newFolder() });
      file = configFileOf(host);
      mkdirSync(join(file, '..'), { recursive: true });
      write(entry('ann', '"all"'));
    });

    test('are as it is now', () => {
      const known = users();
      const [ann, owner] = [known.visitor('ann')!, known.visitor('owner')!];
      write(entry('ann', '"all"'), entry('bob', '["/srv"]'));
      expect(known.visitor('bob')).toEqual({ name: 'bob', workspaces: ['/srv'] });
      expect([ann, owner].map((each) => known.isStill(each))).toEqual([true, true]);

      const bob = known.visitor('bob')!;
      write(entry('bob', '["/srv/shop"]'));
      expect([ann, bob, owner].map((each) => known.isStill(each))).toEqual([false, false, true]);
      expect(known.visitor('ann')).toBeUndefined();
      rmSync(file);
      expect(known.visitor('bob')).toBeUndefined();
    });

    test('are as it is now where the file is a link to one in a folder that is replaced, as a ConfigMap is', () => {
      const folder = join(file, '..');
      for (const each of ['one', 'two']) mkdirSync(join(folder, each));
      writeFileSync(join(folder, 'one/config.toml'), entry('ann', '"all"'));
      writeFileSync(join(folder, 'two/config.toml'), entry('bob', '"all"'));
      rmSync(file);
      symlinkSync('one', join(folder, 'data'));
      symlinkSync('data/config.toml', file);
      const known = users();
      expect(known.visitor('bob')).toBeUndefined();

      symlinkSync('two', join(folder, 'next'));
      renameSync(join(folder, 'next'), join(folder, 'data'));

      expect(known.visitor('bob')).toEqual({ name: 'bob' });
      expect(known.visitor('ann')).toBeUndefined();
    });

    test('let nobody in while it cannot be read, and who is in stays', () => {
      const known = users();
      const ann = known.visitor('ann')!;
      writeFileSync(file, 'no = [');

      expect(() => known.visitor('ann')).toThrow(file);
      expect(known.visitor('owner')).toEqual({ name: 'owner' });
      expect(known.isStill(ann)).toBe(true);
    });

    test('keep what a folder has led to', () => {
      const folder = newFolder();
      mkdirSync(join(folder, 'shop'));
      write(entry('ann', `["${folder}/shop"]`));
      const known = users();
      renameSync(join(folder, 'shop'), join(folder, 'away'));
      symlinkSync('away', join(folder, 'shop'));
      write(entry('ann', `["${folder}/shop", "${folder}/away"]`));

      expect(known.visitor('ann')!.workspaces).toEqual([join(folder, 'shop'), join(folder, 'away')]);
    });

    test('have no limits where there are no containers', () => {
      host = new Host({ ...host.env, CAI_ACP_DIRECT_SPAWN: '1' });
      const known = users();
      write(entry('ann', '["/srv"]'));
      const refusal = expectedError('CONFIG', 'which only containers can hold');

      expect(() => known.visitor('ann')).toThrow(expect.objectContaining(refusal) as Error);
      expect(users).toThrow(expect.objectContaining(refusal) as Error);
      host = new Host({ ...host.env, CAI_ACP_TEST_MODE: '1' });
      expect(users).not.toThrow();
    });
  });
});

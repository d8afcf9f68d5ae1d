import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Users } from '../../../src/serve/door/users';
import { expectedError } from '../../expected-error';
import { newFolder } from '../../support/temp-folder';

describe('Users', () => {
  test('says what each may use', () => {
    const folder = newFolder();
    const users = new Users([
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
    expect(new Users([{ name: 'ann', agents: 'all', workspaces: 'all' }]).visitor(name)).toBeUndefined();
  });

  test('follows links of folders once', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'real'));
    mkdirSync(join(folder, 'secret'));
    symlinkSync('real', join(folder, 'link'));
    const users = new Users([
      { name: 'ann', agents: 'all', workspaces: [join(folder, 'link'), join(folder, 'real')] },
    ]);

    renameSync(join(folder, 'real'), join(folder, 'away'));
    symlinkSync('secret', join(folder, 'real'));

    expect(users.visitor('ann')!.workspaces).toEqual([join(folder, 'real'), join(folder, 'real')]);
  });

  test('takes no name twice', () => {
    const user = { name: 'ann', agents: 'all', workspaces: 'all' } as const;

    expect(() => new Users([user, { ...user, agents: ['claude'] }])).toThrow(
      expect.objectContaining(expectedError('CONFIG', 'two [[serve.users]] have the name "ann"')) as Error,
    );
  });
});

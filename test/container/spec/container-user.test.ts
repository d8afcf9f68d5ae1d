import { chownSync } from 'node:fs';
import { containerUser } from '../../../src/container/spec/container-user';
import { newFolder } from '../../support/temp-folder';

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

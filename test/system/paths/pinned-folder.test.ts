import { lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPinned, checkSamePins, identify, pinFolder } from '../../../src/system/paths/pinned-folder';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

let place: string;
let folder: string;

beforeEach(() => {
  place = newFolder();
  folder = join(place, 'folder');
  mkdirSync(join(folder, 'below'), { recursive: true });
});

describe('identify', () => {
  test('tells device and inode, and a folder from a file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const identityOf = (path: string): string => `${lstatSync(path).dev}:${lstatSync(path).ino}`;

    expect(await identify(folder)).toEqual({ identity: identityOf(folder), isFolder: true });
    expect(await identify(file)).toEqual({ identity: identityOf(file), isFolder: false });
  });

  test('follows no link, neither in its place nor above it', async () => {
    symlinkSync('folder', join(place, 'link'));

    for (const path of ['link', 'link/below'])
      await expect(identify(join(place, path))).rejects.toMatchObject({ code: 'WORKSPACE' });
  });

  test('says what cannot be opened', async () => {
    await expect(identify(join(place, 'missing'))).rejects.toMatchObject(
      expectedError('WORKSPACE', 'missing" cannot be opened'),
    );
  });
});

describe('a pinned folder', () => {
  test('has both of its names, and what it is', async () => {
    symlinkSync('folder', join(place, 'link'));

    const pin = await pinFolder(join(place, 'link/below'));

    const { identity } = await identify(join(folder, 'below'));
    expect(pin).toEqual({
      spelled: join(place, 'link/below'),
      real: join(folder, 'below'),
      identity,
    });
    await checkPinned(pin);
  });

  test('is none where a link has come into the path that was looked up', async () => {
    renameSync(folder, join(place, 'moved'));
    symlinkSync('moved', folder);

    await expect(pinFolder(folder, folder)).rejects.toMatchObject({ code: 'WORKSPACE' });
  });

  test('is none where there is no folder', async () => {
    writeFileSync(join(folder, 'file'), '');

    for (const path of ['missing', 'folder/file'])
      await expect(pinFolder(join(place, path))).rejects.toMatchObject(
        expectedError('WORKSPACE', 'is not a folder that can be opened'),
      );
  });

  test('is another one after it was replaced, and the same again after it was put back', async () => {
    const pin = await pinFolder(folder);
    renameSync(folder, join(place, 'moved'));
    await expect(checkPinned(pin)).rejects.toMatchObject({ code: 'REPLACED' });
    symlinkSync('moved', folder);
    await expect(checkPinned(pin)).rejects.toMatchObject({ code: 'REPLACED' });
    renameSync(folder, join(place, 'link'));
    renameSync(join(place, 'moved'), folder);

    await checkPinned(pin);
  });

  test('is compared with what it was in another life of its session', async () => {
    const [pin, below] = [await pinFolder(folder), await pinFolder(join(folder, 'below'))];
    checkSamePins([pin], [below, { ...pin }]);
    checkSamePins([], [pin]);
    const others = [[], [below], [{ ...pin, identity: '0:0' }], [{ ...pin, real: below.real }]];

    for (const now of others) expect(() => checkSamePins([pin], now)).toThrow('is no longer the folder');
  });
});

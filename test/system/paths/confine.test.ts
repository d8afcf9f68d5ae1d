import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { confine } from '../../../src/system/paths/confine';
import { pinFolder, type PinnedFolder } from '../../../src/system/paths/pinned-folder';
import { newFolder } from '../../support/temp-folder';

/** Of a file that is served. */
const maxBytes = 1_000;

let place: string;
let root: string;
let pins: PinnedFolder[];

beforeEach(async () => {
  place = newFolder();
  root = join(place, 'root');
  mkdirSync(join(root, 'src'), { recursive: true });
  mkdirSync(join(place, 'outside'));
  writeFileSync(join(root, 'src/file'), '');
  writeFileSync(join(place, 'outside/secret'), '');
  pins = [await pinFolder(root)];
});

describe('confine', () => {
  describe('lets through', () => {
    test.each([
      ['a file', 'src/file'],
      ['a new file', 'src/new'],
      ['a new file in a new folder', 'new/folder/file'],
      ['a name that begins with dots', '..file'],
      ['unicode, spaces and backslashes', 'ü ñ/日本/\\..\\x'],
    ])('%s', async (_, path) =>
      expect(await confine(join(root, path), pins, maxBytes)).toBe(join(root, path)),
    );

    test.each(['//src///file', '/./src/./file', '/src/../src/file', '/../root/src/file', '/src/file/'])(
      '%s, normalised',
      async (path) => expect(await confine(`${root}${path}`, pins, maxBytes)).toBe(join(root, 'src/file')),
    );

    test('both spellings of a root that a link leads to', async () => {
      const spelled = join(place, 'spelled');
      symlinkSync(root, spelled);
      pins = [await pinFolder(spelled)];

      expect(await confine(join(spelled, 'src/file'), pins, maxBytes)).toBe(join(spelled, 'src/file'));
      expect(await confine(join(root, 'src/file'), pins, maxBytes)).toBe(join(root, 'src/file'));
    });

    test('a file of the size that a line may have', async () => {
      writeFileSync(join(root, 'src/file'), 'four');

      expect(await confine(join(root, 'src/file'), pins, 4)).toBe(join(root, 'src/file'));
    });

    test('a file that has come into a pinned folder, or changed there', async () => {
      renameSync(join(root, 'src'), join(root, 'moved'));
      mkdirSync(join(root, 'src'));
      writeFileSync(join(root, 'src/other'), '');

      expect(await confine(join(root, 'src/other'), pins, maxBytes)).toBe(join(root, 'src/other'));
    });
  });

  describe('refuses', () => {
    test.each([
      ['the parent of the root', '..'],
      ['a file outside', '../outside/secret'],
      ['a way out through ..', 'src/../../outside/secret'],
      ['a folder whose name begins as the root', '../root2/file'],
    ])('%s', async (_, path) => await refused(`${root}/${path}`, "outside the session's folders"));

    test.each(['', 'src/file', './src/file', '~/src', 'C:\\root\\src', '/root/src/file\0.txt'])(
      'what is no absolute path: %j',
      async (path) => await refused(path, 'is not an absolute path'),
    );

    test.each([
      ['a link to a folder outside', '../outside', 'link/secret'],
      ['a link to a file outside', '../outside/secret', 'link'],
      ['a link to nothing outside', '../outside/new', 'link'],
      ['a link to a new folder outside', '../outside/new', 'link/file'],
      ['an absolute link to nothing', '/no/such/file', 'link'],
      ['a link to the parent', '..', 'link/outside/secret'],
      ['a link to a folder inside', 'src', 'link/file'],
      ['a link to a file inside', 'src/file', 'link'],
      ['a link to nothing inside', 'src/new', 'link'],
      ['a link to itself', 'link', 'link'],
      ['a link below itself', 'link/x', 'link'],
      ['a link to the working directory of whoever asks', '/proc/self/cwd', 'link/secret'],
      ['a link through the links of /dev', '/dev/fd/0', 'link'],
    ])('%s', async (_, target, path) => {
      symlinkSync(target, join(root, 'link'));

      await refused(join(root, path), 'leads through the link');
    });

    test('a link from one root into another', async () => {
      symlinkSync(join(place, 'outside'), join(root, 'link'));
      pins.push(await pinFolder(join(place, 'outside')));

      await refused(join(root, 'link/secret'), 'leads through the link');
    });

    test('a path outside that a link leads inside', async () => {
      symlinkSync(root, join(place, 'outside/link'));

      await refused(join(place, 'outside/link/src/file'), "outside the session's folders");
    });

    test.each([
      ['the root itself', '', 'is a folder'],
      ['a folder', 'src', 'is a folder'],
      ['a name below a file', 'src/file/below', 'which is not one'],
      ['a name that is too long to look up', 'x'.repeat(300), 'ENAMETOOLONG'],
    ])('%s', async (_, path, why) => await refused(join(root, path), why));

    test('a pipe, at once', async () => {
      execFileSync('mkfifo', [join(root, 'pipe')]);

      await refused(join(root, 'pipe'), 'is no regular file');
    });

    test('a socket', async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(join(root, 'socket'), resolve));

      await refused(join(root, 'socket'), 'is no regular file');

      server.close();
    });

    test('a device', async () => {
      pins = [await pinFolder('/dev')];

      await refused('/dev/zero', 'is no regular file');
    });

    test('a file of 8 TiB without content, at once', async () => {
      truncateSync(join(root, 'src/file'), 8 * 2 ** 40);

      await refused(join(root, 'src/file'), 'is larger than');
    });

    test('everything where there is no root', async () => {
      pins = [];

      await refused(join(root, 'src/file'), "outside the session's folders");
    });
  });

  describe('refuses as tampering', () => {
    test('a folder that was replaced by a link, also to itself', async () => {
      renameSync(root, join(place, 'moved'));
      for (const target of [join(place, 'outside'), join(place, 'moved')]) {
        symlinkSync(target, root);

        await replaced(join(root, 'secret'));
        rmSync(root);
      }
    });

    test('a folder that was replaced by another, or is gone', async () => {
      renameSync(root, join(place, 'moved'));
      await replaced(join(root, 'src/file'));
      mkdirSync(join(root, 'src'), { recursive: true });
      writeFileSync(join(root, 'src/file'), '');

      await replaced(join(root, 'src/file'));
    });

    test('a folder above that was replaced by a link', async () => {
      pins = [await pinFolder(join(root, 'src'))];
      renameSync(root, join(place, 'moved'));
      symlinkSync('moved', root);

      await replaced(join(root, 'src/file'));
    });

    test('a link that led to the folder and leads elsewhere now', async () => {
      const spelled = join(place, 'spelled');
      symlinkSync(root, spelled);
      pins = [await pinFolder(spelled)];
      rmSync(spelled);
      symlinkSync(join(place, 'outside'), spelled);

      await replaced(join(spelled, 'secret'));
    });
  });
});

async function refused(path: string, why: string): Promise<void> {
  await expect(confine(path, pins, maxBytes)).rejects.toMatchObject({
    code: 'OUTSIDE',
    rpcCode: -32602,
    message: expect.stringContaining(why) as string,
  });
}

async function replaced(path: string): Promise<void> {
  await expect(confine(path, pins, maxBytes)).rejects.toMatchObject({ code: 'REPLACED', rpcCode: -32602 });
}

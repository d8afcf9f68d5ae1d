import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { confine } from '../../src/workspace/confine';
import { newFolder } from './temp-folder';

let place: string;
let root: string;

beforeEach(() => {
  place = newFolder();
  root = join(place, 'root');
  mkdirSync(join(root, 'src'), { recursive: true });
  mkdirSync(join(place, 'outside'));
  writeFileSync(join(root, 'src/file'), '');
  writeFileSync(join(place, 'outside/secret'), '');
});

describe('confine', () => {
  describe('lets through', () => {
    test.each([
      ['a file', 'src/file'],
      ['a folder', 'src'],
      ['the root itself', ''],
      ['a new file', 'src/new'],
      ['a new file in a new folder', 'new/folder/file'],
      ['a name that begins with dots', '..file'],
      ['unicode, spaces and backslashes', 'ü ñ/日本/\\..\\x'],
    ])('%s', async (_, path) => {
      expect(await confine(join(root, path), [root])).toBe(join(root, path));
    });

    test.each(['//src///file', '/./src/./file', '/src/../src/file', '/../root/src/file', '/src/file/'])(
      '%s, normalised',
      async (path) => {
        expect(await confine(`${root}${path}`, [root])).toBe(join(root, 'src/file'));
      },
    );

    test('a link to a file inside, under the name of the link', async () => {
      link('link', 'src/file');
      link('absolute', join(root, 'src'));

      expect(await confine(join(root, 'link'), [root])).toBe(join(root, 'link'));
      expect(await confine(join(root, 'absolute/file'), [root])).toBe(join(root, 'absolute/file'));
    });

    test('a link whose missing target would be inside', async () => {
      link('link', 'src/new');

      expect(await confine(join(root, 'link'), [root])).toBe(join(root, 'link'));
    });

    test('both spellings of a root that is a link', async () => {
      const spelled = join(place, 'spelled');
      symlinkSync(root, spelled);

      expect(await confine(join(spelled, 'src/file'), [spelled])).toBe(join(spelled, 'src/file'));
      expect(await confine(join(root, 'src/file'), [spelled])).toBe(join(root, 'src/file'));
    });

    test('a link from one root into another', async () => {
      link('link', join(place, 'outside'));

      const path = join(root, 'link/secret');

      expect(await confine(path, [root, join(place, 'outside')])).toBe(path);
    });

    test('a root given with a trailing slash', async () => {
      expect(await confine(join(root, 'src'), [`${root}/`])).toBe(join(root, 'src'));
    });
  });

  describe('refuses', () => {
    test.each([
      ['the parent of the root', '..'],
      ['a file outside', '../outside/secret'],
      ['a way out through ..', 'src/../../outside/secret'],
      ['a folder whose name begins as the root', '../root2/file'],
      ['NUL', 'src/file\0.txt'],
    ])('%s', async (_, path) => {
      await refused(`${root}/${path}`);
    });

    test.each(['', 'src/file', './src/file', '~/src', 'C:\\root\\src'])(
      'a relative path: %j',
      async (path) => {
        await refused(path);
      },
    );

    test.each([
      ['a link to a folder outside', '../outside', 'link/secret'],
      ['a link to a file outside', '../outside/secret', 'link'],
      ['a link to nothing outside', '../outside/new', 'link'],
      ['a link to a new folder outside', '../outside/new', 'link/file'],
      ['an absolute link to nothing outside', '/no/such/file', 'link'],
      ['a link to the parent', '..', 'link/outside/secret'],
      ['a link to itself', 'link', 'link'],
      ['a link below itself', 'link/x', 'link'],
      // It names the editor's own working directory when the editor opens it, and ours here.
      ['a link to the working directory of whoever asks', '/proc/self/cwd', 'link/secret'],
      ['a link to the root folder of whoever asks', '/proc/self/root', `link`],
      ['a link through the links of /dev', '/dev/fd/0', 'link'],
    ])('%s', async (_, target, path) => {
      link('link', target);

      await refused(join(root, path));
    });

    test('a chain of links that ends outside', async () => {
      link('one', 'two');
      link('two', 'src/three');
      link('src/three', '../../outside');

      await refused(join(root, 'one/secret'));
    });

    test('what a link to the working directory of whoever asks leads to, even if it is inside', async () => {
      link('link', '/proc/self/cwd');

      await refused(join(root, 'link'), [root, process.cwd()]);
    });

    test('a path outside that a link leads inside', async () => {
      symlinkSync(root, join(place, 'outside/link'));

      await refused(join(place, 'outside/link/src/file'));
    });

    test('everything below a root that does not exist', async () => {
      await refused(join(place, 'missing/file'), [join(place, 'missing')]);
    });

    test('everything where there is no root', async () => {
      await refused(join(root, 'src/file'), []);
    });

    test('a name that is too long to look up', async () => {
      await refused(join(root, 'x'.repeat(300)));
    });
  });
});

function link(name: string, target: string): void {
  symlinkSync(target, join(root, name));
}

async function refused(path: string, roots: readonly string[] = [root]): Promise<void> {
  await expect(confine(path, roots)).rejects.toMatchObject({
    code: 'OUTSIDE',
    rpcCode: -32602,
    message: expect.stringContaining(
      `${JSON.stringify(path)} is ${path.startsWith('/') ? "outside the session's folders" : 'not an absolute path'}`,
    ) as string,
  });
}

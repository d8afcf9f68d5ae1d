import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ancestry, PathResolver, resolvePath } from '../../src/system/real-path';
import { newFolder } from '../support/temp-folder';
import { errorCodeOf } from '../../src/errors';

describe('resolvePath', () => {
  test('follows links as the system does', async () => {
    const place = linkedFolder();

    const path = join(place, 'a/absolute/up');

    expect(await resolvePath(path)).toEqual({
      real: realpathSync.native(path),
      links: [join(place, 'a/absolute'), join(place, 'relative'), join(place, 'a/b/up')],
    });
  });

  test('tells of every place on the way', async () => {
    const place = newFolder();
    mkdirSync(join(place, 'in/out'), { recursive: true });
    symlinkSync('in/../in/out', join(place, 'link'));
    const places: string[] = [];

    await resolvePath(join(place, 'link/new'), (each) => places.push(each));

    const expected = ['link', 'in', '', 'in', 'in/out', 'in/out/new'].map((name) => join(place, name));
    expect(places.slice(-6)).toEqual(expected);
  });

  test('keeps what does not exist', async () => {
    const place = newFolder();
    symlinkSync('.', join(place, 'here'));

    expect(await resolvePath(join(place, 'here/new/file'))).toEqual({
      real: join(place, 'new/file'),
      links: [join(place, 'here')],
    });
  });

  test('keeps what is asked for below a file', async () => {
    const place = newFolder();
    writeFileSync(join(place, 'file'), '');

    expect(await resolvePath(join(place, 'file/x'))).toEqual({ real: join(place, 'file/x'), links: [] });
  });

  test('follows a link whose target is missing', async () => {
    const place = newFolder();
    symlinkSync('/no/such/folder', join(place, 'dangling'));

    expect(await resolvePath(join(place, 'dangling/x'))).toMatchObject({ real: '/no/such/folder/x' });
  });

  test('stays at the top when a link leads above it', async () => {
    const place = newFolder();
    symlinkSync('../'.repeat(40), join(place, 'up'));

    expect(await resolvePath(join(place, 'up'))).toMatchObject({ real: '/' });
  });

  test('gives up on a loop', async () => {
    const place = newFolder();
    symlinkSync('two', join(place, 'one'));
    symlinkSync('one', join(place, 'two'));

    await expect(resolvePath(join(place, 'one'))).rejects.toMatchObject({ code: 'ELOOP' });
  });

  test('follows as many links as the system and no more', async () => {
    const place = newFolder();
    symlinkSync('.', join(place, 'l'));

    const atLimit = join(place, ...Array<string>(40).fill('l'));

    expect(await resolvePath(atLimit)).toMatchObject({ real: place });
    await expect(resolvePath(join(atLimit, 'l'))).rejects.toMatchObject({ code: 'ELOOP' });
  });

  test('rejects with the reason of the system', async () => {
    await expect(resolvePath(`/${'x'.repeat(300)}`)).rejects.toMatchObject({ code: 'ENAMETOOLONG' });
  });

  // Root may search every folder.
  (process.getuid?.() === 0 ? test.skip : test)('rejects for a folder that cannot be searched', async () => {
    const closed = newFolder();
    chmodSync(closed, 0);

    await expect(resolvePath(join(closed, 'x'))).rejects.toMatchObject({ code: 'EACCES' });
  });
});

describe('PathResolver', () => {
  test('finds what `resolvePath` finds', async () => {
    const place = linkedFolder();
    symlinkSync('/no/such/folder', join(place, 'dangling'));
    const resolver = new PathResolver();

    for (const name of ['a/absolute/up', 'relative/../../x', 'dangling/x', 'a/file/x', 'new/file', 'a/b']) {
      const path = `${place}/${name}`;

      expect(resolver.resolve(path)).toEqual(await resolvePath(path));
    }
  });

  test('looks at a place once', () => {
    const place = newFolder();
    const resolver = new PathResolver();
    resolver.resolve(join(place, 'link/x'));
    symlinkSync('/', join(place, 'link'));

    expect(resolver.resolve(join(place, 'link/y')).links).toEqual([]);
    expect(new PathResolver().resolve(join(place, 'link/y'))).toEqual({
      real: '/y',
      links: [join(place, 'link')],
    });
  });

  test('gives up on a loop, and on what the system does not tell', () => {
    const place = newFolder();
    symlinkSync('loop', join(place, 'loop'));
    const code = (path: string): unknown => {
      try {
        return new PathResolver().resolve(path);
      } catch (reason) {
        return errorCodeOf(reason);
      }
    };

    expect(code(join(place, 'loop'))).toBe('ELOOP');
    expect(code(`/${'x'.repeat(300)}`)).toBe('ENAMETOOLONG');
  });
});

describe('ancestry', () => {
  test('ends with the root of the file system', () => {
    expect(ancestry('/a/b')).toEqual(['/a/b', '/a', '/']);
    expect(ancestry('/')).toEqual(['/']);
  });
});

/** A folder with a file, and with links to folders and to the file, relative and absolute. */
function linkedFolder(): string {
  const place = newFolder();
  mkdirSync(join(place, 'a/b'), { recursive: true });
  writeFileSync(join(place, 'a/file'), '');
  symlinkSync('a/b', join(place, 'relative'));
  symlinkSync('../file', join(place, 'a/b/up'));
  symlinkSync(join(place, 'relative'), join(place, 'a/absolute'));
  return place;
}

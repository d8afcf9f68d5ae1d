import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { folderContext, textContext } from '../../../src/container/image/build-context';
import { newFolder } from '../../support/temp-folder';

let folder: string;

beforeEach(() => (folder = newFolder()));

/** Files with their content or its length, links with their target; and the mode of each. */
async function entriesOf(archive: Readable): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const entry of archive.pipe(extract())) {
    const { name, type, linkname, mode } = entry.header;
    const whole = await text(entry);
    const content = whole.length < 100 ? whole : `${Buffer.byteLength(whole)} bytes`;
    found[name] = `${mode.toString(8)} ${type === 'symlink' ? `-> ${linkname}` : content}`;
  }
  return found;
}

function write(name: string, content: string): void {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), content, { mode: 0o644 });
}

describe('textContext', () => {
  test('holds the texts by their paths', async () => {
    const texts = { Dockerfile: 'FROM x', 'network/ca.pem': 'é'.repeat(70_000) };

    expect(await entriesOf(textContext(texts))).toEqual({
      Dockerfile: '644 FROM x',
      'network/ca.pem': '644 140000 bytes',
    });
  });

  test('holds copies of files, and fails for one that is not there', async () => {
    write('large', 'z'.repeat(300_000));
    const files = { 'inner/archive': join(folder, 'large') };

    expect(await entriesOf(textContext({ a: 'b' }, files))).toEqual({
      a: '644 b',
      'inner/archive': '644 300000 bytes',
    });
    await expect(buffer(textContext({}, { a: join(folder, 'none') }))).rejects.toThrow('ENOENT');
  });
});

describe('folderContext', () => {
  test('holds files of any size, folders and links as they are', async () => {
    write('Dockerfile', 'FROM x');
    write('empty', '');
    write('inner/deep/large', 'z'.repeat(300_000));
    write('program', '#!');
    chmodSync(join(folder, 'program'), 0o755);
    symlinkSync('/nowhere', join(folder, 'link'));

    expect(await entriesOf(folderContext(folder, 'Dockerfile'))).toEqual({
      Dockerfile: '644 FROM x',
      empty: '644 ',
      inner: '755 ',
      'inner/deep': '755 ',
      'inner/deep/large': '644 300000 bytes',
      program: '755 #!',
      link: '777 -> /nowhere',
    });
  });

  test('leaves out what .dockerignore names, but for its exceptions and the Dockerfile', async () => {
    write('my.Dockerfile', 'FROM x');
    write('.dockerignore', '*\n!kept\n!lost/found\n');
    write('kept/a', 'a');
    write('lost/found', 'found');
    write('lost/other', 'other');
    write('secret', 'secret');

    expect(Object.keys(await entriesOf(folderContext(folder, 'my.Dockerfile')))).toEqual([
      'kept',
      'kept/a',
      'lost/found',
      'my.Dockerfile',
    ]);
  });

  test('fails for a folder that is not there', async () => {
    await expect(text(folderContext(join(folder, 'gone'), 'Dockerfile'))).rejects.toThrow(/ENOENT.*gone/);
  });
});

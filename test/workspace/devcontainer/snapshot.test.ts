import fs, { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Snapshot } from '../../../src/workspace/devcontainer/snapshot';
import { newFolder } from '../../support/temp-folder';
import { newRoot } from './files';

const all = (root: string, path = root): Snapshot => {
  const files = new Snapshot(root);
  files.addAll(path);
  return files;
};

describe('Snapshot', () => {
  test('writes what was read, and nothing that came later', () => {
    const root = newRoot({ 'a/run.sh': 'old', 'b.txt': 'b', '.git/config': 'no' });
    chmodSync(join(root, 'a/run.sh'), 0o755);
    const files = all(root);
    writeFileSync(join(root, 'a/run.sh'), 'new');
    const copy = newFolder();

    files.writeTo(copy);

    expect([...files.files.keys()]).toEqual(['a/run.sh', 'b.txt']);
    expect(readFileSync(join(copy, 'a/run.sh'), 'utf8')).toBe('old');
    expect(statSync(join(copy, 'a/run.sh')).mode & 0o111).toBe(0o111);
    expect(statSync(join(copy, 'b.txt')).mode & 0o111).toBe(0);
  });

  test('fails for a folder that cannot be read', () => {
    const root = newRoot({ 'a/b': '' });
    jest.spyOn(fs, 'readdirSync').mockImplementationOnce(() => {
      throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
    });

    expect(() => all(root)).toThrow('cannot be read: permission denied');
  });

  test('has a digest that names, contents and rights change', () => {
    const root = newRoot({ 'main.json': '{}', a: 'x' });
    const digest = () => all(root).digest(join(root, 'main.json'));
    const digests = [digest()];

    expect(digest()).toBe(digests[0]);
    writeFileSync(join(root, 'a'), 'y');
    digests.push(digest());
    chmodSync(join(root, 'a'), 0o755);
    digests.push(digest());
    writeFileSync(join(root, 'b'), '');
    digests.push(digest(), all(root).digest(join(root, 'a')));

    expect(new Set(digests).size).toBe(5);
  });

  test('leaves links out, wherever they lead', () => {
    const root = newRoot({ a: 'x' });
    symlinkSync('/etc/passwd', join(root, 'passwd'));
    symlinkSync(newRoot({ secret: '' }), join(root, 'folder'));
    symlinkSync('a', join(root, 'inside'));

    expect([...all(root).files.keys()]).toEqual(['a']);
  });

  test('refuses what lies outside', () => {
    const root = newRoot({});
    const outside = newRoot({ secret: '' });
    symlinkSync(outside, join(root, 'folder'));
    const files = new Snapshot(root);

    expect(() => files.addFile(join(outside, 'secret'))).toThrow('is not in the workspace');
    expect(() => files.addAll(outside)).toThrow('is not in the workspace');
    expect(() => files.addFile(join(root, 'folder/secret'))).toThrow('leads out of');
  });

  test('refuses too much', () => {
    const root = newRoot({ big: 'x'.repeat(9 * 2 ** 20), 'many/big': 'x'.repeat(9 * 2 ** 20) });
    const many = newRoot({});
    mkdirSync(join(many, 'all'));
    for (let index = 0; index <= 2_000; index++) writeFileSync(join(many, 'all', String(index)), '');

    expect(() => all(root)).toThrow('at most 2000 files and 16 MiB');
    expect(() => all(many)).toThrow('at most 2000 files and 16 MiB');
  });
});

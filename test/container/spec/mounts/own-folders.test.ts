import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOwnFolders, ownFolders } from '../../../../src/container/spec/mounts/own-folders';
import { newFolder } from '../../../support/temp-folder';

describe('ownFolders', () => {
  const none = { root: '/w', patterns: [], protection: [] };
  const protecting = (path: string, isReadOnly: boolean) => ({
    ...none,
    protection: [{ source: `/w/${path}`, target: '/x', isReadOnly, isRoot: false, identity: '' }],
  });

  it('are those that are named, without what lies in another of them', () => {
    expect(ownFolders(['a/b/c', 'node_modules', 'a/b', 'a/bc'], none)).toEqual([
      'node_modules',
      'a/b',
      'a/bc',
    ]);
  });

  it.each([
    '.git',
    '.git/hooks',
    '.VSCode',
    '.vscode/x',
    '.github',
    '.config',
    '.claude',
    'x.code-workspace',
  ])('are none that this machine might run something of: %s', (path) =>
    expect(() => ownFolders([path], none)).toThrow(/^"container\.own" names .* kept from writing there/),
  );

  it('are none that the user protects, or that is protected', () => {
    expect(() => ownFolders(['tools/bin'], { ...none, patterns: ['tools'] })).toThrow('kept from writing');
    expect(() => ownFolders(['tools'], { ...none, patterns: ['tools/*.sh'] })).toThrow('kept from writing');
    expect(() => ownFolders(['hooks/x'], protecting('hooks', true))).toThrow('kept from writing');
    expect(() => ownFolders(['packages'], protecting('packages/a', true))).toThrow('kept from writing');
  });

  it('may lie in a folder that is only kept in its place', () => {
    expect(ownFolders(['packages/b'], protecting('packages', false))).toEqual(['packages/b']);
  });
});

describe('makeOwnFolders', () => {
  it('makes what is not there, of the owner of the folder above', () => {
    const root = newFolder();
    mkdirSync(join(root, 'there'));
    writeFileSync(join(root, 'there/file'), '');

    makeOwnFolders(root, ['there', 'a/b']);

    expect(readdirSync(join(root, 'there'))).toEqual(['file']);
    expect(statSync(join(root, 'a/b')).uid).toBe(statSync(root).uid);
  });

  it.each(['file', 'file/x', 'link', 'link/x'])('makes nothing where something else is: %s', (path) => {
    const [root, elsewhere] = [newFolder(), newFolder()];
    writeFileSync(join(root, 'file'), '');
    symlinkSync(elsewhere, join(root, 'link'));

    expect(() => makeOwnFolders(root, [path])).toThrow(/^"container\.own" names .* is no folder/);

    expect(readdirSync(elsewhere)).toEqual([]);
  });
});

import {
  changesOf,
  lostIn,
  protectionText,
  replacedRoot,
  rootsText,
} from '../../../src/container/spec/changes';
import { configHash, label } from '../../../src/container/spec/labels';
import { settings } from '../given';

const workspace = {
  source: '/w',
  target: '/home/agent/workspace',
  identity: '1:2',
  isReadOnly: false,
  isRoot: true,
};
const mount = { source: '/data', target: '/data', identity: '1:3', isReadOnly: false, isRoot: true };
const file = {
  source: '/w/.npmrc',
  target: '/home/agent/workspace/.npmrc',
  identity: '1:4',
  isReadOnly: false,
  isRoot: false,
};
const all = [workspace, mount, file];
const roots = (text: string) => ({ [label.roots]: text });
const made = roots(rootsText(all));

describe('the folders that a container was made with', () => {
  test('are its label, without files', () => {
    expect(JSON.parse(rootsText(all))).toEqual({ '/home/agent/workspace': '1:2', '/data': '1:3' });
  });

  test('are those that are there, as long as they are the same', () => {
    expect(replacedRoot(made, all)).toBeUndefined();
    expect(replacedRoot(made, [workspace, mount, { ...file, identity: '1:9' }])).toBeUndefined();
  });

  test('are others once a folder was replaced, also one that is only mounted', () => {
    expect(replacedRoot(made, [{ ...workspace, identity: '1:9' }, mount])).toBe('/w');
    expect(replacedRoot(made, [workspace, { ...mount, identity: '2:3' }])).toBe('/data');
  });

  test.each([[''], ['null'], ['[]'], ['{']])('are not known from the label %j', (text) => {
    expect(replacedRoot(roots(text), all)).toBeUndefined();
    expect(replacedRoot({}, all)).toBeUndefined();
  });
});

describe('the changes since a container was made', () => {
  const bind = (target: string, identity: string) => ({
    source: target,
    target,
    identity,
    isReadOnly: true,
    isRoot: false,
  });
  const config = bind('/w/.git/config', '1:1');
  const folder = bind('/w/my folder', '1:2');
  const replaced = { ...folder, identity: '1:9' };
  const before = protectionText([config, folder]);
  const labelsFor = (protection: string) => ({
    [label.configHash]: configHash(settings()),
    [label.roots]: rootsText(settings().binds),
    [label.protection]: protection,
  });

  test.each([
    [[], 'the same', before, [config, folder]],
    [[], 'nothing to protect', protectionText([]), []],
    [[], 'nothing wanted', protectionText(undefined), undefined],
    [['more'], 'something new', protectionText([config]), [config, folder]],
    [['more'], 'something that is gone', before, [config]],
    [['lost'], 'something that was replaced', before, [{ ...config, identity: '1:9' }, folder]],
    [['lost'], 'something replaced whose name has a space', before, [config, replaced]],
    [['switched'], 'protection switched off', before, undefined],
    [['switched'], 'protection switched on', protectionText(undefined), [config]],
  ])('of protection are %j for %s', (expected, _what, text, protection) => {
    expect([...changesOf(labelsFor(text), settings({ protection }))]).toEqual(expected);
  });

  test('of folders and settings are told beside those', () => {
    const binds = settings().binds.map((each) => ({ ...each, identity: '9:9' }));
    const labels = labelsFor(before);

    expect([...changesOf(labels, settings({ binds, pids: 7, protection: undefined }))].sort()).toEqual([
      'folder',
      'settings',
      'switched',
    ]);
  });

  test('name what is not protected any more', () => {
    expect(lostIn(labelsFor(before), { protection: [config, replaced] })).toBe('"/w/my folder"');
    expect(lostIn(labelsFor(before), { protection: [{ ...config, identity: '1:9' }, replaced] })).toBe(
      '"/w/.git/config" and 1 more',
    );
  });
});

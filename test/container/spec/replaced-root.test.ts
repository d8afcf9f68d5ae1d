import { replacedRoot, rootReplaced, rootsText } from '../../../src/container/spec/replaced-root';

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

describe('the folders that a container was made with', () => {
  test('are its label, without files', () => {
    expect(JSON.parse(rootsText(all))).toEqual({ '/home/agent/workspace': '1:2', '/data': '1:3' });
  });

  test('are those that are there, as long as they are the same', () => {
    expect(replacedRoot(rootsText(all), all)).toBeUndefined();
    expect(replacedRoot(rootsText(all), [workspace, mount, { ...file, identity: '1:9' }])).toBeUndefined();
  });

  test('are others once a folder was replaced, also one that is only mounted', () => {
    expect(replacedRoot(rootsText(all), [{ ...workspace, identity: '1:9' }, mount])).toBe('/w');
    expect(replacedRoot(rootsText(all), [workspace, { ...mount, identity: '2:3' }])).toBe('/data');
  });

  test.each([[undefined], [''], ['null'], ['[]'], ['{']])('are not known from the label %j', (text) => {
    expect(replacedRoot(text, all)).toBeUndefined();
  });

  test('are told with what to do', () => {
    expect(rootReplaced('cai-w', '/data', '/w')).toMatchObject({
      code: 'REPLACED',
      exitCode: 11,
      message: expect.stringMatching(
        /^"\/data" was moved or replaced .*, and commands still run in the old folder: end them with: cai stop --force --workspace "\/w"/,
      ) as string,
    });
  });
});

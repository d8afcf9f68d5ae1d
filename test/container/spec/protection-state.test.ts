import {
  lostNotice,
  otherwiseProtected,
  protectionChange,
  protectionText,
} from '../../../src/container/spec/protection-state';

const config = { identity: '1:1', target: '/w/.git/config', isReadOnly: true };
const folder = { identity: '1:2', target: '/w/my folder', isReadOnly: true };
const made = protectionText([config, folder]);

describe('protectionChange', () => {
  test.each([
    ['none', 'the same', made, [config, folder]],
    ['none', 'nothing to protect', protectionText([]), []],
    ['none', 'nothing wanted', protectionText(undefined), undefined],
    ['more', 'something new', protectionText([config]), [config, folder]],
    ['more', 'something that is gone', made, [config]],
    ['more', 'a container of an earlier version', '', [config]],
    ['lost', 'something that was replaced', made, [{ ...config, identity: '1:9' }, folder]],
    ['lost', 'something replaced whose name has a space', made, [config, { ...folder, identity: '1:9' }]],
    ['other', 'protection switched off', made, undefined],
    ['other', 'protection switched on', protectionText(undefined), [config]],
  ] as const)('is %s for %s', (expected, _what, before, wanted) => {
    expect(protectionChange(before, wanted)).toBe(expected);
  });
});

test('a notice names what was replaced', () => {
  expect(lostNotice('cai-x', made, [{ ...config, identity: '1:9' }, folder])).toMatch(
    /^"\/w\/.git\/config" was replaced on this machine .*cai-x/,
  );
});

test('an error says which way the container was made', () => {
  expect(otherwiseProtected('cai-x', true).message).toContain('can write what this machine would execute');
  expect(otherwiseProtected('cai-x', false).message).toContain('cannot write what is protected');
});

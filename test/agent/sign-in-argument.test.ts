import { signInArgument, signInToken } from '../../src/agent/sign-in-argument';

const argument = signInArgument('a-B_9');

describe('signInToken', () => {
  test.each([
    ['behind what the editor is configured with', ['--acp', 'claude', '--model', 'x', argument]],
    ['behind "acp"', ['acp', argument]],
    ['alone', [argument]],
  ])('is found %s', (_, args) => expect(signInToken(args)).toBe('a-B_9'));

  test.each([
    [[]],
    [['--acp', 'claude']],
    [['--acp', argument, 'claude']],
    [['exec', '--', argument]],
    [['--acp', '--sign-in=']],
    [['--acp', '--sign-in=a b']],
    [['--acp', `x${argument}`]],
    [['--acp', `--sign-in=${'a'.repeat(129)}`]],
  ])('is not found in %j', (args) => expect(signInToken(args)).toBeUndefined());
});

import { takeRecordOption } from '../../../src/commands/acp/record-option';

describe('takeRecordOption', () => {
  test.each([
    [[], [], undefined],
    [['claude', '-x'], ['claude', '-x'], undefined],
    [['--record', 'f', 'claude', '-x'], ['claude', '-x'], 'f'],
    [['--record=f', 'claude'], ['claude'], 'f'],
    [['claude', '--record', 'f', '-x'], ['claude', '-x'], 'f'],
    [['claude', '--record=a=b'], ['claude'], 'a=b'],
    [['--record', 'f'], [], 'f'],
    [['claude', '-x', '--record', 'f'], ['claude', '-x', '--record', 'f'], undefined],
    [['claude', '--recorder', 'f'], ['claude', '--recorder', 'f'], undefined],
    [['-x', '--record', 'f'], ['-x', '--record', 'f'], undefined],
  ])('takes from %j what is ours', (given, args, file) => {
    expect(takeRecordOption(given)).toEqual({ args, file });
  });

  test.each([[['--record']], [['claude', '--record']], [['--record=', 'claude']], [['--record', '']]])(
    'refuses %j, which names no file',
    (args) => {
      expect(() => takeRecordOption(args)).toThrow('--record needs a file: cai --acp --record FILE AGENT');
    },
  );
});

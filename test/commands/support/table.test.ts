import { table } from '../../../src/commands/support/table';

describe('table', () => {
  test('aligns columns, without spaces at the ends of lines', () => {
    const rows = [
      ['NAME', 'AGE'],
      ['a', '12m'],
      ['longer', ''],
    ];

    expect(table(rows)).toBe('NAME    AGE\na       12m\nlonger\n');
  });

  test('lets no name steer the terminal or begin a line', () => {
    expect(table([['a\u001b[2Jb', 'c\nd\u2028\u202e']])).toBe('a\ufffd[2Jb  c\ufffdd\ufffd\ufffd\n');
  });
});

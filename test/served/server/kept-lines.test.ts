import { Keeper, KeptLines } from '../../../src/served/server/kept-lines';

function twoWith(bytes: number): [KeptLines, KeptLines] {
  const keeper = new Keeper({ bytes, lines: Infinity });
  return [new KeptLines(keeper), new KeptLines(keeper)];
}

function push(list: KeptLines, ...lines: string[]): void {
  for (const line of lines) list.push(Buffer.from(line));
}

test('lists that share a keeper lose the oldest of the largest', () => {
  const [small, large] = twoWith(6);
  push(small, 's');
  push(large, '11', '22', '33');

  expect(small.lines.map(String)).toEqual(['s']);
  expect(large.lines.map(String)).toEqual(['22', '33']);
  expect([small.bytes, large.bytes]).toEqual([1, 4]);
});

test('one of several lists loses its only line, too, but never the line that has just come', () => {
  const [first, second] = twoWith(4);
  push(first, 'aaaa');
  push(second, 'bbbbbb');
  expect([first, second].map(({ count }) => count)).toEqual([0, 1]);

  push(first, 'c');
  expect([first, second].map(({ count }) => count)).toEqual([1, 0]);
});

test('a line that is larger than the limit is kept until the next comes', () => {
  const [list] = twoWith(3);
  push(list, 'a', 'large');
  expect(list.lines.map(String)).toEqual(['large']);

  push(list, 'b');
  expect(list.lines.map(String)).toEqual(['b']);
});

test('a list that is needed no more leaves its room to the others', () => {
  const [over, other] = twoWith(4);
  push(over, '1234');
  over.forget();
  push(other, 'ab', 'cd');

  expect(other.lines.map(String)).toEqual(['ab', 'cd']);
});

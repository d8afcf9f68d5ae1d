import { LineSplitter } from '../../../src/system/streams/line-splitter';

test.each([
  [['a\nb\n'], ['a', 'b'], ''],
  [['a', 'b', 'c\nd'], ['abc'], 'd'],
  [['\n\n', 'a'], ['', ''], 'a'],
  [['a\n', '\n', ''], ['a', ''], ''],
  [[], [], ''],
])('the pieces %j are the lines %j and the rest %j', (pieces, lines, rest) => {
  const splitter = new LineSplitter();

  expect(pieces.flatMap((piece) => splitter.take(piece))).toEqual(lines);
  expect(splitter.rest).toBe(rest);
});

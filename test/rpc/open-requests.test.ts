import { isSameId, OpenRequests } from '../../src/rpc/open-requests';

let open: OpenRequests<string>;

beforeEach(() => {
  open = new OpenRequests();
  for (const [id, name] of [
    ['1', 'one'],
    ['"1"', 'text'],
    ['5', 'five'],
  ] as const)
    open.add(id, name);
});

test('a request is open until it is taken, also by an id that is written otherwise', () => {
  expect([open.find('5.0'), open.take('5.0'), open.take('5'), open.find('5')]).toEqual([
    'five',
    'five',
    undefined,
    undefined,
  ]);
  expect(open.size).toBe(2);
});

test('all are listed and taken oldest first', () => {
  expect(open.all).toEqual(['one', 'text', 'five']);
  expect(open.takeAll()).toEqual(['one', 'text', 'five']);
  expect(open.takeAll()).toEqual([]);
});

test('the very text of an id comes first', () => {
  open.add('1.0', 'float');

  expect(['1', '1.0'].map((id) => open.find(id))).toEqual(['one', 'float']);
  expect(['5', '5.0'].map((id) => open.get(id))).toEqual(['five', undefined]);
});

test.each([
  ['1', '1.0', true],
  ['1e2', '100', true],
  ['"a"', '"\\u0061"', true],
  ['"\\/"', '"/"', true],
  ['12345678901234567890', '12345678901234567000', true],
  ['9007199254740993', '9007199254740992', true],
  ['1', '"1"', false],
  ['1', '2', false],
  ['"null"', 'null', false],
  ['1', '['.repeat(100_000), false],
])('%s and %.30s are the same id: %p', (a, b, isSame) => {
  expect([isSameId(a, b), isSameId(b, a)]).toEqual([isSame, isSame]);
});

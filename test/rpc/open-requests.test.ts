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

test('thousands of ids that are not open cost little among thousands that are', () => {
  const parse = jest.spyOn(JSON, 'parse');
  for (let n = 10; n < 10_000; n++) open.add(`"${n}.5"`, 'x');
  parse.mockClear();

  for (let n = 0; n < 10_000; n++) open.take(`"x${n}"`);

  expect(parse.mock.calls.length).toBeLessThan(50_000);
  parse.mockRestore();
});

test('ids that are written in several ways at once are each their own', () => {
  for (const id of ['7.0', '7e0', '1e999', '-1e999']) open.add(id, id);

  expect(['7', '7.00', '2e999', '-2e999', 'null'].map((id) => open.take(id))).toEqual([
    '7.0',
    '7e0',
    '1e999',
    '-1e999',
    undefined,
  ]);
  expect(open.take('7')).toBeUndefined();
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

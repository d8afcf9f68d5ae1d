import { offers } from '../../../src/rpc/protocol/capabilities';

describe('offers', () => {
  const capabilities = { a: { b: {}, no: false, none: null, zero: 0 }, yes: true, text: 'x' };

  test.each(['a', 'a.b', 'yes', 'a.zero', 'text'])('finds %s', (path) => {
    expect(offers(capabilities, path)).toBe(true);
  });

  test.each(['b', 'a.no', 'a.none', 'a.c', 'a.none.x', 'a.b.c', 'yes.x', 'a.', ''])(
    'does not find %j',
    (path) => expect(offers(capabilities, path)).toBe(false),
  );

  test.each(['constructor', 'a.toString', '__proto__', 'text.length.x'])(
    'finds nothing inherited: %s',
    (path) => expect(offers(capabilities, path)).toBe(false),
  );
});

import {
  cancelled,
  methodNotFound,
  notOffered,
  offers,
  unknownSession,
} from '../../../src/rpc/protocol/refusals';
import { rpcErrorOf } from '../../../src/rpc/answer';

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

describe('refusals', () => {
  // Source of the codes and of `data`: ACP v1, errors.
  test.each([
    [notOffered('logout'), -32601, { method: 'logout' }],
    [unknownSession('s1'), -32002, { sessionId: 's1' }],
    [cancelled(), -32800, undefined],
  ])('%s', (failure, code, data) => {
    const error = rpcErrorOf(failure);

    expect(error.code).toBe(code);
    expect(error.data).toEqual(data);
  });

  test('an agent is told which method there is not', () => {
    expect(methodNotFound('terminal/create')).toEqual({
      code: -32601,
      message: '"Method not found": terminal/create',
      data: { method: 'terminal/create' },
    });
  });
});

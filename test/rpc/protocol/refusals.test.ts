import { cancelled, methodNotFound, notOffered, unknownSession } from '../../../src/rpc/protocol/refusals';
import { rpcErrorOf } from '../../../src/rpc/answer';

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

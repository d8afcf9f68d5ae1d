import { CaiError, errorCodeOf, messageOf, type FailureCode } from '../src/errors';

describe('CaiError', () => {
  // Source of the codes: JSON-RPC 2.0 and ACP v1, `ErrorCode`.
  test.each<[FailureCode, number, number]>([
    ['USAGE', -32603, 2],
    ['UNSUPPORTED_AGENT', -32603, 1],
    ['CONFIG', -32603, 2],
    ['WORKSPACE', -32602, 2],
    ['OUTSIDE', -32602, 1],
    ['REPLACED', -32602, 11],
    ['INVALID_PARAMS', -32602, 2],
    ['NO_ENGINE', -32603, 11],
    ['AGENT_START', -32603, 11],
    ['AGENT_EXITED', -32603, 11],
    ['NO_SERVER', -32603, 11],
    ['AGENT_STALLED', -32603, 11],
    ['AGENT_ANSWER', -32603, 11],
    ['SESSION_UNKNOWN', -32002, 1],
    ['CANCELLED', -32800, 1],
    ['REPLAY', -32603, 1],
    ['NOT_OFFERED', -32601, 1],
    ['NO_PACKAGE', -32603, 1],
  ])('%s is answered with %d and ends a command with %d', (code, rpcCode, exitCode) => {
    expect(new CaiError(code, 'text')).toMatchObject({ code, rpcCode, exitCode });
  });

  test('is an error with its message, its data and what caused it', () => {
    const cause = new Error('ENOENT');

    const failure = new CaiError('CONFIG', 'cannot be read: make it readable', { key: 'agent' }, { cause });

    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).toBe('CaiError: cannot be read: make it readable');
    expect(failure).toMatchObject({ data: { key: 'agent' }, cause });
  });
});

describe('messageOf', () => {
  test.each([
    [new CaiError('USAGE', 'wrong'), 'wrong'],
    [new Error("ENOENT: no such file or directory, open '/a, b'"), 'no such file or directory'],
    [new Error('ENOSPC: no space left on device, write'), 'no space left on device'],
    [new Error('connect ECONNREFUSED /run/x.sock'), 'connect ECONNREFUSED /run/x.sock'],
    [new TypeError('no function'), 'no function'],
    ['text', 'text'],
    [undefined, 'undefined'],
    [{ message: 'no error' }, '[object Object]'],
  ])('of %p is its text', (reason, text) => expect(messageOf(reason)).toBe(text));
});

describe('errorCodeOf', () => {
  test('finds the code of a system error and nothing in anything else', () => {
    expect(errorCodeOf(Object.assign(new Error('x'), { code: 'ENOENT' }))).toBe('ENOENT');
    expect([new Error('x'), null, undefined, 'ENOENT'].map(errorCodeOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

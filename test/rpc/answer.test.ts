import { CaiError } from '../../src/errors';
import { errorLine, notificationLine, requestLine, resultLine, rpcErrorOf } from '../../src/rpc/answer';

describe('lines of the proxy itself', () => {
  test.each([
    [resultLine('1.0', '{"a":1}'), '{"jsonrpc":"2.0","id":1.0,"result":{"a":1}}\n'],
    [
      errorLine('"é\\""', { code: -32603, message: 'a\nb' }),
      '{"jsonrpc":"2.0","id":"é\\"","error":{"code":-32603,"message":"a\\nb"}}\n',
    ],
    [
      requestLine('null', 'session/new', '{"cwd":"/"}'),
      '{"jsonrpc":"2.0","id":null,"method":"session/new","params":{"cwd":"/"}}\n',
    ],
    [requestLine('7', 'logout', undefined), '{"jsonrpc":"2.0","id":7,"method":"logout"}\n'],
    [notificationLine('a"b', '[]'), '{"jsonrpc":"2.0","method":"a\\"b","params":[]}\n'],
  ])('%#: are one line with the very text of the id', (line, text) => expect(line.toString()).toBe(text));
});

describe('rpcErrorOf', () => {
  test('is the code and the message of an expected failure', () => {
    expect(rpcErrorOf(new CaiError('SESSION_UNKNOWN', 'no such session'))).toEqual({
      code: -32002,
      message: 'no such session',
    });
  });

  test('has the data of an expected failure', () => {
    const failure = new CaiError('AGENT_EXITED', 'gone', { details: 'stderr' });

    expect(rpcErrorOf(failure)).toEqual({ code: -32603, message: 'gone', data: { details: 'stderr' } });
  });

  test.each([
    [new TypeError('x is not a function'), 'x is not a function'],
    ['thrown text', 'thrown text'],
    [undefined, 'undefined'],
  ])('is an internal error for anything else: %p', (reason, details) => {
    expect(rpcErrorOf(reason)).toEqual({ code: -32603, message: 'Internal error', data: { details } });
  });
});

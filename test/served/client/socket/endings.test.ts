import { endingOfClose, endingOfError, endingOfStatus } from '../../../../src/served/client/socket/endings';

/** As Node's errors. */
function failed(code: string, message = code): Error {
  return Object.assign(new Error(message), { code });
}

describe('the end of a socket', () => {
  test.each([
    [1006, 'again'],
    [1001, 'again'],
    [1011, 'again'],
    [1013, 'again'],
    [4000, 'again'],
    [4002, 'again'],
    [4003, 'idle'],
    [1000, 'over'],
    [1005, 'over'],
    [1002, 'over'],
    [1007, 'over'],
    [1009, 'over'],
    [4001, 'over'],
    [1008, 'refused'],
  ] as const)('with %d means "%s"', (code, kind) => {
    expect(endingOfClose(code, '').kind).toBe(kind);
  });

  test('says what the server says', () => {
    expect(endingOfClose(1008, 'revoked').reason).toBe('the server does not allow it: revoked');
    expect(endingOfClose(1006, '', failed('ECONNRESET', 'read ECONNRESET')).reason).toBe('read ECONNRESET');
    expect(endingOfClose(1006, '').reason).toBe('the connection broke');
  });

  test('for what we do not take would come again', () => {
    const error = failed('WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'too long');

    expect(endingOfClose(1006, '', error)).toEqual({
      kind: 'over',
      reason: 'it sent what it must not: too long',
    });
  });
});

describe('a status', () => {
  test.each([
    [404, true, 'over'],
    [410, true, 'over'],
    [404, false, 'refused'],
    [410, false, 'refused'],
    [400, true, 'refused'],
    [401, true, 'refused'],
    [403, false, 'refused'],
    [426, false, 'refused'],
    [302, false, 'refused'],
    [200, false, 'refused'],
    [501, false, 'refused'],
    [408, false, 'again'],
    [425, false, 'again'],
    [429, true, 'again'],
    [500, true, 'again'],
    [502, false, 'again'],
    [503, false, 'again'],
  ] as const)('%d, for one that comes back: %p, means "%s"', (status, isReturn, kind) => {
    expect(endingOfStatus(status, '', isReturn).kind).toBe(kind);
  });

  test('says what to do', () => {
    expect(endingOfStatus(401, 'no', false).reason).toMatch(
      /^it answers 401: no\. Give a token with --token-file/,
    );
    expect(endingOfStatus(403, '', false).reason).toMatch(/^it answers 403\. Ask/);
  });
});

describe('an attempt that fails', () => {
  test.each([
    ['ECONNREFUSED', 'again'],
    ['ENOTFOUND', 'again'],
    ['ETIMEDOUT', 'again'],
    ['CERT_HAS_EXPIRED', 'refused'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'refused'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'refused'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'refused'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'refused'],
  ] as const)('with %s means "%s"', (code, kind) => {
    expect(endingOfError(failed(code), true).kind).toBe(kind);
  });

  test.each([
    [true, 'absent', /^nothing listens there\. Run "cai serve"/],
    [false, 'again', /^connect ENOENT\. Check the address/],
  ] as const)('without a socket there, the standard one: %p', (isStandard, kind, reason) => {
    expect(endingOfError(failed('ENOENT', 'connect ENOENT'), isStandard)).toEqual({
      kind,
      reason: expect.stringMatching(reason) as string,
    });
  });

  test('names the reasons of all addresses of a name', () => {
    const both = new AggregateError([new Error('refused by ::1'), new Error('refused by 127.0.0.1')]);

    expect(endingOfError(both, false).reason).toMatch(/^refused by ::1, refused by 127\.0\.0\.1\. Check/);
  });
});

import { wantedIn, type Plan } from '../../../src/rpc/json/wanted-places';

describe('wantedIn', () => {
  test('compiles each source once', () => {
    const source = { id: 'path' };

    expect(wantedIn(source)).toBe(wantedIn(source));
  });

  test('takes as many keys as there are bits, and no more', () => {
    const keys = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'path']));

    expect(wantedIn(keys(31)).keys).toHaveLength(31);
    expect(() => wantedIn(keys(32))).toThrow('more keys than bits');
    expect(() => wantedIn({ ...keys(30), '?type': { a: { b: 'path', c: 'path' } } })).toThrow(
      'more keys than bits',
    );
  });
});

describe('Plan.hasInOtherCase', () => {
  test.each(['SESSIONID', 'sessionid', 'SessionId', '\u017fe\u017fsionId', 'É', 'to\u212aen'])(
    'knows %s',
    (key) => {
      const plan = wantedIn({ sessionId: 'session', é: 'path', token: 'path' });

      expect(hasInOtherCase(plan, JSON.stringify(key))).toBe(true);
    },
  );

  test('knows one with an escape', () => {
    expect(hasInOtherCase(wantedIn({ sessionId: 'session' }), '"session\\u0069d"')).toBe(true);
  });

  test.each(['session', 'sessionId ', 'ë', ''])('does not know %j', (key) => {
    const plan = wantedIn({ sessionId: 'session', é: 'path', '?type': { x: {} } });

    expect(hasInOtherCase(plan, JSON.stringify(key))).toBe(false);
  });
});

/** For a key as JSON text. */
function hasInOtherCase(plan: Plan, key: string): boolean {
  const text = Buffer.from(`{${key}`);
  return plan.hasInOtherCase(text, 1, text.length);
}

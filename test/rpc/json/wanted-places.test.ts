import { planOf, type Plan } from '../../../src/rpc/json/wanted-places';

describe('planOf', () => {
  test('compiles a leaf to its kind', () => {
    expect(planOf({ id: 'path' }).members[0]).toMatchObject({ kind: 'path', keys: [], tag: -1 });
  });

  test('compiles each source once', () => {
    const source = { id: 'path' };

    expect(planOf(source)).toBe(planOf(source));
  });

  test('compiles members, elements and what is wanted of the value itself', () => {
    const plan = planOf({ '=': 'rows', '*': 'row', é: { id: 'listed' } });

    expect(plan.kind).toBe('rows');
    expect(plan.each?.kind).toBe('row');
    expect(plan.keys.map(String)).toEqual(['é']);
    expect(plan.members[0]?.members[0]?.kind).toBe('listed');
  });

  test('gives each variant the common members too, and marks the tag in all of them', () => {
    const plan = planOf({ id: 'session', '?type': { image: { uri: 'uri' }, '': { command: 'path' } } });

    expect(plan.keys.map(String)).toEqual(['id', 'type']);
    expect(plan.tag).toBe(1);
    expect([...plan.variants.keys()]).toEqual(['image', '']);
    expect(plan.variants.get('image')?.keys.map(String)).toEqual(['id', 'uri', 'type']);
    expect(plan.variants.get('image')?.tag).toBe(-1);
    expect(plan.variants.get('')?.keys.map(String)).toEqual(['id', 'command', 'type']);
  });

  test('lets the tag be wanted itself, in each variant and where none fits', () => {
    const plan = planOf({ id: 'session', type: 'word', '?type': { image: { uri: 'uri' } } });

    expect(plan.keys.map(String)).toEqual(['id', 'type']);
    expect(plan.tag).toBe(1);
    expect(plan.variants.get('image')?.keys.map(String)).toEqual(['id', 'type', 'uri']);
    expect(plan.variants.get('image')?.picker).toBe(1);
    expect(plan.variants.get('image')?.members[1]?.kind).toBe('word');
  });

  test('takes as many keys as there are bits, and no more', () => {
    const keys = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'path']));

    expect(planOf(keys(31)).keys).toHaveLength(31);
    expect(() => planOf(keys(32))).toThrow('more keys than bits');
    expect(() => planOf({ ...keys(30), '?type': { a: { b: 'path', c: 'path' } } })).toThrow(
      'more keys than bits',
    );
  });
});

describe('Plan.hasInOtherCase', () => {
  test.each(['SESSIONID', 'sessionid', 'SessionId', '\u017fe\u017fsionId', 'É', 'to\u212aen'])(
    'knows %s',
    (key) => {
      const plan = planOf({ sessionId: 'session', é: 'path', token: 'path' });

      expect(hasInOtherCase(plan, JSON.stringify(key))).toBe(true);
    },
  );

  test.each(['session', 'sessionId ', 'ë', ''])('does not know %j', (key) => {
    const plan = planOf({ sessionId: 'session', é: 'path', '?type': { x: {} } });

    expect(hasInOtherCase(plan, JSON.stringify(key))).toBe(false);
  });
});

describe('Plan.indexOf', () => {
  test('finds a key by its bytes in the text', () => {
    const plan = planOf({ a: 'path', ab: 'path', é: 'path' });
    const text = Buffer.from('"ab" "é" "b" "abc"');

    expect(plan.indexOf(text, 1, 3)).toBe(1);
    expect(plan.indexOf(text, 1, 2)).toBe(0);
    expect(plan.indexOf(text, 6, 8)).toBe(2);
    expect(plan.indexOf(text, 11, 12)).toBe(-1);
    expect(plan.indexOf(text, 15, 18)).toBe(-1);
    expect(plan.indexOf(text, 1, 1)).toBe(-1);
  });

  test('knows one with an escape', () => {
    expect(hasInOtherCase(planOf({ sessionId: 'session' }), '"session\\u0069d"')).toBe(true);
  });
});

/** For a key as JSON text. */
function hasInOtherCase(plan: Plan, key: string): boolean {
  const text = Buffer.from(`{${key}`);
  return plan.hasInOtherCase(text, 1, text.length);
}

import { wantedIn, type PlanSource } from '../../../src/rpc/json/wanted-places';
import { Walk } from '../../../src/rpc/json/walk';

describe('Walk.value', () => {
  test('tells strings from everything else', () => {
    const text = '["s",1,null,{},["t"]]';
    const walk = new Walk(Buffer.from(text));

    walk.value(0, wantedIn({ '*': 'path' }));

    expect(walk.fields.map(({ isString }) => isString)).toEqual([true, false, false, false, false]);
  });

  describe('duplicates', () => {
    const plan: PlanSource = { a: 'path', b: { '*': { id: 'listed' } }, '?type': { x: { uri: 'uri' } } };

    test.each([
      ['a wanted key', '{"a":1,"a":1}'],
      ['a wanted key, once with escapes', '{"a":1,"\\u0061":1}'],
      ['a wanted key of an element', '{"b":[{"id":1},{"id":1,"z":2,"id":1}]}'],
      ['the tag', '{"type":"y","type":"x"}'],
      ['the tag, of a known variant first', '{"type":"x","a":1,"type":"y"}'],
      ['the tag, with keys before it', '{"uri":1,"type":"x","type":"x"}'],
      ['a key of the variant, before the tag', '{"uri":1,"uri":1,"type":"x"}'],
      ['a key of the variant, around the tag', '{"uri":1,"type":"x","uri":1}'],
      ['a wanted key in capitals, which some parsers take for it', '{"A":1}'],
      ['a key of the variant in capitals', '{"type":"x","Uri":1}'],
      ['the tag in capitals', '{"TYPE":"x"}'],
      ['a wanted key in capitals, with escapes', '{"b":[{"\\u0049d":1}]}'],
    ])('are told of %s', (_, text) => {
      const walk = new Walk(Buffer.from(text));

      walk.value(0, wantedIn(plan));

      expect(walk.hasDuplicate).toBe(true);
    });

    test.each([
      ['a key that nobody wants', '{"z":1,"z":2,"Z":3}'],
      ['a key of a variant that this is not', '{"uri":1,"uri":1,"type":"y"}'],
      ['a wanted name at another place', '{"z":{"a":1,"a":1},"b":[{"a":1,"a":1}]}'],
      ['wanted keys that stand once, read twice', '{"a":1,"uri":1,"type":"x"}'],
    ])('are not told of %s', (_, text) => {
      const walk = new Walk(Buffer.from(text));

      walk.value(0, wantedIn(plan));

      expect(walk.hasDuplicate).toBe(false);
    });
  });

  test('follows 100,000 brackets, and finds what lies behind them', () => {
    const depth = 100_000;
    const deep = '[{"a":'.repeat(depth) + '0' + '}]'.repeat(depth);

    expect(placesIn(`{"x":${deep},"a":"1"}`, { a: 'path' })).toEqual([['path', '"1"']]);
    expect(placesIn(`{"a":${deep}}`, { a: 'path' })).toEqual([['path', deep]]);
  });
});

/** What a plan finds: kind and text of each place. The text must be JSON. */
function placesIn(text: string, plan: PlanSource): [string, string][] {
  const bytes = Buffer.from(text);
  const walk = new Walk(bytes);
  expect(walk.value(0, wantedIn(plan))).toBe(bytes.length);
  return walk.fields.map(({ kind, start, end }) => [kind, bytes.toString('utf8', start, end)]);
}

import { planOf, type PlanSource } from '../../../src/rpc/json/wanted-places';
import { Walk } from '../../../src/rpc/json/walk';

describe('Walk.value', () => {
  test('reports the wanted places in the order of the text', () => {
    const plan: PlanSource = { a: 'path', list: { '=': 'rows', '*': { id: 'listed' } }, b: { c: 'uri' } };

    const found = placesIn(
      '{"b":{"c":"1","x":"-"},"list":[{"id":"2"},{"x":[{"id":"-"}]},"-",{"id":3}],"a":{"a":[]}}',
      plan,
    );

    expect(found).toEqual([
      ['uri', '"1"'],
      ['rows', '[{"id":"2"},{"x":[{"id":"-"}]},"-",{"id":3}]'],
      ['listed', '"2"'],
      ['listed', '3'],
      ['path', '{"a":[]}'],
    ]);
  });

  test('tells strings from everything else', () => {
    const text = '["s",1,null,{},["t"]]';
    const walk = new Walk(Buffer.from(text));

    walk.value(0, planOf({ '*': 'path' }));

    expect(walk.fields.map(({ isString }) => isString)).toEqual([true, false, false, false, false]);
  });

  test('looks for nothing in a value of another form than the plan has', () => {
    const plan: PlanSource = { a: { b: 'path' }, c: { '*': 'path' } };

    expect(placesIn('{"a":[{"b":1}],"c":{"b":1,"*":2}}', plan)).toEqual([]);
    expect(placesIn('[{"a":{"b":1}}]', plan)).toEqual([]);
    expect(placesIn('"a"', plan)).toEqual([]);
  });

  test('finds a key that is written with escapes', () => {
    const plan: PlanSource = { sessionId: 'session', é: 'path' };

    expect(placesIn('{"\\u0073ession\\u0049d":"1","\\u00E9":"2"}', plan)).toEqual([
      ['session', '"1"'],
      ['path', '"2"'],
    ]);
  });

  describe('with a tag', () => {
    const plan: PlanSource = {
      id: 'session',
      '?type': {
        image: { uri: 'uri' },
        text: { uri: 'path', part: { '?type': { a: { p: 'root' } } } },
        '': { cmd: 'cwd' },
      },
    };

    test.each([
      ['first', '{"type":"image","uri":"1","id":"2"}'],
      ['in the middle', '{"uri":"1","type":"image","id":"2"}'],
      ['last', '{"uri":"1","id":"2","type":"image"}'],
      ['with escapes', '{"uri":"1","id":"2","t\\u0079pe":"im\\u0061ge"}'],
    ])('that stands %s, reads the object by its variant', (_, text) => {
      expect(placesIn(text, plan)).toEqual([
        ['uri', '"1"'],
        ['session', '"2"'],
      ]);
    });

    test('reads variants inside variants, whichever order', () => {
      expect(placesIn('{"part":{"p":"1","type":"a"},"uri":"2","type":"text","id":"3"}', plan)).toEqual([
        ['root', '"1"'],
        ['path', '"2"'],
        ['session', '"3"'],
      ]);
    });

    test('that is absent, reads the object by the variant for that', () => {
      expect(placesIn('{"cmd":"1","uri":"-","id":"2"}', plan)).toEqual([
        ['cwd', '"1"'],
        ['session', '"2"'],
      ]);
      expect(placesIn('{"x":"-","cmd":"1","id":"2"}', plan)).toEqual([
        ['cwd', '"1"'],
        ['session', '"2"'],
      ]);
      expect(placesIn('{}', plan)).toEqual([]);
    });

    test.each(['"other"', '7', 'null', '{"type":"image"}', '["image"]'])(
      'that is %s, reads the common members only',
      (tag) => {
        expect(placesIn(`{"cmd":"-","type":${tag},"uri":"-","id":"2"}`, plan)).toEqual([['session', '"2"']]);
      },
    );

    test('takes an array in the place of such an object for what it is', () => {
      expect(placesIn('[[],["a",{"cmd":"1"}],{"cmd":"2"}]', { '*': plan })).toEqual([['cwd', '"2"']]);
    });
  });

  describe('with a tag that is wanted itself', () => {
    const plan: PlanSource = { type: 'word', '?type': { image: { uri: 'uri' } } };

    test.each([
      ['first', '{"type":"image","uri":"1"}', ['word', 'uri']],
      ['last', '{"uri":"1","type":"image"}', ['uri', 'word']],
      ['that is no variant', '{"uri":"1","type":"text"}', ['word']],
    ])('that stands %s, reports it and reads the object by its variant', (_, text, kinds) => {
      expect(placesIn(text, plan).map(([kind]) => kind)).toEqual(kinds);
    });

    test.each(['{"type":"image","type":"image"}', '{"uri":1,"type":"image","type":"text"}'])(
      'tells that it stands twice: %s',
      (text) => {
        const walk = new Walk(Buffer.from(text));

        walk.value(0, planOf(plan));

        expect(walk.hasDuplicate).toBe(true);
      },
    );
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

      walk.value(0, planOf(plan));

      expect(walk.hasDuplicate).toBe(true);
    });

    test.each([
      ['a key that nobody wants', '{"z":1,"z":2,"Z":3}'],
      ['a key of a variant that this is not', '{"uri":1,"uri":1,"type":"y"}'],
      ['a wanted name at another place', '{"z":{"a":1,"a":1},"b":[{"a":1,"a":1}]}'],
      ['wanted keys that stand once, read twice', '{"a":1,"uri":1,"type":"x"}'],
    ])('are not told of %s', (_, text) => {
      const walk = new Walk(Buffer.from(text));

      walk.value(0, planOf(plan));

      expect(walk.hasDuplicate).toBe(false);
    });
  });

  test('notes where the members of the outermost object lie, and asks for their plans', () => {
    const text = '{"x":{"id":-1},"id": 7 ,"z":"-","params":{"a":"1"},"y":[]}';
    const walk = new Walk(Buffer.from(text), 3);
    const asked: [number, number][] = [];

    const end = walk.value(0, planOf({ id: 'i', params: 'p', missing: 'm' }), (index, start) => {
      asked.push([index, start]);
      return index === 1 ? planOf({ a: 'path' }) : undefined;
    });

    expect(end).toBe(text.length);
    const members = walk.memberStarts.map((start, i) =>
      start < 0 ? '' : text.slice(start, walk.memberEnds[i]),
    );
    expect(members).toEqual(['7', '{"a":"1"}', '']);
    expect(asked.map(([index, start]) => [index, text.slice(start, start + 4)])).toEqual([
      [0, '7 ,"'],
      [1, '{"a"'],
    ]);
    expect(walk.fields.map(({ start, end }) => text.slice(start, end))).toEqual(['"1"']);
  });

  test('reads a value in the middle of a text and tells where it ends', () => {
    expect(new Walk(Buffer.from('xx {"a":[1, 2]} yy')).value(2, undefined)).toBe(15);
  });

  test.each([
    ...['', '{', '[', '{]', '[}', '{"a"}', '{"a":}', '{,}', '{"a":1,}', '[1,]', '[,]', '[1 2]', '{1:2}'],
    ...['{"a" 1}', '{"a"x1}', '{xa":1}'],
  ])('refuses %j', (text) => expect(new Walk(Buffer.from(text)).value(0, planOf({ a: 'path' }))).toBe(-1));

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
  expect(walk.value(0, planOf(plan))).toBe(bytes.length);
  return walk.fields.map(({ kind, start, end }) => [kind, bytes.toString('utf8', start, end)]);
}

import { methodsOf, placesOf, type Schema, type SchemaNode } from './schema-walk';

/** `pointer leaf types` of each place of a type `Thing`. */
function placesIn(thing: SchemaNode, others: Record<string, SchemaNode> = {}): string[] {
  const schema: Schema = { $defs: { Thing: thing, ...others } };
  return placesOf(schema, 'Thing')
    .filter(({ pointer }) => pointer !== '')
    .map(({ pointer, leaf, types }) => [pointer, leaf ?? '-', ...types].join(' '));
}

const text = { type: 'string' };

describe('placesOf', () => {
  test('follows references, arrays, maps and nullable types', () => {
    const places = placesIn(
      {
        properties: {
          id: { anyOf: [{ $ref: '#/$defs/Id' }, { type: 'null' }] },
          rows: { type: ['array', 'null'], items: { allOf: [{ $ref: '#/$defs/Row' }] } },
          env: { type: 'object', additionalProperties: text },
          raw: {},
          open: { type: 'object', additionalProperties: true },
          _meta: { type: 'object', additionalProperties: true },
        },
      },
      { Id: { type: ['string', 'integer'] }, Row: { properties: { count: { type: 'integer' } } } },
    );

    expect(places).toEqual([
      'id text Id',
      'rows -',
      'rows/* - Row',
      'rows/*/count number',
      'env -',
      'env/{} text',
      'raw any',
      'open any',
    ]);
  });

  test('marks variants by their tag, one without it by an empty value, an open one not at all', () => {
    const tag = (value: string): SchemaNode => ({ type: 'string', const: value });
    const places = placesIn({
      oneOf: [
        { properties: { type: tag('a'), path: text } },
        { properties: { uri: text } },
        { properties: { type: text, other: text } },
        { type: 'null' },
      ],
    });

    expect(places).toEqual([
      '?type=a - Thing',
      '?type=a/type -',
      '?type=a/path text',
      '?type= - Thing',
      '?type=/uri text',
      'type text',
      'other text',
    ]);
  });

  test('refuses what it does not understand', () => {
    const unknown = { properties: { at: { patternProperties: {} } as SchemaNode } };
    const endless = { properties: { child: { $ref: '#/$defs/Thing' } } };

    expect(() => placesIn(unknown)).toThrow('the schema says "patternProperties" at at');
    expect(() => placesIn(endless)).toThrow('Thing holds itself at child');
    expect(() => placesIn({ $ref: '#/$defs/Gone' })).toThrow('no type #/$defs/Gone');
  });
});

describe('methodsOf', () => {
  test('joins the types of a method, one entry a side', () => {
    const schema: Schema = {
      $defs: {
        AskRequest: { 'x-method': 'ask', 'x-side': 'agent' },
        AskResponse: { 'x-method': 'ask', 'x-side': 'agent' },
        AskNotification: { 'x-method': 'ask', 'x-side': 'client' },
        Plain: {},
      },
    };

    expect(methodsOf(schema)).toEqual([
      { method: 'ask', side: 'agent', params: ['AskRequest'], results: ['AskResponse'] },
      { method: 'ask', side: 'client', params: ['AskNotification'], results: [] },
    ]);
  });
});

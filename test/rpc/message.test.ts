import { wantedIn } from '../../src/rpc/json/wanted-places';
import { bodyOf, fieldOf, scan, textOf, type Message, type Plans } from '../../src/rpc/message';

/** Each side of the message wants something else. */
const plans: Plans = {
  params: (method) => (method === 'm' ? wantedIn({ sessionId: 'session', a: 'path' }) : undefined),
  result: (id) => (id === '7' ? wantedIn({ sessionId: 'session', b: 'uri' }) : undefined),
  error: wantedIn({ data: { sessionId: 'sessionRef' } }),
};

describe('scan', () => {
  describe('tells the kind', () => {
    test.each([
      ['request', '{"jsonrpc":"2.0","id":7,"method":"m","params":{}}'],
      ['request', '{"jsonrpc":"2.0","id":null,"method":""}'],
      ['request', ' \t{ "method" : "m" , "jsonrpc" : "\\u0032.0" , "id" : "é" }\r'],
      ['notification', '{"jsonrpc":"2.0","method":"m"}'],
      ['notification', '{"_x":{"id":1,"result":2},"method":"m","params":null,"jsonrpc":"2.0"}'],
      ['response', '{"jsonrpc":"2.0","id":7,"result":null}'],
      ['response', '{"error":{},"id":-1.5e2,"jsonrpc":"2.0"}'],
      ['response', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}'],
    ])('%s: %s', (kind, text) => expect(read(text).kind).toBe(kind));

    test.each([
      ['json', ''],
      ['json', '  '],
      ['json', '{'],
      ['json', '{"jsonrpc":"2.0","method":"m"} x'],
      ['json', '{"jsonrpc":"2.0","method":"m"}{}'],
      ['json', '\ufeff{"jsonrpc":"2.0","method":"m"}'],
      ['json', '{"jsonrpc":"2.0","method":"m","params":{"a":\u0001}}'],
      ['json', '{"jsonrpc":"2.0","method":"m","params":["\t"]}'],
      ['json', '{"jsonrpc":"2.0","method":"m","params":[01]}'],
      ['batch', '[{"jsonrpc":"2.0","method":"m"}]'],
      ['batch', '[]'],
      ['envelope', '7'],
      ['envelope', '"m"'],
      ['envelope', 'null'],
      ['envelope', '{}'],
      ['envelope', '{"id":7,"method":"m"}'],
      ['envelope', '{"jsonrpc":2.0,"id":7,"method":"m"}'],
      ['envelope', '{"jsonrpc":"1.0","id":7,"method":"m"}'],
      ['envelope', '{"jsonrpc":"2.0","id":7}'],
      ['envelope', '{"jsonrpc":"2.0","result":1}'],
      ['envelope', '{"id":7,"result":1}'],
      ['envelope', '{"jsonrpc":"2.0","id":7,"result":1,"error":{}}'],
      ['envelope', '{"jsonrpc":"2.0","id":7,"result":1,"error":null}'],
      ['envelope', '{"jsonrpc":"2.0","id":7,"method":"m","result":1}'],
      ['envelope', '{"jsonrpc":"2.0","id":7,"method":1}'],
      ['envelope', '{"jsonrpc":"2.0","id":true,"method":"m"}'],
      ['envelope', '{"jsonrpc":"2.0","id":[7],"method":"m"}'],
      ['duplicate', '{"jsonrpc":"2.0","id":7,"method":"m","method":"n"}'],
      ['duplicate', '{"jsonrpc":"2.0","id":7,"\\u0069d":7,"method":"m"}'],
      ['duplicate', '{"jsonrpc":"2.0","id":7,"method":"m","Id":8}'],
      ['duplicate', '{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":1}}'],
      ['duplicate', '{"jsonrpc":"2.0","method":"m","params":{"a":1,"A":1}}'],
      ['duplicate', '{"params":{"a":1,"\\u0061":1},"method":"m","jsonrpc":"2.0"}'],
      ['duplicate', '{"jsonrpc":"2.0","id":7,"result":{"b":1,"b":1}}'],
      ['duplicate', '{"jsonrpc":"2.0","id":7,"error":{"data":{},"data":{}}}'],
    ])('defect %s: %s', (defect, text) => expect(read(text)).toMatchObject({ kind: 'defect', defect }));

    test('takes a line that is not UTF-8 for no JSON', () => {
      const line = Buffer.from('{"jsonrpc":"2.0","method":"mX"}');
      for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xc3]]) {
        const broken = Buffer.concat([line.subarray(0, 27), Buffer.from(bytes), line.subarray(28)]);

        expect(scan(broken, plans)).toMatchObject({ kind: 'defect', defect: 'json' });
      }
    });

    test('passes duplicates at places that nobody checks', () => {
      const text =
        '{"jsonrpc":"2.0","id":7,"method":"m","_x":1,"_x":2,"params":{"z":1,"z":2,"y":{"a":1,"a":2}}}';

      expect(read(text).kind).toBe('request');
    });
  });

  test('tells id, method and body of a request, with members of others between them', () => {
    const message = read(
      '{"_a":[1],"id": "\\u0061" ,"_b":2,"method":"m\\n","_c":"x","params":{"z":1},"_d":{},"jsonrpc":"2.0"}',
    );

    expect(message).toMatchObject({ id: '"\\u0061"', method: 'm\n', isError: false });
    expect(part(message, message.idStart, message.idEnd)).toBe('"\\u0061"');
    expect(part(message, message.bodyStart, message.bodyEnd)).toBe('{"z":1}');
  });

  test.each(['0', '9', '-1', '""', 'null'])('knows the id %s', (id) => {
    expect(read(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)).toMatchObject({ kind: 'request', id });
  });

  test('keeps the text of an id that a double cannot hold', () => {
    expect(read('{"jsonrpc":"2.0","id":12345678901234567890,"method":"m"}').id).toBe('12345678901234567890');
    expect(read('{"jsonrpc":"2.0","id":1.0,"result":{}}').id).toBe('1.0');
  });

  test.each([
    '{"jsonrpc":"2.0","id":7,"method":"m","params":{"all":[#]}}',
    '{"params":{"all":[#]},"jsonrpc":"2.0","id":7,"method":"m"}',
  ])('looks at so many fields only: %s', (text) => {
    const all: Plans = { ...plans, params: () => wantedIn({ all: { '*': 'path' } }) };
    const scanned = (count: number) => scan(Buffer.from(text.replace('#', Array(count).fill(0).join())), all);

    expect(scanned(100_000)).toMatchObject({ kind: 'request', id: '7' });
    expect(scanned(100_001)).toMatchObject({ kind: 'defect', defect: 'long', id: '7' });
  });

  test('knows no id and no method that is longer than what may be kept', () => {
    const name = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`;

    expect(read(`{"jsonrpc":"2.0","id":${name(1_024)},"method":${name(1_024)}}`).id).toBe(name(1_024));
    expect(read(`{"jsonrpc":"2.0","id":${name(1_025)},"method":"m"}`)).toMatchObject({
      defect: 'envelope',
      id: undefined,
      method: 'm',
    });
    expect(read(`{"jsonrpc":"2.0","id":7,"method":${name(1_025)}}`)).toMatchObject({
      defect: 'envelope',
      id: '7',
    });
  });

  test('tells an error from a result', () => {
    expect(read('{"jsonrpc":"2.0","id":7,"error":{"code":1}}').isError).toBe(true);
    expect(read('{"jsonrpc":"2.0","id":7,"result":{"error":1}}').isError).toBe(false);
  });

  test('has no body where params are absent', () => {
    expect(read('{"jsonrpc":"2.0","method":"m"}')).toMatchObject({ bodyStart: -1, bodyEnd: -1, fields: [] });
  });

  test('still tells id and method of a message that may not be passed on', () => {
    expect(read('{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":1}}')).toMatchObject({
      id: '7',
      method: 'm',
    });
    expect(read('{"id":"x","method":"m"}')).toMatchObject({ id: '"x"', method: 'm' });
    expect(read('{"jsonrpc":"2.0","id":{},"method":[]}')).toMatchObject({ id: undefined, method: '' });
    expect(read('[{"id":7}]')).toMatchObject({ id: undefined, method: '' });
    expect(read('{"id":7,')).toMatchObject({ id: undefined, method: '' });
  });

  describe('finds what the plan of the message wants', () => {
    test.each([
      [
        'of params, after the method',
        '{"jsonrpc":"2.0","method":"m","params":{"sessionId":"s","a":"p","b":"-"}}',
      ],
      [
        'of params, before the method',
        '{"params":{"sessionId":"s","a":"p","b":"-"},"jsonrpc":"2.0","method":"m"}',
      ],
    ])('%s', (_, text) => {
      expect(found(text)).toEqual([
        ['session', '"s"'],
        ['path', '"p"'],
      ]);
    });

    test.each([
      ['of a result, after the id', '{"jsonrpc":"2.0","id":7,"result":{"b":"u","a":"-"}}'],
      ['of a result, before the id', '{"result":{"b":"u","a":"-"},"id":7,"jsonrpc":"2.0"}'],
    ])('%s', (_, text) => expect(found(text)).toEqual([['uri', '"u"']]));

    test('of an error, whatever its id', () => {
      expect(found('{"jsonrpc":"2.0","id":8,"error":{"data":{"sessionId":"s"}}}')).toEqual([
        ['sessionRef', '"s"'],
      ]);
    });

    test('and nothing for a method or an id without a plan', () => {
      expect(found('{"jsonrpc":"2.0","method":"n","params":{"sessionId":"s"}}')).toEqual([]);
      expect(found('{"jsonrpc":"2.0","id":8,"result":{"sessionId":"s"}}')).toEqual([]);
      expect(found('{"jsonrpc":"2.0","id":"7","result":{"sessionId":"s"}}')).toEqual([]);
    });
  });

  test('follows params of 100,000 brackets, also before the method', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);

    expect(found(`{"jsonrpc":"2.0","method":"m","params":{"z":${deep},"a":"p"}}`)).toEqual([['path', '"p"']]);
    expect(found(`{"params":{"z":${deep},"a":"p"},"method":"m","jsonrpc":"2.0"}`)).toEqual([['path', '"p"']]);
    expect(read('['.repeat(100_000))).toMatchObject({ defect: 'json' });
    expect(read(deep)).toMatchObject({ defect: 'batch' });
  });
});

describe('textOf and fieldOf', () => {
  test('give the first field of a kind and what it stands for', () => {
    const message = read('{"jsonrpc":"2.0","method":"m","params":{"a":"\\u00e9\\n","sessionId":"s"}}');

    const path = fieldOf(message, 'path');

    expect(path && textOf(message, path)).toBe('é\n');
    expect(fieldOf(message, 'uri')).toBeUndefined();
  });
});

describe('bodyOf', () => {
  const text = (length: number): string => `"${'x'.repeat(length - 2)}"`;
  const answer = (result: string): Message => read(`{"jsonrpc":"2.0","id":7,"result":${result}}`);

  test('parses a megabyte, and nothing longer, which could take seconds and a gigabyte', () => {
    expect(bodyOf(answer(text(2 ** 20)))).toHaveLength(2 ** 20 - 2);
    expect(bodyOf(answer(text(2 ** 20 + 1)))).toBeUndefined();
  });
});

function read(text: string): Message {
  return scan(Buffer.from(text), plans);
}

function part(message: Message, start: number, end: number): string {
  return message.line.toString('utf8', start, end);
}

function found(text: string): [string, string][] {
  const message = read(text);
  return message.fields.map(({ kind, start, end }) => [kind, part(message, start, end)]);
}

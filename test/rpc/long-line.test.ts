import { Skim } from '../../src/rpc/long-line';

describe('Skim', () => {
  test.each([
    ['{"id":7,"method":"m"}', { id: '7', isMethod: true, isResponse: false, isKnown: true }],
    ['{"jsonrpc":"2.0","params":[', { id: undefined, isMethod: true, isResponse: false, isKnown: false }],
    ['{"id":"é\\"}","result":{', { id: '"é\\"}"', isMethod: false, isResponse: true, isKnown: true }],
    [
      '{"error":{"id":8},"id" :\t-1.5e3 }',
      { id: '-1.5e3', isMethod: false, isResponse: true, isKnown: true },
    ],
    ['{"id":null,"result":1}', { id: 'null', isMethod: false, isResponse: true, isKnown: true }],
    ['{"\\u0069\\u0064":7,"m\\u0065thod":"', { id: '7', isMethod: true, isResponse: false, isKnown: true }],
    ['  {"id":7', { id: undefined, isMethod: false, isResponse: false, isKnown: false }],
    ['{"id":7}', { id: '7', isMethod: false, isResponse: false, isKnown: false }],
  ])('reads %s', (text, seen) => {
    expect(skimmed(text)).toMatchObject({ ...seen, length: Buffer.byteLength(text) });
  });

  test.each([
    ['{"method":"m","params":{"a":{"sessionId":"b"},"sessionId":"\\u0061","x":["sessionId"]}}', 'a'],
    ['{"params":{"sessionId":7,"a":"b"},"method":"m"}', undefined],
    ['{"result":{"sessionId":"a"},"params":["sessionId","a"]}', undefined],
  ])('finds the session of %s', (text, sessionId) => expect(skimmed(text).sessionId).toBe(sessionId));

  test.each([
    ['an object', '{"id":{"id":7},"result":1}'],
    ['an array', '{"id":["a",7],"result":1}'],
    ['a boolean', '{"id":true,"result":1}'],
    ['nothing', '{"id":,"result":1}'],
    ['bare text', '{"id":abc,"result":1}'],
    ['half a number', '{"id":1.,"result":1}'],
    ['a string with a wrong escape', '{"id":"\\x","result":1}'],
    ['longer than what is kept', `{"id":"${'x'.repeat(1023)}","result":1}`],
    ['a number longer than what is kept', `{"id":${'1'.repeat(1025)},"result":1}`],
  ])('knows no id that is %s', (_, text) => {
    expect(skimmed(text)).toMatchObject({ id: undefined, isResponse: true, isKnown: false });
  });

  test('keeps an id of 1 KiB', () => {
    const id = `"${'x'.repeat(1022)}"`;

    expect(skimmed(`{"id":${id},"result":1}`).id).toBe(id);
  });

  test('looks at no key below the outermost object', () => {
    const text = '{"a":{"id":1,"result":2},"b":[{"id":3,"method":"m"}],"c":"\\"id\\":4","d":["id",5]}';

    expect(skimmed(text)).toMatchObject({ id: undefined, isMethod: false, isResponse: false });
    expect(skimmed('[{"id":1,"method":"m"}]')).toMatchObject({ id: undefined, isMethod: false });
  });

  test('goes on after a key or a value that is longer than what is kept', () => {
    const text = `{"${'x'.repeat(2_000)}":"${'y'.repeat(2_000)}","id":7,"result":1}`;

    expect(skimmed(text).id).toBe('7');
  });
});

function skimmed(text: string): Skim {
  const skim = new Skim();
  skim.push(Buffer.from(text));
  return skim;
}

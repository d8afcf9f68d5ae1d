import { Skim } from '../../src/rpc/long-line';

describe('Skim', () => {
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

  test('goes on after a key or a value that is longer than what is kept', () => {
    const text = `{"${'x'.repeat(2_000)}":"${'y'.repeat(2_000)}","id":7,"result":1}`;

    expect(skimmed(text).id).toBe('7');
  });

  test.each(['{"a":"",', '{"params":[1,', '{"params":{"a":1,'])(
    'copies nothing of the members of %s…',
    (text) => {
      const line = Buffer.from(text + '"":0,'.repeat(1_000));
      const copy = jest.spyOn(Buffer, 'from');
      new Skim().push(line);
      const copies = copy.mock.calls.length;
      copy.mockRestore();

      expect(copies).toBe(0);
    },
  );
});

function skimmed(text: string): Skim {
  const skim = new Skim();
  skim.push(Buffer.from(text));
  return skim;
}

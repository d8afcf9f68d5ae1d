import { readDocument } from '../../../src/agent/registry/document';

const agent = (id: string, changes: object = {}) => ({
  ...{ id, name: id, version: '1.0.0', description: 'x' },
  distribution: { npx: { package: `${id}@1.0.0` } },
  ...changes,
});

describe('readDocument', () => {
  test('drops what is malformed, says why, and keeps the others in their order', () => {
    const agents = [agent('b'), agent('bad', { distribution: 7 }), null, agent('a'), agent('b')];

    const { entries, dropped } = readDocument(JSON.stringify({ version: '9.9.9', agents, future: 1 }));

    expect(entries.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(dropped).toEqual([
      { id: 'bad', reason: 'its distribution is no object' },
      { id: 'number 3', reason: 'it is no object' },
      { id: 'b', reason: 'another one before it has the same id' },
    ]);
  });

  test.each(['', '<html>', '[]', '{}', '{"agents":{}}'])('fails for what is none: %j', (text) => {
    expect(() => readDocument(text)).toThrow('no JSON document with a list of agents');
  });
});

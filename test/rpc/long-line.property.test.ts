import fc from 'fast-check';
import { Skim } from '../../src/rpc/long-line';
import { runs } from '../support/properties';
import { chunksOf, cuts } from './chunks';
import { mutated } from './json-text';
import { parsed, treeOf } from './json-tree';
import { messageText } from './message-text';

const message = messageText({ a: 'path' });

describe('Skim', () => {
  test('agrees with JSON.parse on id and kind of any object, in any chunks', () => {
    fc.assert(
      fc.property(message, cuts, (text, places) => {
        const line = Buffer.from(text);
        const { members } = treeOf(line);
        const keys = members.map(([key]) => key);
        fc.pre(keys.indexOf('id') === keys.lastIndexOf('id'));

        const skim = new Skim();
        for (const chunk of chunksOf(line, places)) skim.push(chunk);

        expect({ id: skim.id, isResponse: skim.isResponse, isMethod: skim.isMethod }).toEqual({
          id: idOf(line),
          isResponse: keys.includes('result') || keys.includes('error'),
          isMethod: keys.includes('method') || keys.includes('params'),
        });
      }),
      runs,
    );
  });

  test('gives no id that could not stand in an answer, whatever the bytes', () => {
    fc.assert(
      fc.property(mutated(message), cuts, (line, places) => {
        const skim = new Skim();
        for (const chunk of chunksOf(line, places)) skim.push(chunk);

        const id = skim.id === undefined ? null : (JSON.parse(skim.id) as unknown);

        expect(id === null || typeof id === 'string' || typeof id === 'number').toBe(true);
      }),
      runs,
    );
  });
});

/** The text of the id of a valid message. */
function idOf(line: Buffer): string | undefined {
  const { id } = parsed(line)!.value as { id?: unknown };
  const node = new Map(treeOf(line).members).get('id');
  const isLegal = id === null || typeof id === 'string' || typeof id === 'number';
  return node === undefined || !isLegal ? undefined : line.toString('utf8', node.start, node.end);
}

import { Readable } from 'node:stream';
import { wholeOf } from '../../../src/system/streams/at-most';

const tooMuch = (): Error => new Error('too much');

test.each([[[]], [['ab']], [['a', 'bc']]])('%j is not more than three bytes', async (pieces: string[]) => {
  const bytes = Readable.from(pieces.map((piece) => Buffer.from(piece)));

  expect((await wholeOf(bytes, 3, tooMuch)).toString()).toBe(pieces.join(''));
});

test('more is an error, and what follows is not read', async () => {
  const bytes = Readable.from(['ab', 'cd', 'ef'].map((piece) => Buffer.from(piece)));

  await expect(wholeOf(bytes, 3, tooMuch)).rejects.toThrow('too much');

  expect(bytes.destroyed).toBe(true);
});

import { Writable } from 'node:stream';
import { TurnWriter } from '../../../src/system/streams/turn-writer';

let writes: string[];
let stream: Writable;
let writer: TurnWriter;

beforeEach(() => {
  writes = [];
  stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk.toString());
      done();
    },
    writev: (chunks, done) => {
      writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)).toString());
      done();
    },
  });
  writer = new TurnWriter(stream);
});

test('writes at once what was added in one turn, in its order', async () => {
  writer.add(Buffer.from('a\n'));
  writer.add([Buffer.from('b'), Buffer.from('\n')]);
  expect([writes, writer.waitingBytes]).toEqual([[], 4]);

  await new Promise(setImmediate);

  expect([writes, writer.waitingBytes]).toEqual([['a\nb\n'], 0]);
});

test('makes one piece of lines that lie side by side, and not of others', async () => {
  const [area, other] = [Buffer.from('abcd'), Buffer.from('x')];
  const pieces: number[] = [];
  stream.write = (piece: Buffer) => pieces.push(piece.length) > 0;

  for (const piece of [area.subarray(0, 1), area.subarray(1, 3), other, area.subarray(3)]) writer.add(piece);
  await new Promise(setImmediate);

  expect(pieces).toEqual([3, 1, 1]);
});

test('loses nothing that was added before the stream is ended', () => {
  writer.add(Buffer.from('last\n'));

  writer.flush();
  stream.end();

  expect(writes).toEqual(['last\n']);
});

test('writes nothing to a stream that takes no more', async () => {
  const errors: Error[] = [];
  stream.on('error', (error) => errors.push(error));
  writer.add(Buffer.from('late\n'));
  stream.end();

  await new Promise(setImmediate);

  expect([writes, errors]).toEqual([[], []]);
});

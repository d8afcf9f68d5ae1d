import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { Header } from 'tar-stream';
import { firstFileOf, textOfFrames } from '../../../src/container/engine/answer';

describe('firstFileOf', () => {
  test.each([
    ['a file', { name: 'x' }, 'content'],
    ['an empty file', { name: 'x' }, ''],
    ['a file of a whole block', { name: 'x' }, 'a'.repeat(512)],
    ['a file with attributes before it', { name: 'é'.repeat(200), pax: { mtime: '1.5' } }, 'content'],
  ])('finds %s', async (_, header, content) => {
    expect(String(firstFileOf(await archive(header, content)))).toBe(content);
  });

  test.each(['directory', 'symlink', 'character-device'] as const)('finds no file in a %s', async (type) => {
    expect(firstFileOf(await archive({ name: 'x', type, linkname: 'y' }, ''))).toBeUndefined();
  });

  test('finds no file in nothing', () => {
    expect(firstFileOf(Buffer.alloc(0))).toBeUndefined();
  });
});

describe('textOfFrames', () => {
  test('joins both streams in their order, also within a character', () => {
    const euro = Buffer.from('€\n');

    const text = textOfFrames(
      Buffer.concat([
        frame(1, 'out\n'),
        frame(2, 'err\n'),
        frame(1, euro.subarray(0, 2)),
        frame(1, euro.subarray(2)),
      ]),
    );

    expect(text).toBe('out\nerr\n€\n');
    expect(textOfFrames(Buffer.alloc(0))).toBe('');
  });
});

function frame(stream: number, content: string | Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(content), 4);
  return Buffer.concat([header, Buffer.from(content)]);
}

async function archive(header: Partial<Header> & { name: string }, content: string): Promise<Buffer> {
  const tar = pack();
  tar.entry(header, content);
  tar.finalize();
  return await buffer(tar);
}

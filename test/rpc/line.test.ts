import { LineReader, type LineLimits } from '../../src/rpc/line';
import { onOneLine } from '../../src/rpc/white-space';
import { type OverlongLine, type Skim } from '../../src/rpc/long-line';

const limit = 64;

describe('LineReader', () => {
  test('cuts at LF, takes a CR before it off and leaves out blank lines', () => {
    expect(read(['a\nb\r\n\n \t\r\nc c\r\n'])).toEqual(['a', 'b', 'c c']);
  });

  test('makes a CR between tokens a space, which no reader takes for a line end', () => {
    expect(read(['{"a":\r[1,\r\r2],"b":"\\\\"\r}\r\r\n'])).toEqual(['{"a": [1,  2],"b":"\\\\" } ']);
  });

  test('leaves a CR in a string, which is no JSON', () => {
    const line = '{"a":"x\ry\\"\r","b":"\\\r"}';

    expect(read([`${line}\n`])).toEqual([line]);
  });

  test('does not copy a line that lies in one chunk', () => {
    const chunk = Buffer.from('abc\ndef\n');
    const reader = new LineReader({ maxLineBytes: limit, maxSearchBytes: limit });
    reader.push(chunk);

    expect((reader.next() as Buffer).buffer).toBe(chunk.buffer);
  });

  describe('offers what comes next', () => {
    let reader: LineReader;
    let offered: string[];
    const take = (bytes: number) => (pieces: readonly Buffer[]) => {
      offered.push(pieces.join('|'));
      return bytes;
    };
    beforeEach(() => {
      reader = new LineReader({ maxLineBytes: limit, maxSearchBytes: limit });
      offered = [];
    });

    test('and goes on behind what was taken of it', () => {
      reader.push(Buffer.from('ab\ncd\nef\ngh'));
      reader.push(Buffer.from('i\n'));

      expect(reader.offer(take(3))).toBe(3);
      expect(reader.next()).toEqual(Buffer.from('cd'));
      expect(reader.offer(take(3))).toBe(3);
      expect(reader.next()).toEqual(Buffer.from('ghi'));
      expect(reader.offer(take(1))).toBe(0);
      expect(offered).toEqual(['ab\ncd\nef\ngh', 'ef\ngh']);
    });

    test('with the beginning of the line that came before', () => {
      for (const text of ['ab', 'cd', 'ef\ng']) {
        reader.push(Buffer.from(text));
        if (text !== 'ef\ng') expect(reader.next()).toBeUndefined();
      }

      expect(reader.offer(take(7))).toBe(7);

      expect(offered).toEqual(['abcd|ef\ng']);
      reader.push(Buffer.from('h\n'));
      expect(reader.next()).toEqual(Buffer.from('gh'));
    });

    test('and has it still where nothing was taken', () => {
      reader.push(Buffer.from('ab'));
      expect(reader.next()).toBeUndefined();
      reader.push(Buffer.from('cd\n'));

      expect(reader.offer(take(0))).toBe(0);

      expect(reader.next()).toEqual(Buffer.from('abcd'));
    });

    test.each([
      ['is nothing', ''],
      ['ends no line', 'abc'],
      ['may be longer than the limit', `${'a'.repeat(limit)}\n`],
      ['goes on with a line that is', `${'a'.repeat(limit + 1)}\nb`],
    ])('but not what %s', (_, text) => {
      reader.push(Buffer.from(text));
      if (text.endsWith('b')) reader.next();

      expect(reader.offer(take(1))).toBe(0);

      expect(offered).toEqual([]);
    });
  });

  describe('at the limit', () => {
    test.each([
      [limit - 1, '\n', true],
      [limit, '\n', true],
      [limit + 1, '\n', false],
      [limit - 1, '\r\n', true],
      [limit, '\r\n', false],
      [limit, '', true],
      [limit + 1, '', false],
    ])('a line of %d bytes before %j is kept: %s, wherever it is cut', (length, end, isKept) => {
      const line = messageOf(length);
      const bytes = Buffer.from(`${line}${end}`);

      for (let cut = 0; cut <= bytes.length; cut++) {
        expect(read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([isKept ? line : 'over-long 7']);
      }
    });

    test('goes on with the next line', () => {
      const long = messageOf(limit + 1);

      expect(read([`${long}\n[]\r\n${long}\n\n${long}\n{}`])).toEqual([
        'over-long 7',
        '[]',
        'over-long 7',
        'over-long 7',
        '{}',
      ]);
    });
  });

  describe('reports an over-long line', () => {
    test('once its length is known, with what its beginning says', () => {
      const reader = new LineReader({ maxLineBytes: 16, maxSearchBytes: Infinity });
      reader.push(Buffer.from('{"id":7,"method":"m","params":"xxxx'));
      for (let i = 0; i < 100; i++) reader.push(Buffer.alloc(100, 'x'));
      expect(reader.next()).toBeUndefined();
      reader.push(Buffer.from('"}\nnext\n'));

      expect(skimOf(reader.next())).toMatchObject({
        id: '7',
        isMethod: true,
        isResponse: false,
        length: 10_037,
      });
      expect(textOf(reader.next())).toBe('next');
    });

    test('without an id once that was not found in the bytes that are searched', () => {
      const reader = new LineReader({ maxLineBytes: 16, maxSearchBytes: 64 });
      reader.push(Buffer.from('{"result":"'));
      for (let read = 11; read < 63; read++) {
        reader.push(Buffer.from('x'));
        expect(reader.next()).toBeUndefined();
      }

      reader.push(Buffer.from('x'));

      expect(skimOf(reader.next())).toMatchObject({ id: undefined, length: 64 });
      reader.push(Buffer.from('","id":7}\nnext\n'));
      expect(textOf(reader.next())).toBe('next');
    });
  });
});

test('a message on several lines becomes one line', () => {
  const message = Buffer.from('{\r\n"é":\n1}');
  expect(String(onOneLine(message))).toBe('{  "é": 1}');
  expect(String(message)).toBe('{\r\n"é":\n1}');
  const line = Buffer.from('{}');
  expect(onOneLine(line)).toBe(line);
});

/** A request of that many bytes. */
function messageOf(length: number): string {
  const message = '{"id":7,"method":"m","params":""}';
  return message.replace('""', `"${'x'.repeat(length - message.length)}"`);
}

/** All lines of all chunks. */
function read(chunks: readonly (string | Buffer)[], limits: Partial<LineLimits> = {}): string[] {
  const reader = new LineReader({ maxLineBytes: limit, maxSearchBytes: 1_000, ...limits });
  const lines: string[] = [];
  const pull = (): void => {
    for (let line = reader.next(); line !== undefined; line = reader.next()) {
      lines.push(textOf(line) ?? `over-long ${skimOf(line)?.id}`);
    }
  };
  for (const chunk of chunks) {
    reader.push(Buffer.from(chunk));
    pull();
  }
  reader.end();
  pull();
  return lines;
}

function textOf(line: Buffer | OverlongLine | undefined): string | undefined {
  return Buffer.isBuffer(line) ? line.toString() : undefined;
}

function skimOf(line: Buffer | OverlongLine | undefined): Skim | undefined {
  return (line as OverlongLine | undefined)?.skim;
}

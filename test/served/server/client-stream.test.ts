import fc from 'fast-check';
import { ClientStream, receivedCount } from '../../../src/served/server/client-stream';
import { Keeper } from '../../../src/served/server/kept-lines';
import { codeOf } from '../../support/code-of';

const unlimited = { bytes: Infinity, lines: Infinity };

function streamOf(lines: readonly string[], limits = unlimited): ClientStream {
  const stream = new ClientStream(new Keeper(limits), 0, () => undefined);
  for (const line of lines) stream.push(Buffer.from(line));
  return stream;
}

/** What an outlet gets with its number: at most so many lines. It is gone then. */
function carried(stream: ClientStream, after?: number, most = Infinity): { number: number; line: Buffer }[] {
  const got: { number: number; line: Buffer }[] = [];
  const send = (line: Buffer, number: number) => got.push({ number, line }) < most;
  stream.carryBy({ send, close: () => undefined }, after);
  stream.flush();
  stream.drop();
  return got;
}

const texts = (...how: Parameters<typeof carried>) =>
  carried(...how).map(({ number, line }) => `${number}:${line.toString()}`);

test('whoever comes back gets what follows the number', () => {
  const stream = streamOf(['a', 'b', 'c']);
  carried(stream);

  expect(texts(stream, 1)).toEqual(['2:b', '3:c']);
});

test('without a number it goes on where it was', () => {
  const stream = streamOf(['a', 'b']);
  carried(stream, undefined, 1);

  expect(texts(stream)).toEqual(['2:b']);
});

test('a number that no line had is refused', () => {
  const stream = streamOf(['a']);

  for (const number of [2, -1, 0.5, NaN]) expect(codeOf(() => carried(stream, number))).toBe('USAGE');
});

test('lines that were dropped are missed, and that is told', () => {
  const stream = streamOf(['aa', 'bb', 'cc', 'dd'], { bytes: 4, lines: Infinity });

  expect(stream.unsentBytes).toBe(4);
  expect(codeOf(() => carried(stream, 1))).toBe('GONE');
  expect(codeOf(() => carried(stream))).toBe('GONE');
  expect(texts(stream, 2)).toEqual(['3:cc', '4:dd']);
  expect(texts(stream)).toEqual([]);
});

test('lines that were sent are dropped without a loss', () => {
  const stream = streamOf(['a', 'b'], { bytes: Infinity, lines: 2 });
  carried(stream);

  stream.push(Buffer.from('c'));

  expect(stream.isWhole).toBe(false);
  expect(texts(stream)).toEqual(['3:c']);
});

test('whatever happens, each line is given once and in order, or the loss is told', () => {
  const step = fc.oneof(
    fc.record({ push: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ most: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ back: fc.integer({ min: 0, max: 8 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 200 }), (steps, bytes) => {
      const stream = streamOf([], { bytes, lines: 20 });
      let pushed = 0;
      let received = 0;
      for (const each of steps) {
        if ('push' in each) {
          const line = Buffer.alloc(4 + each.push);
          line.writeUInt32LE(++pushed);
          stream.push(line);
          continue;
        }
        const after = 'back' in each ? Math.max(0, received - each.back) : undefined;
        const most = 'most' in each ? each.most : 1;
        let got: ReturnType<typeof carried> = [];
        const code = codeOf(() => (got = carried(stream, after, most)));
        expect([undefined, 'GONE']).toContain(code);
        if (code === 'GONE') {
          expect(stream.isWhole).toBe(false);
          continue;
        }
        received = after ?? received;
        expect(got).toHaveLength(Math.min(most, pushed - received));
        for (const { number, line } of got)
          expect([number, line.readUInt32LE()]).toEqual([++received, number]);
        expect(stream.unsentBytes).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});

test('a number of messages is a number', () => {
  expect([receivedCount(undefined), receivedCount('0'), receivedCount('123')]).toEqual([undefined, 0, 123]);
  for (const text of ['', '-1', '1.5', 'x', '1'.repeat(16), ['1', '2']])
    expect(() => receivedCount(text)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
});

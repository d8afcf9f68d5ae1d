import fc from 'fast-check';
import { LineReader } from '../../src/rpc/line';
import { type OverlongLine } from '../../src/rpc/long-line';
import { runs } from '../support/properties';
import { chunksOf, cuts } from './chunks';
import { numberText, stringText } from './json-text';

const byte = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...Buffer.from('\n\n\r \t"{a')) },
  { weight: 1, arbitrary: fc.nat(255) },
);
const anyBytes = fc.oneof(
  fc.array(byte, { maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.constantFrom('\n', '\r\n', 'é', '😀', '{"a":"€"}', '  ', ''), { maxLength: 20 })
    .map((parts) => Buffer.from(parts.join(''))),
);

describe('LineReader', () => {
  test('gives the same lines for any bytes, however they are cut and pulled', () => {
    fc.assert(
      fc.property(
        anyBytes,
        cuts,
        fc.nat(25),
        fc.nat(40),
        fc.boolean(),
        (bytes, places, limit, search, isLazy) => {
          const reader = new LineReader({ maxLineBytes: limit, maxSearchBytes: search });
          const lines: string[] = [];
          for (const chunk of chunksOf(bytes, places)) {
            reader.push(chunk);
            if (!isLazy) lines.push(...pulled(reader).map(textOf));
          }
          reader.end();
          lines.push(...pulled(reader).map(textOf));

          expect(lines).toEqual(linesOf(bytes, limit));
          expect(reader.next()).toBeUndefined();
        },
      ),
      runs,
    );
  });

  test('joins a long line of pieces of any size', () => {
    const size = fc.oneof(fc.constantFrom(0, 1, 1_000, 4_095, 4_096, 65_535, 65_536, 70_000), fc.nat(5_000));
    fc.assert(
      fc.property(fc.array(size, { maxLength: 40 }), (sizes) => {
        const reader = new LineReader({ maxLineBytes: 10_000_000, maxSearchBytes: 0 });
        const pieces = sizes.map((bytes, i) => Buffer.alloc(bytes, 'a'.charCodeAt(0) + (i % 26)));
        for (const piece of [...pieces, Buffer.from('.\n')]) {
          reader.push(piece);
          if (piece.at(-1) !== 0x0a) expect(reader.next()).toBeUndefined();
        }

        expect((reader.next() as Buffer).equals(Buffer.concat([...pieces, Buffer.from('.')]))).toBe(true);
      }),
      { ...runs, numRuns: Math.ceil(runs.numRuns / 10) },
    );
  });

  test('tells once, of any over-long message, whom it concerns', () => {
    const id = fc.oneof(stringText, numberText);
    const form = fc.constantFrom('"method":"m","params":{', '"result":{', '"error":{"id":0,');
    fc.assert(
      fc.property(
        id,
        form,
        fc.boolean(),
        fc.nat(200),
        cuts,
        fc.nat(400),
        (text, body, isLast, pad, places, search) => {
          const long = `${body}"x":"${'x'.repeat(pad)}"}`;
          const message = isLast ? `{${long},"id":${text}}` : `{"id":${text},${long}}`;
          const bytes = Buffer.from(`${message}\n[]`);
          const reader = new LineReader({ maxLineBytes: 20, maxSearchBytes: search });

          const lines = chunksOf(bytes, places).flatMap((chunk) => {
            reader.push(chunk);
            return pulled(reader);
          });
          reader.end();
          lines.push(...pulled(reader));

          const [report, ...rest] = lines as [OverlongLine, ...Buffer[]];
          expect(rest.map(String)).toEqual(['[]']);
          // The id is over with the byte that ends its member.
          const isSeen = search >= Buffer.byteLength(isLast ? message : `{"id":${text},`);
          expect(report.skim.id).toBe(isSeen ? text : undefined);
          if (isSeen && isLast) expect(report.skim.isResponse).toBe(!body.startsWith('"method'));
        },
      ),
      runs,
    );
  });
});

/** What the reader gives until it needs more. */
function pulled(reader: LineReader): (Buffer | OverlongLine)[] {
  const lines: (Buffer | OverlongLine)[] = [];
  for (let line = reader.next(); line !== undefined; line = reader.next()) lines.push(line);
  return lines;
}

function textOf(line: Buffer | OverlongLine): string {
  return Buffer.isBuffer(line) ? line.toString('latin1') : 'over-long';
}

/** The lines of bytes, found the simple way. CRs outside strings become spaces. */
function linesOf(bytes: Buffer, limit: number): string[] {
  return bytes
    .toString('latin1')
    .split('\n')
    .map((line) => (line.length > limit ? 'over-long' : withSpaces(line.replace(/\r$/, ''))))
    .filter((line) => /[^ \t\r]/.test(line));
}

function withSpaces(line: string): string {
  return line.replace(/("(?:[^"\\]|\\.)*(?:"|\\?$))|\r/gs, (_, string?: string) => string ?? ' ');
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import wabt from 'wabt';
import { code, inputAt, maxInputBytes, vectors } from '../../../src/rpc/webassembly/vectors';
import { runs } from '../../support/properties';

/** One byte or escape of a string, legal or not. */
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'é', '0123456789abcdef', '/', 'r') },
  { weight: 4, arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\b', '\\f', '\\r', '\\t') },
  { weight: 1, arbitrary: fc.constantFrom('"', '\\', '\\u0041', '\\a', '\x1f', '\x7f', '\\\n', '\x00') },
);

describe('vectors', () => {
  test('are the code that their source is compiled to', async () => {
    const path = join(__dirname, '../../../src/rpc/webassembly/vectors.wat');
    const { buffer } = (await wabt()).parseWat(path, readFileSync(path, 'utf8'), { simd: true }).toBinary({});

    expect(code).toBe(Buffer.from(buffer).toString('base64'));
  });

  test('are not loaded again where that fails, since it may take long', async () => {
    const global = globalThis as unknown as { WebAssembly: unknown };
    const { WebAssembly } = global;
    const Module = jest.fn(() => {
      throw new RangeError('no address space');
    });
    global.WebAssembly = { Module };
    try {
      await jest.isolateModulesAsync(async () => {
        const isolated = await import('../../../src/rpc/webassembly/vectors');
        expect([isolated.vectors(), isolated.vectors()]).toEqual([null, null]);
      });
    } finally {
      global.WebAssembly = WebAssembly;
    }

    expect(Module).toHaveBeenCalledTimes(1);
  });

  test('end what is plain where it is read byte by byte, at any place and with any end', () => {
    const { memory, plainEnd } = vectors()!;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.nat(40), (pieces, from) => {
        const text = Buffer.from(`${' '.repeat(from)}${pieces.join('')}`);
        memory.fill('"', inputAt, inputAt + text.length + 64);
        text.copy(memory, inputAt);
        memory[inputAt + text.length] = 0;

        expect(plainEnd(from)).toBe(endOf(text, from));
      }),
      runs,
    );
  });

  test('reach the last byte that there is room for', () => {
    const { memory, plainEnd } = vectors()!;
    memory.fill('a', inputAt, inputAt + maxInputBytes);
    memory[inputAt + maxInputBytes] = 0;

    expect(plainEnd(maxInputBytes - 40)).toBe(maxInputBytes);
  });
});

/** As the source says of `plainEnd`. */
function endOf(text: Buffer, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== 0x22 && text[at]! >= 0x20) {
    if (text[at] === 0x5c && !'"\\/bfnrt'.includes(String.fromCharCode(text[at + 1] ?? 0))) break;
    at += text[at] === 0x5c ? 2 : 1;
  }
  return at;
}

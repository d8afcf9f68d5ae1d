/**
 * The two functions of WebAssembly (`vectors.wat`) that read many bytes at a time, in a tenth of what it takes byte
 * by byte. They see their own memory only, so what they work on is copied into it, and out of it. It is one for all, as
 * nothing in it outlasts a call.
 */

/** `vectors.wat`, compiled. */
export const code =
  'AGFzbQEAAAABDgJgAX8Bf2AEf39/fwF/AwMCAAEFAwEABAYGAX8BQQALBykEBm1lbW9yeQIAB3dyaXR0ZW4DAAhwbGFpbkVuZAAAB3Jld3JpdGUAAQqJBQLYAgMEewR+B3tBIv0PIQlB3AD9DyEKQfIA/Q8hC/0MAQBiAHQAZgAAAAAAXABuLyEMQeAB/Q8hDUEP/Q8hDgNAIAD9AAQAIQEgAP0ABBAhAiABIAn9IyEDIAIgCf0jIQQgASAK/SP9ZCACIAr9I/1kQRB0cq0gCEJ/hYMhBSAFQgGGIAiEIQYgBSAFQqrVqtUKgyAGQn+Fg3whByAHQiCIQgGDIQggB0IBhkLVqtWqBYUgBoNC/////w+DIQYgBiADIAEgC/0j/VAgASAMIAEgDv1O/Q79I/1Q/WQgBCACIAv9I/1QIAIgDCACIA79Tv0O/SP9UP1kQRB0cq1Cf4WDIAEgDf1OIA/9I/1kIAIgDf1OIA/9I/1kQRB0cq0gA/1kIAT9ZEEQdHKtIAZCf4WDhIQhByAHUARAIABBIGohAAwBCwsgB3ohByAArSAHfCAGIAeIQgGDfacLrAIBBX9BgOAGIQUCQANAIAVBgOAGayQAIAQgAWohBiAGIABLDQEgBSACaiAAIARrakHg3w5LDQFBECEIA0AgBCAIakEQa/0ABAAgCP0ABPCBBv1R/VMNAiAIIAFJBEAgCEEQaiEIIAggAUsEQCABIQgLDAELCyAGEAAhByAHIANqIABPDQFBACEIA0AgByAIai0AACAILQCAwAZHDQIgCEEBaiEIIAggA0kNAAsgByADaiEHIActAABBCkcNASAHQQFqIQdBACEIA0AgBSAIaiAI/QAEgKAG/QsEACAIQRBqIQggCCACSQ0ACyAFIAJqIQUgBiEIA0AgBSAIIAZraiAI/QAEAP0LBAAgCEEQaiEIIAggB0kNAAsgBSAHIAZraiEFIAchBAwACwsgBAs=';

/** What is read is put here, with a byte 0 behind it. */
export const inputAt = 0;
/** How much may be put there, in bytes. */
export const maxInputBytes = 96 * 1024;
/** For `rewrite`: where the old head of the lines lies. */
export const headAt = 0x18100;
/** For `rewrite`: where the new head lies. */
export const newHeadAt = 0x19000;
/** For `rewrite`: where the tail lies. */
export const tailAt = 0x1a000;
/** Most bytes of each of these. */
export const maxPartBytes = 2_048;
/** Fewest bytes of the old head. */
export const minHeadBytes = 16;
/** For `rewrite`: where it writes, 128 KiB at most. */
export const outputAt = 0x1b000;

/** The functions, and their memory. Offsets are offsets in that memory. */
export interface Vectors {
  readonly memory: Buffer;
  /**
   * Offset of the first byte at or after `at` that is not plain: a quote, a control character, or the backslash of
   * any escape but escapes of one letter.
   */
  readonly plainEnd: (at: number) => number;
  /**
   * Rewrites lines from the start of the `bytes` bytes of input, for as long as each is head, the rest of a string,
   * tail. Returns how many bytes it read. `head`, `newHead`, `tail`: their lengths.
   */
  readonly rewrite: (bytes: number, head: number, newHead: number, tail: number) => number;
  /** How many bytes the last `rewrite` has written. */
  readonly written: { readonly value: number };
}

/** What is used of WebAssembly, which TypeScript describes with a browser. */
interface WebAssembly {
  readonly Module: new (code: Buffer) => object;
  readonly Instance: new (module: object) => {
    readonly exports: Omit<Vectors, 'memory'> & { readonly memory: { readonly buffer: ArrayBuffer } };
  };
}

/** `null`: there is no WebAssembly with vectors, or no address space for it. */
let loaded: Vectors | null | undefined;

/**
 * The functions; null where WebAssembly has no vectors. Loaded when they are first needed, and never again: that takes some
 * milliseconds, and many where it fails.
 */
export function vectors(): Vectors | null {
  if (loaded === undefined) loaded = load();
  return loaded;
}

function load(): Vectors | null {
  try {
    const { Instance, Module } = (globalThis as unknown as { WebAssembly: WebAssembly }).WebAssembly;
    const { memory, ...functions } = new Instance(new Module(Buffer.from(code, 'base64'))).exports;
    return { memory: Buffer.from(memory.buffer), ...functions };
  } catch {
    return null;
  }
}

/** Forms that values of Compose files have. */
import { CaiError } from '../../../errors';

/**
 * A command that is one string, split as a shell splits it, but nothing else of it means anything. `undefined`: a
 * quotation mark has no end.
 */
export function wordsOf(text: string): string[] | undefined {
  const part = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)|(\s+)/gsy;
  const words: string[] = [];
  let [word, end]: [string | undefined, number] = [undefined, 0];
  for (const [whole, single, double, escaped, plain, space] of text.matchAll(part)) {
    end += whole.length;
    if (space === undefined)
      word = (word ?? '') + (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain!);
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (end < text.length) return undefined;
  return word === undefined ? words : [...words, word];
}

/** In bytes. */
const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };
/** With less than this, containers of ours do not start. */
const least = 64 * 2 ** 20;

/**
 * An amount of memory as our configuration has it. Fails with `CaiError('CONFIG')`. Source: Compose Specification,
 * "Byte values".
 */
export function sizeOf(value: string): string | undefined {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(value) ?? [];
  if (digits === undefined) throw new CaiError('CONFIG', 'its limit of memory is no size');
  const bytes = Number(digits) * units[unit.toLowerCase()]!;
  return bytes === 0 ? undefined : `${Math.ceil(Math.max(bytes, least) / 2 ** 10)}KiB`;
}

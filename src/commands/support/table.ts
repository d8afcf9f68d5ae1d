import { printableCharacters } from '../../system/quoted';

/**
 * Rows as lines of columns, each as wide as its widest text. Characters that could steer a terminal are
 * replaced, because names of folders can be a stranger's.
 */
export function table(rows: readonly (readonly string[])[]): string {
  const texts = rows.map((row) => row.map(printableCharacters));
  const widths = (texts[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]!.length)));
  const lines = texts.map((row) => row.map((text, column) => text.padEnd(widths[column]!)).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

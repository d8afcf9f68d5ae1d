/** What commands show to people and ask them. */
import { createInterface } from 'node:readline/promises';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { printable, printableCharacters, quotedLines } from '../../system/quoted';

/** Says a sentence on stderr. Part of it may be a stranger's words. */
export function tell(sentence: string): void {
  process.stderr.write(`cai: ${printable(sentence)}\n`);
}

/** Writes a value, which may be a stranger's, to stdout as indented JSON. */
export function writeJson(value: unknown): void {
  process.stdout.write(`${quotedLines(value)}\n`);
}

/** Source: ECMA-48, SGR. */
const colours = { good: 32, warn: 33, bad: 31 } as const;

export type Paint = (text: string, colour: keyof typeof colours | undefined) => string;

export const plain: Paint = (text) => text;

/** Colours for a terminal; none for files and pipes, and for people who want none. Source: no-color.org. */
export function paintFor(
  { env }: Pick<Host, 'env'>,
  stream: { readonly isTTY?: boolean } = process.stdout,
): Paint {
  if (stream.isTTY !== true || Boolean(env.NO_COLOR) || env.TERM === 'dumb') return plain;
  return (text, colour) => (colour === undefined ? text : `\u001b[${colours[colour]}m${text}\u001b[39m`);
}

/** A time of ISO 8601: on the user's clock in a terminal, unchanged in files and pipes, which programs read. */
export function shownTime(iso: string, isTerminal = process.stdout.isTTY): string {
  const time = new Date(iso);
  if (!isTerminal || Number.isNaN(time.getTime())) return iso;
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace('T', ' ');
}

/** No column is made narrower than this. */
const minWidth = 10;
const gap = '  ';

/**
 * Rows as lines of columns; the first row has their names. Where the terminal is too narrow, the `flexible` columns are
 * shortened, the widest first. Characters that could steer a terminal are replaced. `paint` gets each cell, as wide as
 * its column, and the column's name.
 */
export function table(
  rows: readonly (readonly string[])[],
  flexible: readonly string[] = [],
  columns: number | undefined = process.stdout.columns,
  paint: (cell: string, column: string) => string = (cell) => cell,
): string {
  const texts = rows.map((row) => row.map(printableCharacters));
  const widths = (texts[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]!.length)));
  const canShrink = widths.map((_, column) => flexible.includes(rows[0]![column]!));
  // A terminal that nobody has told its size says 0.
  const available = (columns || Infinity) - gap.length * (widths.length - 1);
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - available; excess > 0; excess--) {
    const widest = Math.max(...widths.filter((_, column) => canShrink[column]!));
    if (widest <= minWidth) break;
    widths[widths.findIndex((width, column) => canShrink[column]! && width === widest)]!--;
  }
  const lines = texts.map((row, index) =>
    row
      .map((text, column) => shortened(text, widths[column]!).padEnd(widths[column]!))
      .map((cell, column) => (index === 0 ? cell : paint(cell, texts[0]![column]!)))
      .join(gap),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** Of a path the end tells it from others, of any other text the beginning. */
export function shortened(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  if (text.startsWith('/')) return `…${characters.slice(characters.length - width + 1).join('')}`;
  return `${characters.slice(0, width - 1).join('')}…`;
}

/** As engines show sizes: `0 B`, `1.2 MB`, `12 GB`; `?` for what is not known. */
export function bytesText(bytes: number | null | undefined): string {
  if (bytes === undefined || bytes === null) return '?';
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 4);
  const number = bytes / 1_000 ** power;
  return `${power > 0 && number < 10 ? number.toFixed(1) : Math.round(number)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

/** The largest unit alone: `45s`, `12m`, `3h`, `9d`. */
export function ageOf(ageMs: number): string {
  const seconds = Math.max(Math.floor(ageMs / 1_000), 0);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/**
 * Asks on the terminal, by stderr. Everything but a yes is a no, the end of the input too; a question mark is answered.
 * Rejects with `CaiError('USAGE')` where nobody can be asked, and says `otherwise`.
 */
export async function confirm(question: string, otherwise: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new CaiError('USAGE', otherwise);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    for (;;) {
      const answer = (await Promise.race([terminal.question(`${question} [y/N] `), ended])).trim();
      if (answer !== '?') return /^y(es)?$/i.test(answer);
      process.stderr.write('y, yes: yes; n, no, Enter: no\n');
    }
  } finally {
    terminal.close();
  }
}

/** Files with one JSON object a line, to which several processes may append. */
import { appendFileSync, fstatSync, readSync } from 'node:fs';
import { objectIn } from '../unless';

/**
 * Appends lines, each with its line end, to an open file (flags `a+`) in one write; returns how many bytes. A crash or a
 * full disk may have cut the last line short: that line is ended first, so that no line after it is lost.
 */
export function appendLines(file: number, lines: string): number {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1, '\n');
  readSync(file, last, 0, 1, Math.max(size - 1, 0));
  const text = last.toString() === '\n' ? lines : `\n${lines}`;
  appendFileSync(file, text);
  return Buffer.byteLength(text);
}

/** What `read` makes of each line; lines that are damaged, or of which it makes nothing, are left out. */
export function readLines<T>(
  text: string,
  read: (value: Readonly<Record<string, unknown>>) => T | undefined,
): T[] {
  return text.split('\n').flatMap((line) => {
    const value = objectIn(line);
    return (value === undefined ? undefined : read(value)) ?? [];
  });
}

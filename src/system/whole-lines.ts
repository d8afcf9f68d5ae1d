import { readSync } from 'node:fs';

/** Whether the last line of an open file of that size has its end: a crash or a full disk can cut a record short. */
export function endsWhole(file: number, size: number): boolean {
  const last = Buffer.alloc(1, '\n');
  readSync(file, last, 0, 1, Math.max(size - 1, 0));
  return last.toString() === '\n';
}

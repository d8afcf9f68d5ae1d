import { closeSync, openSync, readSync } from 'node:fs';

/** What `use` makes of a file that is open meanwhile. A file that is made by it is the user's alone. */
export function withFile<T>(path: string, flags: string | number, use: (file: number) => T): T {
  const file = openSync(path, flags, 0o600);
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

/** At most so many bytes from a place in an open file. */
export function bytesAt(file: number, start: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, start));
}

/** Text of files. */
import { isUtf8 } from 'node:buffer';

/** The bytes as text, with a byte order mark if there is one. Throws for what is not UTF-8, instead of replacing it. */
export function utf8Of(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
  return bytes.toString();
}

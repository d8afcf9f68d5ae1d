/** Text of files. */
import { TextDecoder } from 'node:util';

/** The bytes as text, with a byte order mark if there is one. Throws for what is not UTF-8, instead of replacing it. */
export function utf8Of(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error('it is not UTF-8');
  }
}

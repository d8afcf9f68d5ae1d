import type { Readable } from 'node:stream';
import { CaiError } from '../../errors';

const maxBytes = 64 * 1024;
const maxMs = 10_000;

/**
 * All that a stream gives, as text. Rejects with `SSH_CONNECT` after 64 KiB or `limitMs` without its end, and with its
 * error: what is in a container may answer without end, or never. The stream is not to be used afterwards.
 */
export async function limitedText(stream: Readable, limitMs = maxMs): Promise<string> {
  const limit = setTimeout(() => stream.destroy(tooMuch(`no answer in ${limitMs / 1_000} s`)), limitMs);
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooMuch(`an answer of more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
  } finally {
    clearTimeout(limit);
  }
}

function tooMuch(what: string): CaiError {
  return new CaiError('SSH_CONNECT', `the container gave ${what}: make it anew with --fresh`);
}

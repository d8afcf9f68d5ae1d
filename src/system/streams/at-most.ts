/** Passes all bytes on; fails with what `tooMuch` makes where there are more than so many. */
export async function* atMost(
  bytes: AsyncIterable<Buffer>,
  limitBytes: number,
  tooMuch: () => Error,
): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > limitBytes) throw tooMuch();
    yield chunk;
  }
}

/** All bytes of a stream, which fails and ends as `atMost` does. */
export async function wholeOf(
  bytes: AsyncIterable<Buffer>,
  limitBytes: number,
  tooMuch: () => Error,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of atMost(bytes, limitBytes, tooMuch)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

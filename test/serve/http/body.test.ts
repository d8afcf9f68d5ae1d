import { Readable } from 'node:stream';
import { readBody, type Request } from '../../../src/serve/http/body';

/** A request with these chunks; `read` is how many were asked for. */
function requestOf(chunks: readonly string[], headers: Record<string, string> = {}) {
  const state = { read: 0 };
  const chunksRead = function* () {
    for (const chunk of chunks) {
      state.read++;
      yield Buffer.from(chunk);
    }
  };
  return { request: Object.assign(Readable.from(chunksRead()), { headers }) as unknown as Request, state };
}

test('is all of it, in one piece', async () => {
  expect(String(await readBody(requestOf(['ab', 'c']).request, 3))).toBe('abc');
  expect(String(await readBody(requestOf([]).request, 3))).toBe('');
});

test('that is said to be too long is not read', async () => {
  const { request, state } = requestOf(['abcd'], { 'content-length': '4' });

  await expect(readBody(request, 3)).rejects.toMatchObject({ status: 413 });
  expect(state.read).toBe(0);
});

test('that becomes too long is read no further', async () => {
  const { request, state } = requestOf(['ab', 'cd', ...Array<string>(100).fill('more')]);

  await expect(readBody(request, 3)).rejects.toMatchObject({ status: 413 });
  expect(state.read).toBeLessThan(50);
});

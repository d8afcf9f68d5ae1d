import { PassThrough, Readable } from 'node:stream';
import type { Request } from '../../../../src/served/server/door/request-rules';
import { Bodies, isJson } from '../../../../src/served/server/http/body';

const ann = { name: 'ann' };
const bob = { name: 'bob' };

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
  expect(String(await new Bodies(3).read(requestOf(['ab', 'c']).request, ann))).toBe('abc');
  expect(String(await new Bodies(3).read(requestOf([]).request, ann))).toBe('');
});

test('that is said to be too long is not read', async () => {
  const { request, state } = requestOf(['abcd'], { 'content-length': '4' });

  await expect(new Bodies(3).read(request, ann)).rejects.toMatchObject({ status: 413 });
  expect(state.read).toBe(0);
});

test('that is too long is refused with its length, the limit and the setting', async () => {
  const { request } = requestOf([], { 'content-length': '3000000' });

  await expect(new Bodies(2 ** 20, 'a.key').read(request, ann)).rejects.toMatchObject({
    message: 'the body has 2.9 MiB, more than the 1 MiB of a.key',
  });
});

test('that becomes too long is read no further', async () => {
  const { request, state } = requestOf(['ab', 'cd', ...Array<string>(100).fill('more')]);

  await expect(new Bodies(3).read(request, ann)).rejects.toMatchObject({ status: 413 });
  expect(state.read).toBeLessThan(50);
});

test('that a client cuts off is no failure of the server', async () => {
  const body = new PassThrough();
  const read = new Bodies(9).read(Object.assign(body, { headers: {} }) as never, ann);
  body.destroy(new Error('aborted'));

  await expect(read).rejects.toMatchObject({ status: 400 });
});

test('is an object of JSON where one is wanted', async () => {
  const read = (text: string) => new Bodies(9).readObject(requestOf([text]).request, ann);

  expect(await read('{"a":1}')).toEqual({ a: 1 });
  for (const text of ['', '{', '"x"', 'null', '[]'])
    await expect(read(text)).rejects.toMatchObject({ status: 400, message: 'the body is no JSON object' });
  await expect(read('{"a":"long"}')).rejects.toMatchObject({ status: 413 });
});

test.each([
  ['application/json', true],
  ['Application/JSON ; charset=utf-8', true],
  ['application/jsonp', false],
  ['text/plain; application/json', false],
])('of the type %s is JSON: %s', (type, expected) => {
  expect(isJson(requestOf([], { 'content-type': type }).request)).toBe(expected);
  expect(isJson(requestOf([]).request)).toBe(false);
});

test('of one visitor are limited together, while they come, and harm nobody else', async () => {
  const bodies = new Bodies(4);
  const slow = Array.from({ length: 2 }, () => new PassThrough());
  const coming = slow.map((each) => bodies.read(Object.assign(each, { headers: {} }) as never, ann));
  for (const each of slow) each.write('abcd');
  await new Promise((resolve) => setImmediate(resolve));

  await expect(bodies.read(requestOf(['x']).request, ann)).rejects.toMatchObject({ status: 503 });
  expect(String(await bodies.read(requestOf(['x']).request, bob))).toBe('x');
  for (const each of slow) each.end();
  await Promise.all(coming);
  expect(String(await bodies.read(requestOf(['x']).request, ann))).toBe('x');
});

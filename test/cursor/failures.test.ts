import { failureOf, isChatGone, retryAfterMs, transientClass } from '../../src/cursor/failures';

const end = (words: string) => ({ status: 1, words });

test.each([
  ['a time-out', 'Error: connect ETIMEDOUT 1.2.3.4:443'],
  ['a refused connection', 'connect ECONNREFUSED 127.0.0.1:443'],
  ['a connection that was reset', 'read ECONNRESET'],
  ['a name that cannot be resolved', 'getaddrinfo ENOTFOUND api2.cursor.sh'],
  ['a name that cannot be resolved', 'Error: getaddrinfo EAI_AGAIN api2.cursor.sh'],
  ['too many requests', 'HTTP 429'],
  [undefined, 'a bug'],
  [undefined, 'HTTP 429: not logged in'],
])('%s may be over in a moment: %s', (name, words) => expect(transientClass(end(words))).toBe(name));

test.each([
  ['Cannot use this model: x', /"cursor-agent models" lists/],
  ['Workspace Trust Required', /cai-cursor --trust/],
  ['HTTP 429', /Send the prompt again in a while/],
  ['a bug', /ended with status 1.*: a bug\n.*cursor-agent -p hello/s],
])('what to do is said behind "%s"', (words, message) => {
  expect(failureOf(end(words), 'cursor-agent', 1).message).toMatch(message);
});

test('a chat that is gone, and a time to wait, are seen in the words', () => {
  expect(
    ['Error: Chat 1 not found', 'file not found', 'Session expired: not logged in'].map((words) =>
      isChatGone(end(words)),
    ),
  ).toEqual([true, false, false]);
  expect([
    retryAfterMs('Retry-After: 61'),
    retryAfterMs('{"retry_after":"7"}'),
    retryAfterMs('soon'),
  ]).toEqual([61_000, 7_000, undefined]);
});

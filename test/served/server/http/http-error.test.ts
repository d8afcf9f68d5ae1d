import { CaiError, type FailureCode } from '../../../../src/errors';
import { HttpError, statusOf } from '../../../../src/served/server/http/http-error';

test.each<[FailureCode, number]>([
  ['USAGE', 400],
  ['UNSUPPORTED_AGENT', 403],
  ['CONNECTION_UNKNOWN', 404],
  ['GONE', 410],
  ['LIMIT', 503],
  ['CONFIG', 500],
])('%s is %i', (code, status) => {
  expect(statusOf(new CaiError(code, 'text'))).toBe(status);
});

test('an error of HTTP has its own status, and a bug is 500', () => {
  expect(statusOf(new HttpError(415, 'text'))).toBe(415);
  expect(statusOf(new TypeError('text'))).toBe(500);
  expect(statusOf('text')).toBe(500);
});

import { Cookies } from '../../../src/served/client/cookies';

test('cookies are returned by their names, the latest value of each', () => {
  const cookies = new Cookies();
  expect(cookies.headers).toEqual({});
  cookies.take(undefined);
  cookies.take([
    'a=1; Path=/; HttpOnly',
    'b="x y"; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
    'odd',
  ]);
  cookies.take(['a = 2 ; Expires=Fri, 01 Jan 2100 00:00:00 GMT']);

  expect(cookies.headers).toEqual({ Cookie: 'a=2; b="x y"' });
});

test.each(['a=; Max-Age=0', 'a=1; max-age=-1', 'a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT'])(
  '"%s" removes it',
  (header) => {
    const cookies = new Cookies();
    cookies.take(['a=1', 'b=2']);
    cookies.take([header]);

    expect(cookies.headers).toEqual({ Cookie: 'b=2' });
  },
);

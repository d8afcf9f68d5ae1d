import { addressOf, urlOf } from '../../../src/served/server/listen-address';

test.each([
  ['8722', 'http://127.0.0.1:8722'],
  ['0.0.0.0:80', 'http://0.0.0.0:80'],
  ['localhost:0', 'http://localhost:0'],
  ['[::1]:8722', 'http://[::1]:8722'],
  ['http://h:1/', 'http://h:1'],
  ['https://h:443', 'https://h:443'],
  ['tcp://127.0.0.1:9', 'tcp://127.0.0.1:9'],
  ['tls://h:65535', 'tls://h:65535'],
  ['unix:s.sock', 'unix:/cwd/s.sock'],
  ['unix:/run/s.sock', 'unix:/run/s.sock'],
  ['unix:///run/a b', 'unix:/run/a b'],
])('%s is %s', (text, url) => {
  const address = addressOf(text, '/cwd', false);

  expect(urlOf(address)).toBe(url);
  expect(addressOf(urlOf(address), '/other', true)).toEqual(address);
});

test.each([
  '',
  'h',
  ':1',
  'h:',
  'h:65536',
  'h:123456',
  '::1:80',
  'ftp://h:1',
  'http://h',
  'http://h:1/acp',
  'unix:',
  'h h:1',
])('"%s" is none', (text) => {
  expect(() => addressOf(text, '/', false)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
});

test.each([
  ['0.0.0.0:8722', 'https://0.0.0.0:8722'],
  ['box:8722', 'https://box:8722'],
  ['[::]:8722', 'https://[::]:8722'],
  ['8722', 'http://127.0.0.1:8722'],
  ['localhost:8722', 'http://localhost:8722'],
  ['http://box:8722', 'http://box:8722'],
  ['tcp://box:8722', 'tcp://box:8722'],
])('with a certificate, %s is %s', (text, url) => {
  expect(urlOf(addressOf(text, '/', true))).toBe(url);
});

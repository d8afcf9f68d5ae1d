import { isLoopback, ownTokenFile, serveSocket } from '../../src/config/serve-places';
import { Host } from '../../src/system/host';

test('serveSocket is in the folder that ends with the login, if there is one', () => {
  expect(serveSocket(new Host({ HOME: '/home/me', XDG_RUNTIME_DIR: '/run/user/1' }))).toBe(
    '/run/user/1/containai/serve.sock',
  );
});

describe('isLoopback', () => {
  test.each(['127.0.0.1', '127.255.1.2', '::1', '[::1]', 'localhost', 'LOCALHOST'])('is true of %s', (host) =>
    expect(isLoopback(host)).toBe(true),
  );

  test.each([
    ...[
      '0.0.0.0',
      '::',
      '[::]',
      '',
      '10.0.0.1',
      '192.168.1.5',
      '128.0.0.1',
      '1.127.0.0',
      '127.0.0.1.example.com',
    ],
    ...[
      '127.example.com',
      'localhost.example.com',
      'mylocalhost',
      '::2',
      '::ffff:10.0.0.1',
      '0x7f.1',
      '127.1',
      'fe80::1',
    ],
  ])('is false of %s', (host) => expect(isLoopback(host)).toBe(false));
});

test('the token is in the folder of state', () => {
  expect(ownTokenFile(new Host({ HOME: '/home/me' }))).toBe('/home/me/.local/state/containai/serve/token');
});

import { ownTokenFile, serveSocket } from '../../src/config/serve-places';
import { Host } from '../../src/system/host';

test('serveSocket is in the folder that ends with the login, if there is one', () => {
  expect(serveSocket(new Host({ HOME: '/home/me', XDG_RUNTIME_DIR: '/run/user/1' }))).toBe(
    '/run/user/1/containai/serve.sock',
  );
});

test('the token is in the folder of state', () => {
  expect(ownTokenFile(new Host({ HOME: '/home/me' }))).toBe('/home/me/.local/state/containai/serve/token');
});

import type { NetworkInterfaceInfo } from 'node:os';
import { addressOf } from '../../../../src/served/server/listen-address';
import { pageAddress } from '../../../../src/served/server/page/page-address';

const interfaces = [
  { address: '127.0.0.1', family: 'IPv4', internal: true },
  { address: 'fe80::1', family: 'IPv6', internal: false },
  { address: '192.0.2.7', family: 'IPv4', internal: false },
] as NetworkInterfaceInfo[];

test.each([
  [['unix:/run/s', 'tcp://127.0.0.1:1', '127.0.0.1:8722'], [], false, 'http://127.0.0.1:8722'],
  [['https://0.0.0.0:443'], [], false, 'https://192.0.2.7'],
  [['https://[::1]:444'], [], false, 'https://[::1]:444'],
  [['127.0.0.1:8722'], ['agents.example.com'], true, 'https://agents.example.com'],
  [['127.0.0.1:8722'], ['box'], false, 'http://box:8722'],
  [['https://0.0.0.0:8722'], ['box:9000', 'other'], false, 'https://box:9000'],
  [['https://0.0.0.0:8722'], ['[2001:db8::1]'], false, 'https://[2001:db8::1]:8722'],
  [['https://0.0.0.0:8722'], ['[2001:db8::1]:90'], false, 'https://[2001:db8::1]:90'],
  [['unix:/run/s'], ['box'], false, undefined],
])('%j known as %j: %s %s', (listens, hosts, isBehindProxy, expected) => {
  const addresses = listens.map((each) => addressOf(each, '/', false));
  expect(pageAddress(addresses, hosts, isBehindProxy, interfaces)).toBe(expected);
});

test('without a network there is this machine', () => {
  expect(pageAddress([addressOf('https://0.0.0.0:1', '/', false)], [], false, [])).toBe(
    'https://127.0.0.1:1',
  );
});

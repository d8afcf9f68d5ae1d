/** What a container reaches by the rules, and that there is no other way: each engine has to hold it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { registry } from './support';

let place: Place;

beforeAll(async () => {
  place = await new Place().opened();
}, buildTimeoutMs);

test('npm installs a package from the registry by the built-in rules', async () => {
  await place.prints(['sh', '-c', 'npm install --no-audit --no-fund --no-update-notifier --silent ms && node -e "require(\'ms\')"']); // prettier-ignore

  const { stdout } = await place.cai.run(['network', 'log', '--json', '-w', place.workspace]);
  const log = stdout.toString();
  expect(log).toContain(`${registry.hostname}:${registry.port || 443}`);
  expect(log).toContain('built-in rule');
  expect(readFileSync(join(place.workspace, 'node_modules/ms/package.json'), 'utf8')).toContain('"ms"');
});

test('the user is told of a refusal that the program does not explain', async () => {
  const args = place.args(['curl', '-sS', `https://refused.example/`]).filter((word) => word !== '--quiet');

  const { status, stderr } = await place.cai.run(args);

  expect(status).toBe(56);
  expect(stderr).toContain(`cai: refused.example:443 is not allowed from this container: `);
});

/** Name, script, and what that says. */
const ways: readonly [string, string, string][] = [
  [
    'to an address',
    `python3 -c 'import socket; socket.create_connection(("192.0.2.1", 443))'`,
    'Network is unreachable',
  ],
  [
    'to an address of IPv6',
    `python3 -c 'import socket; socket.create_connection(("2001:db8::1", 443))'`,
    // The latter where the container's loopback interface has an address of IPv6.
    'Network is unreachable|Cannot assign requested address',
  ],
  [
    'by UDP',
    `python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))'`,
    'Network is unreachable',
  ],
  ['in Node', `node -e 'require("node:net").connect(443, "192.0.2.1")'`, 'ENETUNREACH'],
  [
    'by a name',
    `python3 -c 'import socket; socket.create_connection(("github.com", 443))'`,
    'Temporary failure in name resolution',
  ],
  ['by a name, in git', 'git ls-remote git://github.com/a/b', 'Temporary failure in name resolution'],
];

test('what does not use the proxy has no network', async () => {
  // What each says, on a line of its own.
  const each = 'for each; do said=$(sh -c "$each" 2>&1) && echo reached || echo $said; done';
  const said = await place.prints(['sh', '-fc', each, 'sh', ...ways.map(([, script]) => script)]);

  const lines = said.split('\n');
  expect(Object.fromEntries(ways.map(([name], index) => [name, lines[index]]))).toEqual(
    Object.fromEntries(ways.map(([name, , shows]) => [name, expect.stringMatching(shows) as string])),
  );
});

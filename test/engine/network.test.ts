/** What programs in a container do with its one way to the network; the table of docs/network.md is what they show. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { authority, debian, givePrograms, programs, trust } from './programs';
import { Services, content, host } from './services';
import { Cai, internalRules, ownFile, registry } from './support';

const services = new Services();
/** Whose rules allow the services. */
let place: Place;

beforeAll(async () => {
  await services.open();
  const allow = JSON.stringify([`${host}:*`, ...internalRules(registry.hostname, debian)]);
  const config = `allow = ${allow}\n[container]\nextra_hosts = ["${host}:127.0.0.1"]\n`;
  place = await new Place(new Cai(config)).opened();
  ownFile(join(place.workspace, authority), services.authority);
  await givePrograms(place, services);
}, buildTimeoutMs);
afterAll(() => services.close());

/** No rule names it. */
const refused = 'refused.example';
const reason = (port: number): string =>
  `${refused}:${port} is not allowed from this container: to allow it, run "cai network allow ${refused}:${port}" on your machine`;

const schemes: Record<number, string> = { 22: 'ssh', 80: 'http', 443: 'https' };

const ssh = 'GIT_SSH_COMMAND=ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null';

/** All that a script shows, and its status. */
async function shownBy(script: string): Promise<string> {
  const variables = [ssh, ...trust.map((name) => `${name}=${place.workspace}/${authority}`)];
  const options = variables.flatMap((each) => ['-e', each]);
  const { status, stdout, stderr } = await place.run(['sh', '-c', script], { options });
  return `${stdout.toString()}${stderr}status ${status}`;
}

/** The rows of the table of docs/network.md: program, and what it shows. */
function documented(): [string, string][] {
  const page = readFileSync(resolve(__dirname, '../../docs/network.md'), 'utf8');
  const [, rows = ''] = /\| Program +\| What it shows[^\n]*\n[^\n]*\n((?:\|[^\n]*\n)+)/.exec(page) ?? [];
  return rows
    .trimEnd()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .map(([, program = '', shows = '']) => [program, shows]);
}

test('the table of the documentation names these programs', () => {
  expect(documented().map(([program]) => program)).toEqual(Object.keys(programs));
});

describe.each(documented())('%s', (program, shows) => {
  const [port, path, script] = programs[program]!;

  test('reaches what is allowed', async () => {
    const url = `${schemes[port]}://${host}:${services.portFor(port)}/${path}`;

    const shown = await shownBy(script(url));

    expect(shown).toContain(content);
    expect(shown).toMatch(/status 0$/);
  });

  test(`shows of a refusal: ${shows}`, async () => {
    const shown = await shownBy(script(`${schemes[port]}://${refused}/${path}`));

    const expected = shows === 'the reason' ? reason(port) : /^`(.*)`$/.exec(shows)![1]!;
    expect(shown).toContain(expected);
    // What does more than that is to be praised for it.
    if (shows !== 'the reason') expect(shown).not.toContain(reason(port));
  });
});

test('the user is told of a refusal that the program does not explain', async () => {
  const args = place.args(['curl', '-sS', `https://${refused}/`]).filter((word) => word !== '--quiet');

  const { status, stderr } = await place.cai.run(args);

  expect(status).toBe(56);
  expect(stderr).toContain(`cai: ${reason(443)}\n`);
});

test('npm installs a package from the registry by the built-in rules', async () => {
  await place.prints(['sh', '-c', 'npm install --no-audit --no-fund --no-update-notifier --silent ms && node -e "require(\'ms\')"']); // prettier-ignore

  const { stdout } = await place.cai.run(['network', 'log', '--json', '-w', place.workspace]);
  const log = stdout.toString();
  expect(log).toContain(`${registry.hostname}:${registry.port || 443}`);
  expect(log).toContain('built-in rule');
  expect(readFileSync(join(place.workspace, 'node_modules/ms/package.json'), 'utf8')).toContain('"ms"');
});

test('options of the user for Java are added to those for the proxy', async () => {
  const options = ['-e', 'JAVA_TOOL_OPTIONS=-Xmx64m', '-e', 'HTTP_PROXY=of-the-user'];

  const said = await place.prints(['printenv', 'JAVA_TOOL_OPTIONS', 'HTTP_PROXY'], { options });

  expect(said).toMatch(/^-Xmx64m -Dhttp\.proxyHost=127\.0\.0\.1 .*\nof-the-user$/);
});

describe('what does not use the proxy', () => {
  test.each([
    [
      'to an address',
      `python3 -c 'import socket; socket.create_connection(("192.0.2.1", 443))'`,
      'Network is unreachable',
    ],
    [
      'to an address of IPv6',
      `python3 -c 'import socket; socket.create_connection(("2001:db8::1", 443))'`,
      // The latter where the container's loopback interface has an address of IPv6.
      /Network is unreachable|Cannot assign requested address/,
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
  ])('has no network: %s', async (_, script, shows) => {
    const shown = await shownBy(script);

    expect(shown).toMatch(shows);
    expect(shown).not.toMatch(/status 0$/);
  });
});

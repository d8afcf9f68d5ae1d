/** What programs in a container do with its one way to the network; the table of docs/network.md is what they show. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { commonHosts } from '../../src/egress/listed-hosts';
import { Place, buildTimeoutMs } from './place';
import { Services, content, host, wheel } from './services';
import { Cai, internalRules, ownFile, registry } from './support';

const debian = commonHosts.find(({ what }) => what === 'Debian')!.rule;

const services = new Services();
/** Whose rules allow the services. */
let place: Place;

beforeAll(async () => {
  await services.open();
  const allow = JSON.stringify([`${host}:*`, ...internalRules(registry.hostname, debian)]);
  const config = `allow = ${allow}\n[container]\nextra_hosts = ["${host}:127.0.0.1"]\n`;
  place = await new Place(new Cai(config)).opened();
  ownFile(join(place.workspace, 'authority.pem'), services.authority);
  await givePip();
}, buildTimeoutMs);
afterAll(() => services.close());

/** pip, of which our image has none, from Debian's packages; and a package for it. */
async function givePip(): Promise<void> {
  const packages = 'python3-pip python3-distutils python3-setuptools python3-wheel';
  const sources = `deb http://${debian}/debian bookworm main`;
  await place.prints(['sh', '-c', `${aptFrom(sources)} && apt-get ${aptOptions} -qq download ${packages} && for each in *.deb; do dpkg -x $each pip; done`]); // prettier-ignore
  const info = `Metadata-Version: 2.1\nName: ${content}\nVersion: 1.0.0\n`;
  const files = { METADATA: info, WHEEL: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n', RECORD: '' }; // prettier-ignore
  const pack = `import zipfile
with zipfile.ZipFile('${wheel}', 'w') as wheel:
    for name, text in ${JSON.stringify(files)}.items(): wheel.writestr('made_up-1.0.0.dist-info/' + name, text)`;
  await place.prints(['python3', '-c', pack]);
  services.files.set(`/${wheel}`, readFileSync(join(place.workspace, wheel)));
}

/** No rule names it. */
const refused = 'refused.example';
const reason = (port: number): string =>
  `${refused}:${port} is not allowed from this container: to allow it, run "cai network allow ${refused}:${port}" on your machine`;

const aptOptions =
  '-o Dir::Etc::SourceList=$PWD/sources -o Dir::Etc::SourceParts=/dev/null -o Dir::State=$PWD/apt -o Dir::Cache=$PWD/apt';
const aptFrom = (sources: string): string =>
  `mkdir -p apt/lists/partial apt/archives/partial && echo "${sources}" > sources && apt-get ${aptOptions} -qq -o APT::Update::Error-Mode=any update`;
const apt = (url: string): string => `${aptFrom(`deb [trusted=yes] ${url} ./`)} && cat apt/lists/*Packages`;
const pip = (url: string): string =>
  `PYTHONPATH=pip/usr/lib/python3/dist-packages:pip/usr/lib/python3.11 python3 -m pip download --retries 1 --no-deps --index-url ${url} ${content}`;
const fetches = (url: string): string =>
  `node -e 'fetch("${url}").then((answer) => answer.text()).then(console.log)'`;
const gets = (url: string): string =>
  `node -e 'require("node:https").get("${url}", (answer) => answer.pipe(process.stdout))'`;
const urlopen = (url: string): string =>
  `python3 -c 'import urllib.request; print(urllib.request.urlopen("${url}").read())'`;

/** Programs as the table names them: the port that is usual, where they find the same at our own services, and a script. */
const programs: Record<string, [port: number, path: string, script: (url: string) => string]> = {
  'curl, by HTTPS': [443, 'content', (url) => `curl -sS ${url}`],
  'curl, by HTTP': [80, 'content', (url) => `curl -sS ${url}`],
  'git, by HTTPS': [443, 'repository.git', (url) => `git ls-remote ${url}`],
  'git, by HTTP': [80, 'repository.git', (url) => `git ls-remote ${url}`],
  'git, by SSH': [22, 'repository.git', (url) => `git ls-remote ${url}`],
  npm: [443, 'registry', (url) => `npm view --registry ${url} ${content} description`],
  pip: [443, 'pypi', pip],
  "Python's urllib": [443, 'content', urlopen],
  "Node's fetch": [443, 'content', fetches],
  "Node's https": [443, 'content', gets],
  'apt-get': [80, 'debian', apt],
};
const schemes: Record<number, string> = { 22: 'ssh', 80: 'http', 443: 'https' };

/** By which programs trust the authority of the services. */
const trust = [
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_FILE',
];
const ssh = 'GIT_SSH_COMMAND=ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null';

/** All that a script shows, and its status. */
async function shownBy(script: string): Promise<string> {
  const variables = [ssh, ...trust.map((name) => `${name}=${place.workspace}/authority.pem`)];
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

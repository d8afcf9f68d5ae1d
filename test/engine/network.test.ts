/** What programs in a container do with its one way to the network; the table of docs/network.md is what they show. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { isNightly } from '../support/nightly';
import { authority, debian, givePrograms, isGiven, programs, trust } from './programs';
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
  await givePrograms(place, services, isNightly);
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

/** Those that our image has, and nightly all; where commands enter by the engine's API, one: the connection is the same. */
const usual = documented().filter(([program]) => !isGiven(program));
const tried = isNightly ? documented() : process.env.CAI_WAY_IN === 'exec' ? usual.slice(0, 1) : usual;

test('the table of the documentation names these programs', () => {
  expect(documented().map(([program]) => program)).toEqual(Object.keys(programs));
});

describe.each(tried)('%s', (program, shows) => {
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

test('options of the user for Java are added to those for the proxy', async () => {
  const options = ['-e', 'JAVA_TOOL_OPTIONS=-Xmx64m', '-e', 'HTTP_PROXY=of-the-user'];

  const said = await place.prints(['printenv', 'JAVA_TOOL_OPTIONS', 'HTTP_PROXY'], { options });

  expect(said).toMatch(/^-Xmx64m -Dhttp\.proxyHost=127\.0\.0\.1 .*\nof-the-user$/);
});

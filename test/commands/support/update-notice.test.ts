import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, utimesSync, watch, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { version } from '../../../package.json';
import { wantsNotice } from '../../../src/commands/support/update-notice';
import { Host } from '../../../src/system/host';
import { certificate } from '../../support/certificate';
import { runCli, runInTerminal, userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { elsewhere } from '../../support/elsewhere';
import { newFolder } from '../../support/temp-folder';

const newer = '98.10.0';
const notice = `cai: version ${newer} is out, this is ${version}: run "cai update"`;

const latest: RequestListener = (_request, response) =>
  void response.end(JSON.stringify({ name: 'containai', version: newer }));
/** npm's registry, as far as it is asked. */
let registry: Server;
let asked: string[] = [];
/** A folder with what gives a program a terminal, and nothing else. */
const programs = newFolder();
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  symlinkSync(execFileSync('which', ['script'], { encoding: 'utf8' }).trim(), join(programs, 'script'));
  registry = createServer((request, response) => {
    asked.push(request.url!);
    latest(request, response);
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  env = {
    CAI_NO_UPDATE_CHECK: '',
    // Who has a single file may have no npm.
    PATH: programs,
    npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
  };
});

afterAll(() => void registry.close());

function newUser(more: NodeJS.ProcessEnv = {}) {
  asked = [];
  const user = userWith('', { ...env, ...more });
  const folder = join(user.cwd!, '.local/state/containai');
  mkdirSync(folder, { recursive: true });
  return { user, folder, file: join(folder, 'newest-version') };
}

/** Resolves when the file has something in it. */
async function filled(folder: string, file: string): Promise<void> {
  const watcher = watch(folder);
  try {
    while (!existsSync(file) || readFileSync(file, 'utf8') === '') await once(watcher, 'change');
  } finally {
    watcher.close();
  }
}

test('the registry is asked behind the first command, and what it says is told once, after the next', async () => {
  const { user, folder, file } = newUser();

  const first = await runInTerminal(['config'], user);
  await filled(folder, file);
  const second = await runInTerminal(['config'], user);
  const third = await runInTerminal(['config'], user);

  expect(asked).toEqual(['/containai/latest']);
  expect([first, second, third].map(({ status }) => status)).toEqual([0, 0, 0]);
  expect(second.stdout).toBe(`${third.stdout}${notice}\r\n`);
  expect(first.stdout).toBe(third.stdout);
});

test('the registry is asked again after a day', async () => {
  const { user, folder, file } = newUser();
  writeFileSync(file, '');
  utimesSync(file, new Date(), new Date(Date.now() - 25 * 60 * 60 * 1000));

  await runInTerminal(['config'], user);
  await filled(folder, file);

  expect(asked).toEqual(['/containai/latest']);
});

test('the registry is asked by the proxy and the certificates of the configuration', async () => {
  const made = certificate('registry.npmjs.org');
  const ca = join(newFolder(), 'ca.pem');
  writeFileSync(ca, made.cert);
  const { network, asked: places } = await elsewhere(made, latest);
  const config = `[network]\nhttps_proxy = "${network.httpsProxy}"\nca_file = "${ca}"\n`;
  const user = userWith(config);

  const { status } = await runHere(['newest-version'], user);

  expect(status).toBe(0);
  expect(places).toEqual([expect.stringMatching(/^registry\.npmjs\.org:443 /)]);
  expect(readFileSync(join(user.cwd!, '.local/state/containai/newest-version'), 'utf8')).toBe(newer);
});

test('the registry that the configuration names is asked', async () => {
  const user = userWith(`[network]\nnpm_registry = "${env.npm_config_registry}npm"\n`);
  asked = [];

  const { status } = await runHere(['newest-version'], user);

  expect(status).toBe(0);
  expect(asked).toEqual(['/npm/containai/latest']);
});

test.each([version, '0.0.9', 'evil\u001b[2J', '99.0.0-rc.1'])('nothing is said of %j', async (answer) => {
  const { user, file } = newUser();
  writeFileSync(file, answer);

  expect((await runInTerminal(['config'], user)).stdout).not.toContain('cai update');
});

test.each([
  ['without a registry', { npm_config_registry: 'http://127.0.0.1:9/' }],
  ['without a folder for the state', { XDG_STATE_HOME: '/dev/null' }],
])('a command works %s', async (_, more) => {
  const { user } = newUser(more);

  const { status, stdout } = await runInTerminal(['agents', 'show', 'claude'], user);

  expect(stdout).not.toMatch(/newest|ENOENT|ENOTDIR/);
  expect(status).toBe(0);
});

test.each([
  ['speaks ACP', ['--acp', 'nobody'], {}],
  ['prints help', ['config', '--help'], {}],
  ['prints the version', ['--version'], {}],
  ['runs in CI', ['config'], { CI: 'true' }],
  ['runs for somebody who wants no check', ['config'], { CAI_NO_UPDATE_CHECK: '1' }],
])('no look for a program that %s', async (_, args, more) => {
  const { user, file } = newUser(more);

  await runInTerminal(args, user);

  expect(existsSync(file)).toBe(false);
});

test('no look where stderr is not a terminal', async () => {
  const { user, file } = newUser();

  await runCli(['config'], user);

  expect(existsSync(file)).toBe(false);
});

describe('in a terminal', () => {
  const before = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
  beforeAll(() => void Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true }));
  afterAll(() => void Object.defineProperty(process.stderr, 'isTTY', before ?? { value: undefined }));

  test.each([
    ['exec', ['--quiet', '--', 'true'], false],
    ['exec', ['--', 'true'], true],
    ['serve', [], false],
    ['connect', [], false],
    // It would make the folder again that this has removed.
    ['uninstall', [], false],
    ['terminal', ['token'], false],
    ['ps', [], true],
    ['ps', ['--json'], false],
  ])('cai %s %j: %s', (command, args, wanted) => {
    expect(wantsNotice(command, args, new Host({}))).toBe(wanted);
  });
});

/** What `npm run pack:all` makes, installed without a network by a user who is not root, in folders that were empty. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { version } from '../../package.json';
import { runCli, userWith, type CliOptions } from '../support/cli';
import { newFolder } from '../support/temp-folder';
import { turn } from './turn';

const root = resolve(__dirname, '../..');
const release = newFolder();
const archive = join(release, `containai-${version}.tgz`);
const installer = join(release, 'install.sh');
const prefix = newFolder();
const home = newFolder();
const agent = join(root, 'fixtures/mock-acp-server');
const env = {
  PATH: process.env.PATH,
  HOME: home,
  npm_config_prefix: prefix,
  CAI_ACP_TEST_MODE: '1',
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
};
const npm = (...args: string[]): string => execFileSync('npm', args, { env, cwd: home, encoding: 'utf8' });
/** Runs the installed program. */
const run = (args: readonly string[], options: CliOptions = {}) =>
  runCli(args, { ...options, program: join(prefix, 'bin/cai') });

beforeAll(() => {
  // An earlier build may have left files of other names.
  mkdirSync(join(root, 'dist/left'), { recursive: true });
  for (const name of ['left/left.js', 'page/left.js', 'left.js']) writeFileSync(join(root, 'dist', name), '');
  execFileSync(process.execPath, [join(root, '.config/build.mjs')]);
  const pack = join(root, '.config/release/pack.mjs');
  execFileSync(process.execPath, [pack, release, '--url', 'https://example.org/v1']);
  npm('install', '--global', '--silent', archive);
});

describe('the package', () => {
  test('has these files, which are at most 8 MB', () => {
    const folder = join(prefix, 'lib/node_modules/containai');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) =>
      statSync(join(folder, each)).isFile(),
    );
    const bytes = files.reduce((sum, each) => sum + statSync(join(folder, each)).size, 0);
    const inSource = files.filter((each) => /^(src|deploy)\//.test(each));

    expect(files.filter((each) => !inSource.includes(each)).sort()).toEqual([
      'Dockerfile',
      'LICENSE',
      'README.md',
      ...['bin/cai', 'bin/cai-cursor', 'dist/LICENCES.txt'],
      ...['acp/acp', 'acp/agent-on-terminal', 'acp/connection', 'commands'].map(
        (each) => `dist/commands/${each}.js`,
      ),
      'dist/cursor/main.js',
      ...[
        'LICENSE.txt',
        'devcontainer.js',
        'dist/spec-node/devContainersSpecCLI.js',
        'package.json',
        'scripts/updateUID.Dockerfile',
      ].map((each) => `dist/devcontainers-cli/${each}`),
      ...['connect.d.ts', 'index.d.ts', 'index.js', 'message.d.ts'].map((each) => `dist/embed/${each}`),
      ...['dist/errors.d.ts', 'dist/main.js'],
      ...['app.js', 'index.html', 'inspect-style.css', 'inspect.html', 'inspect.js', 'style.css'].map(
        (each) => `dist/page/${each}`,
      ),
      ...['man/cai.1', 'package.json'],
    ]);
    expect(inSource.length).toBeLessThan(40);
    expect(bytes).toBeLessThan(8_000_000);
  });

  test('needs no other package, and runs nothing when it is installed', () => {
    const { dependencies } = JSON.parse(npm('ls', '--global', '--all', '--json')) as { dependencies: object };
    const packed = JSON.parse(
      readFileSync(join(prefix, 'lib/node_modules/containai/package.json'), 'utf8'),
    ) as object;

    expect(dependencies).toEqual({ containai: { version, overridden: false } });
    for (const key of ['dependencies', 'optionalDependencies', 'scripts', 'private'])
      expect(packed).not.toHaveProperty(key);
  });

  test('has the licence of everything in its bundles', () => {
    const licences = readFileSync(join(prefix, 'lib/node_modules/containai/dist/LICENCES.txt'), 'utf8');

    for (const name of ['@devcontainers/cli', 'commander', 'dockerode', 'node-forge', 'pino', 'ssh2', 'ws'])
      expect(licences).toMatch(new RegExp(`^===== ${name} \\d+\\.\\d+\\.\\d+ \\(.+\\) =====\n\n\\S`, 'm'));
    expect(licences).not.toContain('(undefined)');
  });

  test('tells its version and its help', async () => {
    expect(await run(['--version'])).toEqual({ status: 0, stdout: `cai ${version}\n`, stderr: '' });
    expect((await run(['exec', '--help'])).stdout).toMatch(/^Usage: cai exec /);
  });

  test('keeps what V8 has compiled for the next start', async () => {
    const cache = join(prefix, 'lib/node_modules/containai/dist/main.js.cache');
    rmSync(cache, { force: true });

    await run(['--version']);
    const { ino } = statSync(cache);
    await run(['--version']);

    expect(statSync(cache).ino).toBe(ino);
  });

  test('is loaded by the formula of Homebrew from the address that was given', () => {
    expect(readFileSync(join(release, 'containai.rb'), 'utf8')).toContain(
      `  homepage "https://example.org/v1/"\n  url "https://example.org/v1/containai-${version}.tgz"\n`,
    );
  });

  test('has a manual page, with the help of every command', () => {
    const page = join(prefix, 'share/man/man1/cai.1');
    const help = execFileSync(join(prefix, 'bin/cai'), ['network', '--help'], { env, encoding: 'utf8' });
    const man = spawnSync('man', ['--warnings', '--local-file', '--pager=cat', page], {
      env: { ...env, MANWIDTH: '130', LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
    });
    if (man.error !== undefined) {
      process.stderr.write(`the manual page is not checked: ${man.error.message}\n`);
      return;
    }

    expect(man.stderr).toBe('');
    expect(man.stdout).toMatch(/^NAME\n +cai - run coding agents/m);
    expect(man.stdout.replaceAll(/^ {7}/gm, '')).toContain(help.trim());
  });

  test('finds no fault in itself', async () => {
    const options = userWith('', { DOCKER_HOST: 'unix:///no/such/engine.sock' });

    const { stdout, stderr } = await run(['doctor', '--json'], options);

    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] };
    expect(stderr).toBe('');
    expect(checks.filter(({ status }) => status === 'fail').map(({ name }) => name)).toEqual(['engine']);
  });

  test('has an agent talk to an editor', async () => {
    expect(await turn([join(prefix, 'bin/cai'), '--acp', agent], env)).toBe('echo: hello');
  });

  test('is started by npx', async () => {
    expect(await turn(['npx', '--yes', `--package=${archive}`, 'containai', '--acp', agent], env)).toBe(
      'echo: hello',
    );
  });

  test("writes npx into an editor's settings where npx has started it, whose copy goes", () => {
    const args = ['--yes', `--package=${archive}`, 'containai', 'setup', 'zed', '--print'];

    const { stdout, stderr } = spawnSync('npx', args, { env, cwd: home, encoding: 'utf8' });

    const { agent_servers: servers } = JSON.parse(stdout) as { agent_servers: object };
    expect(Object.values(servers)).toEqual([
      {
        type: 'custom',
        command: expect.stringMatching(/^\/.*\/npx$/) as string,
        args: ['--yes', `containai@${version}`, '--acp', 'claude'],
      },
    ]);
    expect(stderr).toContain('run "npm install --global containai"');
  });

  test('is an entry for other programs', () => {
    const program = join(prefix, 'lib/program.mjs');
    writeFileSync(program, "import { connect } from 'containai'; console.log(typeof connect);");

    expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe('function\n');
  });

  test('is updated by npm, where it is', async () => {
    const latest = { name: 'containai', version: '99.0.0', bin: { cai: 'bin/cai' } };
    const registry = createServer(({ url, headers }, response) => {
      if (url!.endsWith('.tgz')) return void response.end(newArchive);
      const dist = { tarball: `http://${headers.host}/containai.tgz` };
      const versions = { [latest.version]: { ...latest, dist } };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ name: latest.name, 'dist-tags': { latest: latest.version }, versions }));
    }).listen(0, '127.0.0.1');
    const folder = newFolder();
    mkdirSync(join(folder, 'package/bin'), { recursive: true });
    writeFileSync(join(folder, 'package/package.json'), JSON.stringify(latest));
    writeFileSync(join(folder, 'package/bin/cai'), '#!/bin/sh\necho newer\n', { mode: 0o755 });
    const newArchive = execFileSync('tar', ['-cz', '-C', folder, 'package']);
    const other = newFolder();
    npm('install', '--global', '--silent', '--prefix', other, archive);
    try {
      await once(registry, 'listening');
      const address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
      const online = { ...env, npm_config_offline: 'false', npm_config_registry: address };
      const { status } = await runCli(['update'], { env: online, program: join(other, 'bin/cai') });

      expect(status).toBe(0);
      expect(execFileSync(join(other, 'bin/cai'), { encoding: 'utf8' })).toBe('newer\n');
    } finally {
      registry.close();
    }
  });

  test('serves agents, with the page for browsers', async () => {
    const options = userWith('', { CAI_ACP_TEST_MODE: '1' });
    const args = ['serve', '--agent', agent, '--listen', '127.0.0.1:0'];
    const server = spawn(join(prefix, 'bin/cai'), args, {
      ...{ cwd: options.cwd, env: { PATH: process.env.PATH, ...options.env } },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [url] = (await once(createInterface(server.stdout), 'line')) as [string];
      expect(await (await fetch(`${url}/`)).text()).toContain('<!doctype html>');
    } finally {
      server.kill();
      await once(server, 'close');
    }
  });
});

describe('install.sh', () => {
  const target = newFolder();
  const installed = join(target, 'bin/cai');
  const install = (variables: NodeJS.ProcessEnv = {}, file = installer): string =>
    execFileSync('sh', [file], {
      env: { ...env, CAI_PREFIX: target, ...variables },
      encoding: 'utf8',
      stdio: 'pipe',
    });

  test('installs the package, and says what PATH needs', () => {
    expect(install()).toBe(
      [
        `cai ${version} is in ${target}/bin`,
        'That folder is not on your PATH. Add this line to ~/.profile, and sign in again:',
        `export PATH="${target}/bin:$PATH"`,
        '',
      ].join('\n'),
    );
    expect(readlinkSync(installed)).toBe('../lib/containai/bin/cai');
  });

  test('updates what is there', async () => {
    writeFileSync(join(target, 'lib/containai/old'), '');

    expect(install({ PATH: `${target}/bin:${process.env.PATH}` })).toBe(
      `cai ${version} is in ${target}/bin\n`,
    );
    expect(readdirSync(join(target, 'lib/containai'))).not.toContain('old');
    expect(readdirSync(join(target, 'lib'))).toEqual(['containai']);
    expect(readFileSync(join(target, 'share/man/man1/cai.1'), 'utf8')).toMatch(/^\.TH CAI 1/);
    expect(await turn([installed, '--acp', agent], env)).toBe('echo: hello');
  });

  test('leaves what is there when its download was cut off', () => {
    const partial = join(newFolder(), 'install.sh');
    writeFileSync(partial, readFileSync(installer).subarray(0, 1_000_000));

    expect(() => install({}, partial)).toThrow(/Unexpected EOF|unexpected end/);
    expect(execFileSync(installed, ['--version'], { encoding: 'utf8' })).toBe(`cai ${version}\n`);
  });

  test('says which Node is needed', () => {
    const old = join(newFolder(), 'node');
    writeFileSync(old, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const nowhere = join(newFolder(), 'nowhere');

    expect(() => install({ PATH: `${dirname(old)}:${process.env.PATH}`, CAI_PREFIX: nowhere })).toThrow(
      'cai needs Node 20.19 or newer',
    );
    expect(() => statSync(nowhere)).toThrow('ENOENT');
  });
});

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { ArchiveTarget } from '../../../src/agent/registry/entry';
import type { Installation } from '../../../src/agent/registry/installation';
import { ProcessLocks } from '../../../src/system/process-lock';
import { registryAgentFiles, type RegistryAgentFiles } from '../../../src/container/image/registry-agent';
import type { Progress } from '../../../src/container/image/progress';
import { expectedError } from '../../expected-error';
import { certificate } from '../../support/certificate';
import { elsewhere } from '../../support/elsewhere';
import { newFolder } from '../../support/temp-folder';

const installer = join(__dirname, '../../../src/container/image/registry-agent.sh');
const npmInstaller = join(__dirname, '../../../src/container/image/npm-install.cjs');
const made = certificate('example.com');
const quiet: Progress = { begin: none, say: none, report: none, end: none };
const program = '#!/bin/sh\necho "$0|$A_B|$*"\n';
let state: string;

beforeEach(() => (state = newFolder()));

function none(): void {
  // Nobody reads it.
}

type Listener = (from: IncomingMessage, to: ServerResponse) => unknown;
type Entry = Readonly<{ name: string; mode?: number; type?: 'file' | 'symlink' | 'fifo'; linkname?: string }>;

/** A tar archive of these, with that text in files. */
async function tar(entries: readonly Entry[], text = program): Promise<Buffer> {
  const archive = pack();
  for (const entry of entries) archive.entry({ mode: 0o755, ...entry }, entry.type ? '' : text);
  archive.finalize();
  return await buffer(archive);
}

function ofArchive(changes: Partial<ArchiveTarget> = {}, env: Record<string, string> = {}): Installation {
  const target = { archive: 'https://example.com/agent.tar.gz', cmd: 'agent', args: [], env: {}, ...changes };
  return { program: 'some', what: 'x', env, from: { kind: 'archive', targets: { x86_64: target } } };
}

/** What the build gets, from a server that gives this. */
async function files(
  installation: Installation,
  answer: Buffer | Listener = Buffer.alloc(0),
  architecture = 'amd64',
) {
  const listener: Listener = typeof answer === 'function' ? answer : (_from, to) => to.end(answer);
  const { network } = await elsewhere(made, listener);
  const caFile = join(newFolder(), 'ca.pem');
  writeFileSync(caFile, made.cert);
  const surroundings = { network: { ...network, caFile }, stateFolder: state, architecture, progress: quiet };
  return await registryAgentFiles(installation, surroundings);
}

/** Runs the step of the build, in folders of this machine; npm gets no network. */
function install({ texts, files: copies, discard }: RegistryAgentFiles) {
  const [build, agent] = [newFolder(), join(newFolder(), 'agent')];
  for (const [name, text] of Object.entries(texts)) writeIn(join(build, name.replace('registry/', '')), text);
  for (const [name, file] of Object.entries(copies))
    writeIn(join(build, name.replace('registry/', '')), readFileSync(file));
  discard();
  copyFileSync(npmInstaller, join(build, 'npm-install.cjs'));
  const env = {
    PATH: process.env.PATH,
    HOME: build,
    CAI_BUILD: build,
    CAI_AGENT: agent,
    npm_config_offline: 'true',
  };
  const { status, stderr } = spawnSync('sh', [installer], { env, encoding: 'utf8' });
  const run = (...args: readonly string[]) =>
    spawnSync(join(agent, 'bin/some'), args, { env: { PATH: process.env.PATH }, encoding: 'utf8' }).stdout;
  return { status, stderr, agent, run };
}

function writeIn(file: string, content: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

describe('registryAgentFiles', () => {
  test('fetches the archive for the processor of the image, and leaves nothing of it behind', async () => {
    const { files: copies, texts, discard } = await files(ofArchive(), Buffer.from('an archive'));

    expect(readFileSync(copies['registry/archive']!, 'utf8')).toBe('an archive');
    expect(texts['registry/settings']).toContain("format='tar.gz'\n");
    discard();
    expect(readdirSync(join(state, 'archives'))).toEqual([]);
  });

  test('removes what a build that was ended has left, and nothing of one that may run', async () => {
    const [left, inUse] = ['download-1', 'download-2'].map((name) =>
      join(state, 'archives', name, 'archive'),
    );
    for (const file of [left!, inUse!]) writeIn(file, '');
    utimesSync(dirname(left!), 0, 0);

    (await files(ofArchive())).discard();
    expect(readdirSync(join(state, 'archives'))).toEqual(['download-2']);
  });

  test('fails for a processor that the registry has no archive for', async () => {
    await expect(files(ofArchive(), undefined, 'arm64')).rejects.toMatchObject(
      expectedError('IMAGE', 'the registry of agents has nothing of it for arm64'),
    );
  });

  test('takes an archive with the digest that the registry tells, and no other', async () => {
    const sha256 = createHash('sha256').update('good').digest('hex');

    (await files(ofArchive({ sha256 }), Buffer.from('good'))).discard();
    await expect(files(ofArchive({ sha256 }), Buffer.from('evil'))).rejects.toMatchObject(
      expectedError(
        'IMAGE',
        new RegExp(`than the one that the registry tells \\(${sha256}\\), so it is not`),
      ),
    );
    expect(readdirSync(join(state, 'archives'))).toEqual([]);
  });

  test('compares with what another process has noted meanwhile', async () => {
    const lock = new ProcessLocks(join(state, 'builds')).tryTake('archive-digests')!;
    const fetched = files(ofArchive(), (_from, to) => {
      to.end('late', () => {
        const noted = { 'https://example.com/agent.tar.gz': 'the first' };
        writeIn(join(state, 'archive-digests.json'), JSON.stringify(noted));
        lock.release();
      });
    });

    await expect(fetched).rejects.toMatchObject(expectedError('IMAGE', /that it had before \(the first\)/));
  });

  test('takes what it gets first where the registry tells no digest, and then nothing else from there', async () => {
    (await files(ofArchive(), Buffer.from('first'))).discard();
    (await files(ofArchive(), Buffer.from('first'))).discard();
    (await files(ofArchive({ archive: 'https://example.com/other.zip' }), Buffer.from('other'))).discard();

    await expect(files(ofArchive(), Buffer.from('evil'))).rejects.toMatchObject(
      expectedError('IMAGE', /than the one that it had before .*remove the line .*archive-digests\.json/),
    );
  });

  test.each<[string, Listener, RegExp]>([
    ['is not there', (_from, to) => to.writeHead(404).end(), /status 404/],
    [
      'breaks off',
      (from, to) => void to.writeHead(200, { 'content-length': 9 }).write('x', () => from.destroy()),
      /cannot be fetched/,
    ],
    [
      'is on this machine',
      (_from, to) => to.writeHead(302, { location: 'https://127.0.0.1:1/x' }).end(),
      /this machine/,
    ],
  ])('fails for an archive that %s', async (_, answer, why) => {
    await expect(files(ofArchive(), answer)).rejects.toMatchObject(expectedError('IMAGE', why));
    expect(readdirSync(join(state, 'archives'))).toEqual([]);
  });
});

describe('the step of the build', () => {
  test('unpacks a .tar.gz, and starts its program with the variables and arguments of the registry', async () => {
    const archive = gzipSync(
      await tar([{ name: 'dist/agent' }, { name: 'dist/link', type: 'symlink', linkname: 'agent' }]),
    );

    const { status, stderr, run } = install(
      await files(ofArchive({ cmd: 'dist/agent' }, { A_B: `it's "$HOME"` }), archive),
    );

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(run('acp', 'a b')).toMatch(/\/agent\/files\/dist\/agent\|it's "\$HOME"\|acp a b\n$/);
  });

  test.each([
    ['agent.tar.bz2', ['tar', '-cjf', 'out', 'agent']],
    ['agent.zip', ['python3', '-m', 'zipfile', '-c', 'out', 'agent']],
    ['agent-linux-x64', ['cp', 'agent', 'out']],
  ] as const)('unpacks %s', async (name, [command, ...args]) => {
    const folder = newFolder();
    writeFileSync(join(folder, 'agent'), program);
    spawnSync(command, args, { cwd: folder });
    const archive = readFileSync(join(folder, 'out'));

    const { stderr, run } = install(
      await files(ofArchive({ archive: `https://example.com/v1/${name}?x` }), archive),
    );

    expect(stderr).toBe('');
    expect(run('acp')).toMatch(/\/agent\|\|acp\n$/);
  });

  test.each<[string, readonly Entry[], RegExp]>([
    ['a path that leads out', [{ name: '../../evil' }, { name: 'agent' }], /a path that leads out/],
    ['an absolute path', [{ name: '/tmp/cai-evil' }, { name: 'agent' }], /a path that leads out/],
    [
      'a link that leads out',
      [{ name: 'agent', type: 'symlink', linkname: '/bin/sh' }],
      /a link that leads out/,
    ],
    [
      'a file behind a link',
      [{ name: 'x', type: 'symlink', linkname: '..' }, { name: 'x/evil' }, { name: 'agent' }],
      /leads out|Cannot open|not a directory|Not a directory/,
    ],
    ['more than files', [{ name: 'agent' }, { name: 'pipe', type: 'fifo' }], /more than files and links/],
    ['no program', [{ name: 'other' }], /has no program agent/],
  ])('refuses an archive with %s', async (_, entries, why) => {
    const { status, stderr, agent } = install(await files(ofArchive(), gzipSync(await tar(entries))));

    expect(status).not.toBe(0);
    expect(stderr).toMatch(why);
    for (const place of [
      join(agent, 'evil'),
      join(dirname(agent), 'evil'),
      '/tmp/cai-evil',
      join(agent, 'bin/some'),
    ])
      expect(existsSync(place)).toBe(false);
  });

  test('takes away rights that a program in an image must not have', async () => {
    const archive = gzipSync(await tar([{ name: 'agent', mode: 0o6777 }]));

    const { agent } = install(await files(ofArchive(), archive));

    expect(spawnSync('stat', ['-c', '%a', join(agent, 'files/agent')], { encoding: 'utf8' }).stdout).toBe(
      '755\n',
    );
  });

  test.each([
    ['the only program', { other: 'cli.js' }, undefined],
    ['the program of several that is called like it', { agent: 'cli.js', other: 'no.js' }, undefined],
    ['the program that the registry names', { agent: 'no.js', other: 'cli.js' }, 'other'],
    ['the program of a package that has one without a name', 'cli.js', undefined],
  ] as const)('starts of an npm package %s', async (_, bin, cmd) => {
    const about = { name: '@some/agent', version: '1.0.0', bin };
    const archive = pack();
    archive.entry({ name: 'package/package.json' }, JSON.stringify(about));
    for (const name of ['cli.js', 'no.js'])
      archive.entry(
        { name: `package/${name}` },
        `#!/usr/bin/env node\nconsole.log('${name}', process.argv.slice(2).join())\n`,
      );
    archive.finalize();
    const spec = join(newFolder(), 'some-agent-1.0.0.tgz');
    writeFileSync(spec, gzipSync(await buffer(archive)));
    const from = { kind: 'npm', spec, name: '@some/agent', ...(cmd !== undefined && { cmd }) } as const;

    const { stderr, run, agent } = install(await files({ program: 'some', what: 'x', env: {}, from }));

    expect(stderr).toBe('');
    expect(run('--acp')).toBe('cli.js --acp\n');
    expect(readdirSync(join(agent, 'bin'))).toEqual(['some']);
  });
});

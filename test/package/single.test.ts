/** The single file of this machine's kind, for a user who has neither Node nor npm; those for macOS, which cannot run here. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { version } from '../../package.json';
import { userWith } from '../support/cli';
import { tried } from '../support/nightly';
import { newFolder } from '../support/temp-folder';
import { turn } from './turn';

const root = resolve(__dirname, '../..');
const release = newFolder();
const single = join(release, `cai-linux-${process.arch}`);
const programs = newFolder();
const [git] = execFileSync('which', ['git'], { encoding: 'utf8' }).split('\n') as [string];
symlinkSync(git, join(programs, 'git'));
const agent = JSON.stringify([process.execPath, join(root, 'fixtures/mock-acp-server'), '--acp']);
const user = userWith(`[agents.mock]\ncommand = ${agent}\n`);
const env = { ...user.env, PATH: programs };
const cache = join(user.cwd!, '.cache/containai');
const run = (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
  spawnSync(single, args, { env: { ...env, ...more }, encoding: 'utf8' });

/** The kinds of macOS; a file takes 10 s. */
const macs = tried<'arm64' | 'x64'>(['arm64'], ['x64']);

beforeAll(() => {
  const pack = join(root, '.config/release/pack.mjs');
  const targets = [`linux-${process.arch}`, ...macs.map((arch) => `macos-${arch}`)];
  execFileSync(process.execPath, [pack, release, ...targets], { stdio: 'ignore' });
});

test('runs at once by several processes', async () => {
  const starts = [1, 2, 3].map(() => promisify(execFile)(single, ['--version'], { env }));
  const results = await Promise.all(starts);

  expect(results).toEqual(starts.map(() => ({ stdout: `cai ${version}\n`, stderr: '' })));
  expect(readdirSync(cache)).toHaveLength(1);
});

test('is the whole command for an editor', async () => {
  const { stdout } = run(['setup', 'zed', '--print', '--agent', 'mock']);
  const [entry] = Object.values((JSON.parse(stdout) as { agent_servers: object }).agent_servers) as object[];

  expect(entry).toMatchObject({ command: single, args: ['--acp', 'mock'] });
  expect(await turn([single, '--acp', 'mock'], env)).toBe('echo: hello');
});

test('is Node for a script of an earlier version, whose place is its own', () => {
  expect(run([join(cache, 'earlier/bin/cai'), '--version']).stdout).toBe(`cai ${version}\n`);
});

test('says what to do where it cannot unpack itself', () => {
  const file = join(newFolder(), 'file');
  writeFileSync(file, '');

  const { status, stderr } = run(['--version'], { XDG_CACHE_HOME: file });

  expect(stderr).toMatch(
    /^cai: .* cannot be made: ENOTDIR.*: set XDG_CACHE_HOME to a folder that you can write\n$/,
  );
  expect(status).toBe(1);
});

test('has the licence of Node in it', () => {
  const [id] = readdirSync(cache) as [string];

  expect(readFileSync(join(cache, id, 'NODE_LICENCE'), 'utf8')).toContain(
    'Node.js is licensed for use as follows',
  );
});

/** Source: `mach-o/loader.h` and `mach/machine.h` of macOS. */
const machO = { magic: 0xfeedfacf, x64: 0x01000007, arm64: 0x0100000c, segment: 0x19, signature: 0x1d };

test.each(macs)('for macOS on %s is a program with the package in it', (arch) => {
  const file = readFileSync(join(release, `cai-macos-${arch}`));
  const word = (at: number): number => file.readUInt32LE(at);
  const commands: { readonly kind: number; readonly segment: string; readonly at: number }[] = [];
  for (let at = 32; commands.length < word(16); at += word(at + 4)) {
    const segment = file.toString('latin1', at + 8, at + 24).replace(/\0.*/s, '');
    commands.push({ kind: word(at), segment, at });
  }
  const { at } = commands.find(({ kind, segment }) => kind === machO.segment && segment === 'NODE_SEA')!;
  const [offset, length] = [40, 48].map((place) => Number(file.readBigUInt64LE(at + place))) as [
    number,
    number,
  ];
  const content = file.subarray(offset, offset + length);

  expect([word(0), word(4)]).toEqual([machO.magic, machO[arch]]);
  expect(content.includes(readFileSync(resolve(root, 'bin/cai')))).toBe(true);
  expect(file.includes('NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1')).toBe(true);
  expect(commands.some(({ kind }) => kind === machO.signature)).toBe(false);
});

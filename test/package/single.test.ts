/** The single file of this machine's kind, for a user who has neither Node nor npm. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { version } from '../../package.json';
import { userWith } from '../support/cli';
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

beforeAll(() => {
  const pack = join(root, '.config/release/pack.mjs');
  execFileSync(process.execPath, [pack, release, process.arch], { stdio: 'ignore' });
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

/** A workspace that the cluster has no folder of: agents work in a copy, and their work is brought back. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inNamespace } from '../engine/cluster';
import { provideImages } from '../engine/model';
import { buildTimeoutMs } from '../engine/place';
import { Cai, newWorkspace, ownFile, user } from '../engine/support';
import { patienceMs } from '../support/patience';

const binary = Buffer.from(Array.from({ length: 5_000_000 }, (_, index) => (index * index) % 251));
const cai = new Cai('[kubernetes]\nstorage = "64MiB"\ncopy = "git"\n');

beforeAll(() => provideImages('claude'), buildTimeoutMs);

function git(workspace: string, ...args: readonly string[]): string {
  const author = ['-c', 'user.name=t', '-c', 'user.email=t@t'];
  const env = { PATH: process.env.PATH, HOME: '/nonexistent' };
  return execFileSync('git', [...author, '-C', workspace, ...args], { ...user, env, encoding: 'utf8' });
}

/** With two branches, and one of each kind of change. */
function workspaceWithChanges(): string {
  const workspace = newWorkspace();
  const write = (name: string, text: string | Buffer) => ownFile(join(workspace, name), text);
  for (const name of ['kept', 'staged', 'unstaged', 'sub/gone', 'binary']) write(name, 'before\n');
  write('.gitignore', 'ignored\n');
  git(workspace, 'checkout', '--quiet', '-b', 'main');
  git(workspace, 'add', '--all');
  git(workspace, 'commit', '--quiet', '-m', 'one');
  git(workspace, 'branch', 'other');
  write('staged', 'after\n');
  git(workspace, 'add', 'staged');
  write('unstaged', 'after!\n');
  rmSync(join(workspace, 'sub/gone'));
  write('binary', binary);
  write('new/tool', '#!/bin/sh\n');
  chmodSync(join(workspace, 'new/tool'), 0o755);
  write('ignored', 'ignored\n');
  symlinkSync('/nowhere', join(workspace, 'link'));
  chownLink(join(workspace, 'link'));
  return workspace;
}

function chownLink(path: string): void {
  if (lstatSync(path).uid !== user.uid) execFileSync('chown', ['-h', `${user.uid}:${user.gid}`, path]);
}

async function run(
  workspace: string,
  ...args: readonly string[]
): Promise<{ stdout: string; stderr: string }> {
  const { status, stdout, stderr } = await cai.run(args, { cwd: workspace, limitMs: 2 * patienceMs });
  if (status !== 0) throw new Error(`cai ${args.join(' ')}: ${status}: ${stderr}`);
  return { stdout: stdout.toString(), stderr };
}

const inside = (workspace: string, script: string) => run(workspace, 'exec', '--', 'sh', '-euc', script);

/** Names, kinds, modes and contents. */
const listing = String.raw`find . -path ./.git -prune -o -path ./lost+found -prune -o ! -name ignored \( -type l -printf '%P -> %l\n' -o -type f -printf '%P %m ' -exec sha256sum {} \; \) | sort`;

test('what is committed and what is not arrives, and the work in the copy comes back', async () => {
  const workspace = workspaceWithChanges();
  const here = execFileSync('sh', ['-c', listing], { cwd: workspace, encoding: 'utf8' });
  const before = [
    here,
    git(workspace, 'for-each-ref', 'refs/heads'),
    git(workspace, 'status', '--porcelain'),
  ];

  const first = await inside(
    workspace,
    `pwd; ${listing}; git for-each-ref refs/heads; git status --porcelain`,
  );

  expect(first.stderr).toContain('agents work in a copy of');
  expect(first.stdout).toBe([`${workspace}\n`, ...before].join('').replace('M  staged', ' M staged'));

  await inside(
    workspace,
    'git add staged unstaged; git -c user.name=a -c user.email=a@a commit -qm agent; echo left > left; rm kept',
  );
  const pulled = await run(workspace, 'pull');

  expect(pulled.stdout).toContain('git merge cai/main\n');
  expect(git(workspace, 'diff', '--name-status', 'main', 'cai/main')).toBe('M\tstaged\nM\tunstaged\n');
  const rest = git(workspace, 'diff', '--name-status', '--no-renames', 'cai/main', 'cai/uncommitted');
  expect(rest).toBe('M\tbinary\nD\tkept\nA\tleft\nA\tlink\nA\tnew/tool\nD\tsub/gone\n');
  expect([
    execFileSync('sh', ['-c', listing], { cwd: workspace, encoding: 'utf8' }),
    git(workspace, 'for-each-ref', 'refs/heads'),
    git(workspace, 'status', '--porcelain'),
  ]).toEqual(before);

  // Another pod goes on in the same copy, whatever is committed here.
  git(workspace, 'commit', '--quiet', '-m', 'meanwhile');
  await run(workspace, 'stop', '--force');
  const second = await inside(workspace, 'cat left; git log -1 --format=%s');
  expect(second.stdout).toBe('left\nagent\n');
  expect(second.stderr).toMatch(/was made at \w{10}, and here is \w{10} now/);

  const asked = await cai.run(['rm', '--volumes'], { cwd: workspace });
  expect(asked.status).toBe(2);
  expect(asked.stderr).toContain('with all that "cai pull" has not brought back');
  const claims = () => inNamespace('get', 'pvc', '--output', 'name');
  expect(claims()).toContain(basename(workspace));
  await run(workspace, 'rm', '--force', '--volumes');
  // The cluster takes them away a moment later.
  while (claims().includes(basename(workspace))) await pause(500);
});

test('a copy that broke off is made anew before a command runs', async () => {
  const workspace = workspaceWithChanges();
  ownFile(join(workspace, 'large'), randomBytes(40_000_000));
  const first = cai.start(['exec', '--', 'true'], { cwd: workspace });
  await first.complains('copying ', 2 * patienceMs);
  first.child.kill('SIGKILL');

  const { stdout, stderr } = await inside(workspace, 'cat unstaged; git fsck; git status --porcelain');

  expect(stderr).toContain('agents work in a copy of');
  expect(stdout).toBe(`after!\n${git(workspace, 'status', '--porcelain').replace('M  staged', ' M staged')}`);
});

test('a folder that is no repository cannot be copied', async () => {
  const workspace = newWorkspace();
  rmSync(join(workspace, '.git'), { recursive: true });

  const { status, stderr } = await cai.run(['exec', '--', 'true'], { cwd: workspace });

  expect(status).toBe(2);
  expect(stderr).toContain('only the root of a git repository can be copied');
});

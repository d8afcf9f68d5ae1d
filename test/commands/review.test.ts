import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { recordBaseline } from '../../src/review/baseline';
import { runCli, userWith } from '../support/cli';
import type { CliOptions, CliResult } from '../support/cli';
import { newFolder } from '../workspace/temp-folder';

let user: CliOptions;
let root: string;

beforeEach(() => {
  user = userWith('');
  root = newFolder();
  mkdirSync(join(root, '.git'));
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

async function review(...args: string[]): Promise<CliResult> {
  return await runCli(['review', ...args], { ...user, cwd: root });
}

test('shows each change with its difference; the status tells whether there is one', async () => {
  write('.envrc', 'one\n');
  recordBaseline(user.env!, root);
  expect(await review()).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('Nothing to review') as string }); // prettier-ignore

  write('.envrc', 'two\u001b[2J\n');
  write('.vscode/tasks.json', '{}\n');
  const { status, stdout, stderr } = await runCli(['review', '-w', root], user);

  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toContain('  changed  .envrc\n  new      .vscode/tasks.json\n');
  expect(stdout).toContain('-one\n+two\ufffd[2J\n');
  expect(stdout).toContain('+++ .vscode/tasks.json\n+(file, mode 644)\n+{}\n');
});

test('--restore puts all back, says where the rest is, and runs nothing', async () => {
  write('.envrc', 'one');
  recordBaseline(user.env!, root);
  write('.envrc', 'two');
  write('.git/hooks/post-checkout', `#!/bin/sh\ntouch ${root}/ran\n`);
  chmodSync(join(root, '.git/hooks/post-checkout'), 0o755);
  write('.git/config', `[core]\nfsmonitor = touch ${root}/ran\n`);

  const { status, stdout } = await review('--restore');

  expect(status).toBe(0);
  const [, kept] = /^\.git\/hooks\/post-checkout: removed; what was there is in (.*)$/m.exec(stdout)!;
  expect(readFileSync(kept!, 'utf8')).toContain('#!/bin/sh');
  expect(stdout).toContain('.envrc: put back; what was there is in ');
  expect(readFileSync(join(root, '.envrc'), 'utf8')).toBe('one');
  expect(existsSync(join(root, '.git/hooks'))).toBe(false);
  expect(existsSync(join(root, 'ran'))).toBe(false);
  expect((await review()).status).toBe(0);
});

test('only what is named is accepted or put back', async () => {
  recordBaseline(user.env!, root);
  write('.envrc', 'one');
  write('.vscode/tasks.json', '{}');
  write('.vscode/launch.json', '{}');

  expect(await review('--accept', '.vscode/')).toMatchObject({ status: 0 });
  expect((await review()).stdout).toContain('run these:\n  new  .envrc\n\n');
  expect(await review('--restore', '.envrc')).toMatchObject({ status: 0 });
  expect(await review()).toMatchObject({ status: 0 });
  expect(existsSync(join(root, '.vscode/tasks.json'))).toBe(true);
  write('.envrc', 'one');
  expect(await review('--restore', 'envrc')).toMatchObject({
    status: 2,
    stderr: 'cai: "envrc" is not listed: see "cai review" for what is\n',
  });
});

test('without what was there before, all is unknown and left, until it is accepted', async () => {
  write('.envrc', 'one');

  expect(await review()).toMatchObject({ status: 1, stdout: expect.stringContaining('What was there before is not known.') as string }); // prettier-ignore
  expect(await review('--restore')).toMatchObject({
    status: 1,
    stdout: '.envrc: left as it is: what was there before is not known\n',
  });
  expect(await review('--accept')).toMatchObject({ status: 0 });
  expect(await review()).toMatchObject({ status: 0 });
});

test('takes one of --restore and --accept', async () => {
  expect(await review('--restore', '--accept')).toMatchObject({ status: 2, stdout: '' });
});

import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Host } from '../../../src/system/host';
import { recordBaseline } from '../../../src/workspace/protect/baseline';
import { record } from '../../../src/workspace/records';
import { userWith, type CliOptions, type CliResult } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

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
  return await runHere(['review', ...args], { ...user, cwd: root });
}

test('shows each change with its difference; the status tells whether there is one', async () => {
  write('.envrc', 'one\n');
  recordBaseline(new Host(user.env!).folders.state, root);
  expect(await review()).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('Nothing to review') as string }); // prettier-ignore

  write('.envrc', 'two\u001b[2J\n');
  write('.vscode/tasks.json', '{}\n');
  const { status, stdout, stderr } = await runHere(['review', '-w', root], user);

  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toContain('  changed  .envrc\n  new      .vscode/tasks.json\n');
  expect(stdout).toContain('-one\n+two\ufffd[2J\n');
  expect(stdout).toContain('+++ .vscode/tasks.json\n+(file, mode 644)\n+{}\n');
});

test('--restore puts all back, says where the rest is, and runs nothing', async () => {
  write('.envrc', 'one');
  recordBaseline(new Host(user.env!).folders.state, root);
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
  recordBaseline(new Host(user.env!).folders.state, root);
  write('.envrc', 'one');
  write('.vscode/tasks.json', '{}');
  write('.vscode/launch.json', '{}');

  expect(await review('--accept', '.vscode/')).toMatchObject({ status: 0 });
  expect((await review()).stdout).toContain('PATH\n  new   .envrc\n\n');
  expect(await review('--restore', './.envrc')).toMatchObject({ status: 0 });
  expect(await review()).toMatchObject({ status: 0 });
  expect(existsSync(join(root, '.vscode/tasks.json'))).toBe(true);
  write('.envrc', 'one');
  expect(await review('--restore', 'envrc')).toMatchObject({
    status: 2,
    stderr: 'cai: "envrc" is not listed: see "cai review" for what is\n',
  });
});

test('what holds too many files to look at is neither accepted nor put back', async () => {
  recordBaseline(new Host(user.env!).folders.state, root);
  for (let i = 0; i < 65; i += 1) write(`${i}.code-workspace`, '{}');
  write('.envrc', 'one');

  expect(await review('--restore')).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^\*\.code-workspace: left as it is: too much[^]*\.envrc: removed;.*\n$/) as string, // prettier-ignore
  });
  write('.envrc', 'one');
  expect(await review('--accept')).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/Accepted[^]*\*\.code-workspace: not accepted/) as string,
  });
  expect((await review()).stdout).toContain('PATH\n  new   *.code-workspace\n\n');
});

test('a folder in which no agent has worked has nothing to review, nor has another in its place', async () => {
  const nothing = {
    status: 0,
    stdout: `No agent has worked in "${root}" yet, so there is nothing to compare it with.\n`,
  };
  write('.envrc', 'one');
  expect(await review()).toMatchObject(nothing);

  recordBaseline(new Host(user.env!).folders.state, root);
  renameSync(root, `${root}-old`);
  write('.vscode/tasks.json', 'of the user');
  expect(await review('--restore')).toMatchObject(nothing);

  recordBaseline(new Host(user.env!).folders.state, root);
  expect((await review()).stdout).toMatch(/^Nothing to review/);
});

test('a folder that does not exist is an error', async () => {
  const place = join(root, 'gone');
  expect(await review('-w', place)).toMatchObject({
    status: 2,
    stderr: `cai: "${place}" does not exist: name another folder with --workspace\n`,
  });
});

test('without what was there before, all is unknown and left, until it is accepted', async () => {
  record(new Host(user.env!).folders.state, 'roots', root, root);
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

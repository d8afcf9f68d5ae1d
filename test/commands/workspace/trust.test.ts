import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { AgentFolders, rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import { loadWorkspaceConfig } from '../../../src/config/effective-config';
import { findOuterGit } from '../../../src/workspace/git-folder';
import { record } from '../../../src/workspace/records';
import { checkRoot } from '../../../src/workspace/trust';
import { runCli, runInTerminal, userWith, type CliOptions } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

const placed = (cwd: string, root: string) => ({ cwd, realCwd: cwd, root });

let root: string;
let file: string;
let user: CliOptions;

beforeEach(() => {
  root = newFolder();
  file = join(root, '.containai/config.toml');
  mkdirSync(join(root, '.containai'));
  mkdirSync(join(root, 'src'));
  user = { ...userWith('container.memory = "4GiB"'), cwd: root };
});

const pids = (): number => loadWorkspaceConfig(new Host(user.env!), root).config.container.pids;

const widening =
  '[container]\nmemory = "16GiB"\npids = 2000\ncpus = 1\n[[mounts]]\npath = "/srv/\\u202edata"\n';
const shown = [
  '/.containai/config.toml widens what the agent may do:',
  '  line 2: container.memory: "4GiB" -> "16GiB"',
  '  line 3: container.pids: 1024 -> 2000',
  '  line 6: mounts[0].path: not set -> "/srv/\\u202edata"',
];

describe('cai trust', () => {
  test('shows what widens, and with --yes records the file as it is', async () => {
    writeFileSync(file, widening);

    const { status, stdout, stderr } = await runHere(['trust', '--yes', 'src'], user);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(
      `${root}${shown.join('\n')}\nRecorded. If the file changes, it waits for this again.\n`,
    );
    expect(pids()).toBe(2_000);
    expect((await runHere(['trust'], user)).stdout).toBe(`${file} is trusted as it is now.\n`);
    writeFileSync(file, `${widening}#`);
    expect(pids()).toBe(1_024);
  });

  test('lets a workspace have a git folder that it had not when it was first used', async () => {
    const main = newFolder();
    const tree = join(newFolder(), 'tree');
    git(main, 'init', '-q');
    git(main, 'commit', '-q', '--allow-empty', '-m', 'first');
    git(main, 'worktree', 'add', '-q', tree);
    record(new Host(user.env!).folders.state, 'git-folders', tree, '');
    expect(await findOuterGit(tree, new Host(user.env!))).toMatchObject({ git: undefined });

    const { status, stdout } = await runHere(['trust', '--yes'], { ...user, cwd: tree });

    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: `The git folder of "${tree}": "${join(main, '.git')}"\nRecorded.\n`,
    });
    expect(await findOuterGit(tree, new Host(user.env!))).toMatchObject({
      git: { folder: join(main, '.git') },
    });
    expect((await runHere(['trust', '--forget'], { ...user, cwd: tree })).stdout).toBe(
      `Forgotten:\n  a git folder of "${tree}" that lies elsewhere is no longer known\n`,
    );
  });

  test('shows it, and records nothing where nobody can be asked', async () => {
    writeFileSync(file, widening);

    const { status, stdout, stderr } = await runCli(['trust'], { ...user, input: 'y\n' });

    expect(status).toBe(2);
    expect(stdout).toBe(`${root}${shown.join('\n')}\n`);
    expect(stderr).toBe(
      'cai: there is no terminal to ask on, so nothing is recorded: run this in a terminal, or with --yes\n',
    );
    expect(pids()).toBe(1_024);
  });

  test.each([
    ['YES', 2_000, 'Recorded.'],
    ['', 1_024, 'Nothing is recorded.'],
    ['yet', 1_024, 'Nothing is recorded.'],
  ])('asks in a terminal, and takes %j for what it is', async (answer, expected, words) => {
    writeFileSync(file, widening);

    const { status, stdout } = await runInTerminal(['trust'], { ...user, input: `${answer}\n` });

    expect(stdout).toContain('Allow this? [y/N]');
    expect(stdout).toContain(words);
    expect(status).toBe(expected === 2_000 ? 0 : 1);
    expect(pids()).toBe(expected);
  });

  test.each([
    ['there is no file', undefined, () => `Nothing to trust: there is no ${file}.\n`],
    ['the file only narrows', 'container.pids = 100', () => `Nothing to trust: ${file} widens nothing.\n`],
    [
      'the file sets what it cannot',
      'acp.terminal = "off"',
      () => `Nothing to trust: ${file} widens nothing.\n`,
    ],
  ])('has nothing to record where %s', async (_, content, words) => {
    if (content !== undefined) writeFileSync(file, content);

    expect(await runHere(['trust', '--yes'], user)).toEqual({ status: 0, stdout: words(), stderr: '' });
  });

  test('shows and records a workspace that has grown', async () => {
    const cwd = join(root, 'src');
    checkRoot(new Host(user.env!).folders.state, placed(cwd, cwd));
    writeFileSync(file, '');
    expect(() => checkRoot(new Host(user.env!).folders.state, placed(cwd, root))).toThrow('cai trust');

    const { status, stdout } = await runHere(['trust', cwd, '--yes'], user);

    expect(status).toBe(0);
    expect(stdout).toBe(`The workspace of "${cwd}": "${cwd}" -> "${root}"\nRecorded.\n`);
    expect(() => checkRoot(new Host(user.env!).folders.state, placed(cwd, root))).not.toThrow();
  });

  test('shows and records a link that leads out of a workspace', async () => {
    const [known, link] = [join(root, 'known'), join(root, 'known/link')];
    mkdirSync(known);
    symlinkSync(root, link);
    record(new Host(user.env!).folders.state, 'roots', known, known);
    writeFileSync(file, '');

    const { status, stdout } = await runHere(['trust', link, '--yes'], user);

    expect(status).toBe(0);
    expect(stdout).toBe(`The workspace of "${link}": "${known}" -> "${root}"\nRecorded.\n`);
    expect((await runHere(['trust', link, '--yes'], user)).stdout).toMatch(/^Nothing to trust/);
  });

  test('forgets what was recorded, also of a folder that is gone', async () => {
    writeFileSync(file, widening);
    await runHere(['trust', '--yes'], user);
    checkRoot(new Host(user.env!).folders.state, placed(root, root));

    expect((await runHere(['trust', '--forget', root], user)).stdout).toBe(
      `Forgotten:\n  what "${file}" widens is no longer allowed\n  the workspace of "${root}" is recorded again at its next use\n`,
    );
    expect(pids()).toBe(1_024);
    expect(() => checkRoot(new Host(user.env!).folders.state, placed(root, '/'))).not.toThrow();
    expect((await runHere(['trust', '--forget'], user)).stdout).toBe(
      `Forgotten:\n  the workspace of "${root}" is recorded again at its next use\n`,
    );
    rmSync(root, { recursive: true });
    expect((await runHere(['trust', '--forget', root], { ...user, cwd: '/' })).stdout).toBe(
      `Nothing is recorded of "${root}".\n`,
    );
  });

  test.each([
    ['an invalid file', [], 'a = ', /^cai: .*config\.toml:1:\d+: /],
    ['a folder that is not there', ['gone'], '', /^cai: ".*gone" does not exist/],
    ['two folders', ['a', 'b'], '', /^cai: too many arguments.*see "cai trust --help"\n$/],
  ])('ends with 2 for %s', async (_, args, content, message) => {
    writeFileSync(file, content);

    const { status, stderr } = await runHere(['trust', '--yes', ...args], user);

    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });

  test('with --forget also takes back that agents can write in a folder, whatever workspace it lies in', async () => {
    rememberAgentFolders(new Host(user.env!).folders.state, [join(root, 'src')]);

    expect((await runHere(['trust', '--forget', 'src'], user)).stdout).toBe(
      `Forgotten:\n  "${join(root, 'src')}" counts as a folder that no agent has written in\n`,
    );
    expect(new AgentFolders(new Host(user.env!).folders.state).onWayTo(join(root, 'src'))).toBeUndefined();
    expect((await runHere(['trust', '--forget', 'src'], user)).stdout).toBe(
      `Nothing is recorded of "${join(root, 'src')}".\n`,
    );
  });
});

describe('cai trust, for a development container', () => {
  const json = '.devcontainer/devcontainer.json';
  const settings = {
    build: { dockerfile: 'Dockerfile' },
    postCreateCommand: 'make',
    privileged: true,
    customizations: { containai: { container: { pids: 2_000 } } },
  };

  beforeEach(() => {
    mkdirSync(join(root, '.devcontainer'));
    writeFileSync(join(root, json), JSON.stringify(settings));
    writeFileSync(join(root, '.devcontainer/Dockerfile'), 'FROM debian\n');
  });

  test('shows what it is, records it, and forgets it', async () => {
    const { status, stdout } = await runHere(['trust', '--yes'], user);

    expect({ status, lines: stdout.split('\n') }).toEqual({
      status: 0,
      lines: [
        `${root}/${json} describes the container that agents work in:`,
        '  built from the Dockerfile ".devcontainer/Dockerfile"',
        '  postCreateCommand: make',
        '  made from the files ".devcontainer/Dockerfile"',
        'It widens what the agent may do:',
        '  line 1: container.pids: 1024 -> 2000',
        expect.stringMatching(/devcontainer.json": "privileged" is ignored: /),
        'Recorded. If one of these files changes, it waits for this again.',
        '',
      ],
    });
    expect(pids()).toBe(2_000);
    expect((await runHere(['trust'], user)).stdout).toBe(`${root}/${json} is trusted as it is now.\n`);
    expect((await runHere(['trust', '--forget'], user)).stdout).toContain(
      `"${root}/${json}" is no longer used`,
    );
    expect(pids()).toBe(1_024);
  });

  test('asks again once its Dockerfile has changed', async () => {
    await runHere(['trust', '--yes'], user);
    writeFileSync(join(root, '.devcontainer/Dockerfile'), 'FROM evil\n');

    expect(pids()).toBe(1_024);
    expect((await runHere(['trust', '--yes'], user)).stdout).toContain('describes the container');
  });
});

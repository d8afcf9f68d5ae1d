import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { editors, neovimLines, type AgentEntry } from '../../../src/commands/setup/editors';
import { runHere } from '../../support/cli-here';
import { newSettingsWorld, settings, type SettingsWorld } from './settings-world';

let home: SettingsWorld['home'];
let user: SettingsWorld['user'];
let setup: SettingsWorld['setup'];
let fileOf: SettingsWorld['fileOf'];
beforeEach(() => ({ home, user, setup, fileOf } = newSettingsWorld()));

const commandsOf = (value: unknown): string => JSON.stringify(value);

test.each(Object.keys(settings))(
  'writes the settings of %s, which it makes if there are none',
  async (editor) => {
    const { status, stderr } = await setup(editor);

    expect([status, stderr]).toEqual([0, expect.stringContaining(`was written into ${fileOf(editor)}`)]);
    expect(commandsOf(parse(readFileSync(fileOf(editor), 'utf8')))).toMatch(
      /"Claude[^"]*\(cai\)":.*"--acp","claude"/,
    );
  },
);

test('names no agent and no token of a server that nobody has named, and says where the token goes', async () => {
  const plain = await setup('zed', '--remote', 'wss://build.example');
  const token = await setup('zed', '--remote', 'wss://build.example', '--token-file', 'token');
  const near = await setup('zed', '--remote', 'http://127.0.0.1:8722');

  const entry = (args: readonly string[]): unknown => ({
    agent_servers: {
      'cai (build.example)': expect.objectContaining({
        args: [...cai, 'connect', 'wss://build.example', ...args],
      }) as unknown,
    },
  });
  const { args } = (JSON.parse(plain.stdout) as { agent_servers: Record<string, { args: string[] }> })
    .agent_servers['cai (build.example)']!;
  const cai = args.slice(0, args.indexOf('connect'));
  expect(JSON.parse(plain.stdout)).toEqual(entry([]));
  expect(plain.stderr).toContain('run this again with --token-file FILE');
  expect(JSON.parse(token.stdout)).toEqual(entry(['--token-file', join(user.cwd!, 'token')]));
  expect(token.stderr + near.stderr).not.toContain('--token-file');
});

test('writes what the documentation shows', async () => {
  const { stdout } = await setup('zed', '--remote', 'wss://build.example', '--print');
  const text = readFileSync('docs/editors.md', 'utf8');
  const [, shown] = /`cai setup zed --remote wss:\/\/build\.example` writes this:\n\n```json\n(.*?)```/s.exec(
    text,
  )!;

  // The path of the program depends on the machine.
  const written = JSON.parse(stdout, (key, value: unknown) => {
    if (key === 'command') return 'cai';
    return Array.isArray(value) ? value.slice(value.indexOf('connect')) : value;
  }) as unknown;
  expect(written).toEqual(JSON.parse(shown!));
});

describe('docs/editors.md', () => {
  const docs = readFileSync('docs/editors.md', 'utf8');

  test.each([
    ['Zed', 'zed'],
    ['VS Code', 'vscode'],
    ['JetBrains IDEs', 'jetbrains'],
  ])('has for %s what is written', (heading, word) => {
    const [, block] = new RegExp(`\n## ${heading}\n[^]*?\`\`\`json\n([^]*?)\`\`\``).exec(docs)!;
    const editor = editors[word]!;
    const shown = (JSON.parse(block!) as Record<string, Record<string, AgentEntry>>)[editor.path[0]!]!;

    for (const agent of Object.values(shown)) {
      const { command, args, env } = agent;
      expect(editor.entry({ command, args, ...(env && { env }) })).toEqual(agent);
    }
  });

  test('has for Neovim what is printed', () => {
    const agent = { command: 'cai', args: ['--acp', 'claude'] };

    expect(docs).toContain(`\n\`\`\`lua\n${neovimLines('Claude (cai)', agent)}\`\`\`\n`);
  });
});

test('changes nothing the second time', async () => {
  await setup('zed');
  const { mtimeMs } = statSync(fileOf('zed'));
  const { stderr } = await setup('zed');

  expect(stderr).toContain('stands already in');
  expect(statSync(fileOf('zed')).mtimeMs).toBe(mtimeMs);
});

test('writes nothing with --print, nor for Neovim', async () => {
  const printed = await setup('zed', '--print');
  const lua = await setup('neovim', '--remote', 'unix:/run/s.sock');

  expect(JSON.parse(printed.stdout)).toHaveProperty('agent_servers');
  expect(printed.stderr).toContain(`belongs into ${fileOf('zed')}`);
  expect(() => statSync(fileOf('zed'))).toThrow(/ENOENT/);
  expect(lua.stdout).toContain('"connect", "unix:/run/s.sock" }');
});

test('writes into the settings of Zed from Flatpak, where no other Zed is', async () => {
  const folder = join(home, '.var/app/dev.zed.Zed/config/zed');
  mkdirSync(folder, { recursive: true });

  expect((await setup('zed')).stderr).toContain(`was written into ${folder}/settings.json`);
  fileOf('zed', '{}');
  expect((await setup('zed')).stderr).toContain(`was written into ${fileOf('zed')}`);
});

test.each([
  [
    ['emacs'],
    /"emacs" is no editor that cai can set up: zed, vscode, vscode-insiders, code-oss, vscodium, cursor, windsurf, jetbrains, neovim/,
  ],
  [['zed', '--remote', 'ftp://x'], /begins with wss/],
  [['zed', '--token-file', 'x'], /--token-file needs --remote/],
  [['zed', '--remote', 'wss://me:secret@x'], /^(?!.*secret)/],
  [[], /name an editor: cai setup zed, /],
])('refuses %j', async (args, words) => {
  const { status, stderr } = await setup(...args);

  expect([status, stderr]).toEqual([2, expect.stringMatching(words)]);
});

test('writes nothing for an agent that cai --acp does not know', async () => {
  const { status, stderr } = await setup('zed', '-a', 'nosuch');

  expect(status).not.toBe(0);
  expect(stderr).toContain('Unsupported agent: nosuch');
  expect(() => readFileSync(fileOf('zed'))).toThrow('ENOENT');
});

test.each([...Object.keys(settings), 'neovim'])(
  'tells %s where the engine is, as this terminal knows it',
  async (editor) => {
    const env = { ...user.env, DOCKER_HOST: 'unix:///run/user/1000/docker.sock', OTHER: 'x' };

    const { stdout } = await runHere(['setup', editor, '--print'], { ...user, env });

    expect(stdout).toMatch(/"?DOCKER_HOST"?(:| =) "unix:\/\/\/run\/user\/1000\/docker\.sock"/);
    expect(stdout).not.toContain('OTHER');
  },
);

test.each([['--undo'], ['--print'], ['--remote=wss://build.example/acp'], ['--token-file=x']])(
  'wants to know for which editor: %s',
  async (option) => {
    expect(await setup(option)).toMatchObject({
      status: 2,
      stderr:
        'cai: name an editor: zed, vscode, vscode-insiders, code-oss, vscodium, cursor, windsurf, jetbrains, neovim\n',
    });
  },
);

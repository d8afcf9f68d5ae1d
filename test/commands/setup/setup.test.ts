import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'jsonc-parser';
import { userWith, type CliResult } from '../../support/cli';
import { runHere } from '../../support/cli-here';

const settings: Readonly<Record<string, string>> = {
  zed: '.config/zed/settings.json',
  vscode: '.config/Code/User/settings.json',
  jetbrains: '.jetbrains/acp.json',
};

let home: string;
let user: ReturnType<typeof userWith>;
beforeEach(() => {
  user = userWith('');
  home = user.env!.HOME!;
});

async function setup(...args: string[]): Promise<CliResult> {
  return await runHere(['setup', ...args], user);
}

function fileOf(editor: string, content?: string): string {
  const file = join(home, settings[editor]!);
  if (content === undefined) return file;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

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

test('keeps comments and all else, and the file as it was beside it', async () => {
  const before =
    '// mine\n{\n  "theme": "x", // nice\n  "agent_servers": { "other": { "command": "o" } },\n}\n';
  const file = fileOf('zed', before);
  await setup('zed', '--agent', 'codex', '--remote', 'wss://build.example/acp');

  const after = readFileSync(file, 'utf8');
  expect(after).toContain('// mine');
  expect(after).toContain('"theme": "x", // nice');
  expect(after).toMatch(/"other": \{\s*"command": "o"/);
  expect(commandsOf(parse(after))).toMatch(
    /"Codex[^"]*\(build\.example\)":\{"type":"custom".*"connect","wss:\/\/build\.example\/acp","--agent","codex"\]/,
  );
  expect(readFileSync(`${file}.before-cai`, 'utf8')).toBe(before);
});

test('never replaces what it has kept', async () => {
  const file = fileOf('zed', '{}');
  for (const agent of ['claude', 'codex', 'gemini']) await setup('zed', '--agent', agent);

  const kept = ['', '-2', '-3'].map((end) => readFileSync(`${file}.before-cai${end}`, 'utf8'));
  expect(kept[0]).toBe('{}');
  expect(kept.map((text) => text.includes('codex'))).toEqual([false, false, true]);
});

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

test('changes nothing the second time', async () => {
  await setup('zed');
  const { mtimeMs } = statSync(fileOf('zed'));
  const { stderr } = await setup('zed');

  expect(stderr).toContain('stands already in');
  expect(statSync(fileOf('zed')).mtimeMs).toBe(mtimeMs);
});

test('leaves a link a link', async () => {
  const real = join(home, 'dotfiles.json');
  writeFileSync(real, '{}', { mode: 0o640 });
  mkdirSync(dirname(fileOf('zed')), { recursive: true });
  symlinkSync(real, fileOf('zed'));
  await setup('zed');

  expect(lstatSync(fileOf('zed')).isSymbolicLink()).toBe(true);
  expect(readFileSync(real, 'utf8')).toContain('agent_servers');
  expect(statSync(real).mode & 0o777).toBe(0o640);
});

test('writes nothing with --print, nor for Neovim', async () => {
  const printed = await setup('zed', '--print');
  const lua = await setup('neovim', '--remote', 'unix:/run/s.sock');

  expect(JSON.parse(printed.stdout)).toHaveProperty('agent_servers');
  expect(printed.stderr).toContain(`belongs into ${fileOf('zed')}`);
  expect(() => statSync(fileOf('zed'))).toThrow(/ENOENT/);
  expect(lua.stdout).toContain('"connect", "unix:/run/s.sock" }');
});

test('leaves alone a file that it cannot read', async () => {
  const file = fileOf('zed', '{ "a": ');
  const { status, stderr } = await setup('zed');

  expect([status, stderr]).toEqual([2, expect.stringContaining('is not what an editor writes')]);
  expect(readFileSync(file, 'utf8')).toBe('{ "a": ');
});

test.each([
  [['emacs'], /"emacs" is no editor that cai can set up: zed, vscode, jetbrains, neovim/],
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

describe('cai setup --undo', () => {
  test.each([
    ['a file with comments', '// mine\r\n{\t"a": 1,\n}'],
    ['a file without an object', ''],
  ])('%s is what it was, to the byte', async (_, before) => {
    const file = fileOf('zed', before);
    await setup('zed');
    await setup('zed', '--agent', 'codex');

    await setup('zed', '--undo', '--agent', 'codex');
    const { status, stderr } = await setup('zed', '--undo');

    expect(stderr).toBe(`cai: "Claude (cai)" is no longer in ${file}\n`);
    expect(status).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(dirname(file))).toEqual(['settings.json']);
  });

  test('a file that was not there is gone', async () => {
    await setup('zed');
    await setup('zed', '--undo');

    expect(readdirSync(dirname(fileOf('zed')))).toEqual([]);
  });

  test('what was changed since stays', async () => {
    const file = fileOf('zed', '{ "a": 1 }');
    await setup('zed');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"a": 1', '"a": 2 /* new */'));

    await setup('zed', '--undo');

    expect(readFileSync(file, 'utf8')).toContain('"a": 2 /* new */');
    expect(parse(readFileSync(file, 'utf8'))).toEqual({ a: 2, agent_servers: {} });
    expect(readFileSync(`${file}.before-cai`, 'utf8')).toBe('{ "a": 1 }');
  });

  test('changes nothing where nothing is to be taken out', async () => {
    const file = fileOf('zed', '{ "agent_servers": [] }');

    expect((await setup('zed', '--undo')).stderr).toBe(`cai: "Claude (cai)" is not in ${file}\n`);
    expect(readFileSync(file, 'utf8')).toBe('{ "agent_servers": [] }');
    expect((await setup('jetbrains', '--undo')).status).toBe(0);
  });

  test('Neovim is for people to change', async () => {
    expect(await setup('neovim', '--undo')).toMatchObject({
      status: 2,
      stderr: 'cai: cai has written nothing for Neovim: remove the lines from its configuration\n',
    });
  });
});

test.each([['--undo'], ['--print'], ['--remote=wss://build.example/acp'], ['--token-file=x']])(
  'wants to know for which editor: %s',
  async (option) => {
    expect(await setup(option)).toMatchObject({
      status: 2,
      stderr: 'cai: name an editor: zed, vscode, jetbrains, neovim\n',
    });
  },
);

test.each(['null', '[]', '"x"'])('refuses settings whose agents are %s', async (servers) => {
  const before = `{ "agent_servers": ${servers} }\n`;
  const file = fileOf('zed', before);

  const { status, stderr } = await setup('zed');

  expect(stderr).toContain('has no object as "agent_servers": correct it, or use --print\n');
  expect(status).toBe(2);
  expect(readFileSync(file, 'utf8')).toBe(before);
});

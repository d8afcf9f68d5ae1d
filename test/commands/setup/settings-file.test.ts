import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'jsonc-parser';
import { objectInFile } from '../../../src/commands/setup/settings-file';
import { rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import { runHere } from '../../support/cli-here';
import { newSettingsWorld, type SettingsWorld } from './settings-world';

let home: SettingsWorld['home'];
let user: SettingsWorld['user'];
let setup: SettingsWorld['setup'];
let fileOf: SettingsWorld['fileOf'];
beforeEach(() => ({ home, user, setup, fileOf } = newSettingsWorld()));

test('keeps comments and all else, and the file as it was beside it', async () => {
  const before =
    '// mine\n{\n  "theme": "x", // nice\n  "agent_servers": { "other": { "command": "o" } },\n}\n';
  const file = fileOf('zed', before);
  await setup('zed', '--agent', 'codex', '--remote', 'wss://build.example/acp');

  const after = readFileSync(file, 'utf8');
  expect(after).toContain('// mine');
  expect(after).toContain('"theme": "x", // nice');
  expect(after).toMatch(/"other": \{\s*"command": "o"/);
  expect(JSON.stringify(parse(after))).toMatch(
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

test('writes through no link that lies beside the file under a name that can be guessed', async () => {
  const file = fileOf('zed', '{}');
  const other = join(home, '.bashrc');
  writeFileSync(other, '');
  for (const end of ['cai-draft', 'before-cai']) symlinkSync(other, `${file}.${end}`);
  symlinkSync(join(home, 'gone'), `${file}.before-cai-2`);

  expect((await setup('zed')).status).toBe(0);

  expect(readFileSync(other, 'utf8')).toBe('');
  expect(readFileSync(`${file}.before-cai-3`, 'utf8')).toBe('{}');
  expect(readFileSync(file, 'utf8')).toContain('agent_servers');
});

test('changes nothing where the way leads through a folder of agents', async () => {
  const dotfiles = join(home, 'dotfiles');
  mkdirSync(dotfiles);
  const file = fileOf('zed', '{}');
  await setup('zed');
  const before = readFileSync(file, 'utf8');
  renameSync(file, join(dotfiles, 'settings.json'));
  symlinkSync(join(dotfiles, 'settings.json'), file);
  rememberAgentFolders(join(home, '.local/state/containai'), [dotfiles]);

  for (const args of [['--agent', 'codex'], ['--undo']]) {
    const { status, stderr } = await setup('zed', ...args);
    expect(stderr).toContain(
      `cai: ${file} is not changed, because the way there leads through "${dotfiles}", `,
    );
    expect(stderr).toContain(`run: cai trust --forget "${dotfiles}"\n`);
    expect(status).toBe(2);
  }

  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(readdirSync(dotfiles)).toEqual(['settings.json']);
  expect((await setup('zed', '--agent', 'codex', '--print')).status).toBe(0);
});

test('leaves a link a link, and the file behind it its mode', async () => {
  const real = join(home, 'dotfiles.json');
  writeFileSync(real, '{}');
  chmodSync(real, 0o662);
  mkdirSync(dirname(fileOf('zed')), { recursive: true });
  symlinkSync(real, fileOf('zed'));
  await setup('zed');

  expect(lstatSync(fileOf('zed')).isSymbolicLink()).toBe(true);
  expect(readFileSync(real, 'utf8')).toContain('agent_servers');
  expect(statSync(real).mode & 0o777).toBe(0o662);
});

test.each<[string, string | Buffer, RegExp]>([
  ['is cut off', '{ "a": ', /is not what an editor writes/],
  ['is not UTF-8', Buffer.from('{ "a": "\xe9" }', 'latin1'), /cannot be read: it is not UTF-8/],
  ['has a key twice', '{ "agent_servers": {}, "agent_servers": {} }', /has "agent_servers" twice/],
  [
    'has an agent twice',
    '{ "agent_servers": { "Claude (cai)": 1, "Claude (cai)": {} } }',
    /has "Claude \(cai\)" twice/,
  ],
])('leaves alone a file that %s, also where an entry is to go', async (_, before, words) => {
  const file = fileOf('zed', before);

  for (const args of [['zed'], ['zed', '--undo']]) {
    const { status, stderr } = await setup(...args);
    if (status !== 0) expect([status, stderr]).toEqual([2, expect.stringMatching(words)]);
    else expect([args, stderr]).toEqual([['zed', '--undo'], expect.stringContaining('is not in')]);
  }

  expect(readFileSync(file)).toEqual(Buffer.from(before));
  expect(readdirSync(dirname(file))).toEqual(['settings.json']);
});

test('leaves alone a file that is read-only, and a link to nothing', async () => {
  const file = fileOf('zed', '{}');
  chmodSync(file, 0o400);
  mkdirSync(dirname(fileOf('vscode')), { recursive: true });
  symlinkSync('gone.json', fileOf('vscode'));

  expect((await setup('zed')).stderr).toContain(`${file} cannot be written: it is read-only\n`);
  expect((await setup('vscode')).stderr).toContain(
    `${fileOf('vscode')} leads to gone.json, which is not there`,
  );
  expect(readFileSync(file, 'utf8')).toBe('{}');
  expect(readdirSync(dirname(file))).toEqual(['settings.json']);
  await setup('jetbrains');
  chmodSync(fileOf('jetbrains'), 0o400);
  expect((await setup('jetbrains', '--undo')).stderr).toContain('cannot be written: it is read-only\n');
});

test('writes as the file is written: byte order mark, line ends, indentation', async () => {
  const file = fileOf('zed', '\ufeff{\r\n    "a": 1, // x\r\n}\r\n');
  await setup('zed', '--remote', 'wss://build.example');

  expect(readFileSync(file, 'utf8')).toMatch(
    /^\ufeff\{\r\n {4}"a": 1, \/\/ x\r\n {4}"agent_servers": \{\r\n {8}"cai \(build\.example\)": /,
  );
  expect(readFileSync(file, 'utf8')).not.toMatch(/[^\r]\n/);
});

test.each([
  ['a member on its line', '{\n\t"a": { "b": 1 } // x\n}', '{\n\t"a": { "b": 1 }, // x\n\tNEW\n}'],
  ['all on one line', '{ "a": 1 }', '{ "a": 1,\n  NEW\n}'],
  ['a comma on a later line', '{ "a": 1 // x\n  , /* y */\n}', '{ "a": 1 // x\n  , /* y */\n  NEW,\n}'],
  ['a comment below', '{\n   "a": 1,\n   // "b": 2,\n}', '{\n   "a": 1,\n   NEW,\n   // "b": 2,\n}'],
  ['nothing but a comment', '{ // x\n}\n', '{ // x\n  NEW\n}\n'],
  ['no object', '// x', '// x\n{\n  NEW\n}\n'],
])('leaves alone what others have written: %s', async (_, before, after) => {
  const file = fileOf('jetbrains', before);
  await setup('jetbrains', '--remote', 'wss://build.example');

  const text = readFileSync(file, 'utf8');
  expect(text.replace(/^([ \t]*)"agent_servers": \{[^]*?\n\1\}/m, '$1NEW')).toBe(after);
  await setup('jetbrains', '--undo', '--remote', 'wss://build.example');
  expect(readFileSync(file, 'utf8')).toBe(before);
});

test.each(['null', '[]', '"x"'])('refuses settings whose agents are %s', async (servers) => {
  const before = `{ "agent_servers": ${servers} }\n`;
  const file = fileOf('zed', before);

  const { status, stderr } = await setup('zed');

  expect(stderr).toContain('has no object as "agent_servers": correct it, or use --print\n');
  expect(status).toBe(2);
  expect(readFileSync(file, 'utf8')).toBe(before);
});

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

  test.each([
    ['goes with the folders that were made for it', [], ['.config', '.local']],
    ['leaves an empty folder that was there', ['.jetbrains'], ['.config', '.jetbrains', '.local']],
  ])('a file that was not there %s', async (_, before, after) => {
    for (const folder of before) mkdirSync(join(home, folder));
    for (const editor of ['vscode', 'jetbrains']) await setup(editor);
    writeFileSync(join(home, '.config/Code/other'), '');
    for (const editor of ['vscode', 'jetbrains']) await setup(editor, '--undo');

    expect(readdirSync(join(home, '.config/Code'))).toEqual(['other']);
    expect(readdirSync(home)).toEqual(after);
  });

  describe('of entries that were written more than once', () => {
    const run = (host: string, ...args: string[]) =>
      runHere(['setup', 'zed', ...args], { ...user, env: { ...user.env, DOCKER_HOST: host } });

    test.each([
      ['claude', 'codex', 'Codex'],
      ['codex', 'claude', 'Claude'],
    ])('%s, then %s: no entry is left, and the file is what it was', async (first, second, left) => {
      const before = '{\n  "agent_servers": { "mine": 1 }, // x\n}\n';
      const file = fileOf('zed', before);
      for (const host of ['unix:///a', 'unix:///b'])
        for (const agent of ['claude', 'codex']) await run(host, '--agent', agent);

      await run('', '--undo', '--agent', first);

      expect(Object.keys(objectInFile(file, ['agent_servers']))).toEqual(['mine', `${left} (cai)`]);
      await run('', '--undo', '--agent', second);
      expect(readFileSync(file, 'utf8')).toBe(before);
      expect(readdirSync(dirname(file))).toEqual(['settings.json']);
    });

    test('a file that was not there is gone', async () => {
      for (const host of ['unix:///a', 'unix:///b']) await run(host);
      await run('', '--undo');

      expect(existsSync(dirname(fileOf('zed')))).toBe(false);
    });

    test('what somebody has changed between them stays, and is kept', async () => {
      const file = fileOf('zed', '{ "a": 1 }');
      await run('unix:///a');
      const changed = readFileSync(file, 'utf8').replace('"a": 1', '"a": 2 /* new */');
      writeFileSync(file, changed);
      await run('unix:///b');

      await run('', '--undo');

      expect(parse(readFileSync(file, 'utf8'))).toEqual({ a: 2, agent_servers: {} });
      expect(readFileSync(file, 'utf8')).toContain('/* new */');
      expect(readFileSync(`${file}.before-cai-2`, 'utf8')).toBe(changed);
    });
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

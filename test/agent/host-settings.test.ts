import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import { hostSettings } from '../../src/agent/host-settings';
import { AgentFolders, rememberAgentFolders } from '../../src/system/paths/agent-folders';
import { Host } from '../../src/system/host';
import { newFolder } from '../support/temp-folder';

let home: string;

beforeEach(() => (home = newFolder()));

function write(path: string, text: string | Buffer = `text of ${path}`): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function taken(agent: string, names: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const host = new Host({ HOME: home, XDG_STATE_HOME: join(home, 'state'), ...env });
  return hostSettings(names, agent, host, new AgentFolders(host.folders.state));
}

const texts = (found: ReturnType<typeof taken>) =>
  Object.fromEntries(found.shown.map(({ path, text }) => [path, text]));

/** A key of the form that a service gives out, which no scanner of this repository is to find. */
const secret = ['sk', 'ant', 'x'.repeat(40)].join('-');

describe('files and folders', () => {
  test('are taken as they are, with what can be executed, and nothing that is not named', () => {
    write('.claude/CLAUDE.md');
    write('.claude/settings.json');
    write('.claude/.credentials.json', '{}');
    write('.claude/skills/one/SKILL.md');
    chmodSync(write('.claude/skills/one/run.sh'), 0o755);

    const found = taken('claude', ['CLAUDE.md', 'skills']);

    expect(found.links).toEqual(['.claude/CLAUDE.md', '.claude/skills']);
    expect(found.shown.map(({ path, isProgram }) => [path, isProgram])).toEqual([
      ['.claude/CLAUDE.md', false],
      ['.claude/skills/one/SKILL.md', false],
      ['.claude/skills/one/run.sh', true],
    ]);
    expect(found.shown[0]!.text).toBe('text of .claude/CLAUDE.md');
    expect(found.notices).toEqual([]);
  });

  test('are taken from where a variable of the agent says', () => {
    write('elsewhere/AGENTS.md');

    const found = taken('codex', ['AGENTS.md'], { CODEX_HOME: join(home, 'elsewhere') });

    expect(texts(found)).toEqual({ '.codex/AGENTS.md': 'text of elsewhere/AGENTS.md' });
  });

  test('may be links of the user, but nothing in a folder that leads out of it is taken', () => {
    write('dotfiles/CLAUDE.md');
    write('dotfiles/skills/kept/SKILL.md');
    write('outside/SECRET');
    mkdirSync(join(home, '.claude'));
    symlinkSync(join(home, 'dotfiles/CLAUDE.md'), join(home, '.claude/CLAUDE.md'));
    symlinkSync(join(home, 'dotfiles/skills'), join(home, '.claude/skills'));
    symlinkSync(join(home, 'outside/SECRET'), join(home, 'dotfiles/skills/file'));
    symlinkSync(join(home, 'outside'), join(home, 'dotfiles/skills/folder'));
    symlinkSync('kept/SKILL.md', join(home, 'dotfiles/skills/inner'));

    const found = taken('claude', ['CLAUDE.md', 'skills']);

    expect(texts(found)).toEqual({
      '.claude/CLAUDE.md': 'text of dotfiles/CLAUDE.md',
      '.claude/skills/inner': 'text of dotfiles/skills/kept/SKILL.md',
      '.claude/skills/kept/SKILL.md': 'text of dotfiles/skills/kept/SKILL.md',
    });
    expect(found.notices).toEqual([
      expect.stringMatching(
        /skills\/file is a link that leads out of the folder, or to another one, and 1 more$/,
      ),
    ]);
  });

  test('are taken without what is no file in a folder, which is told', () => {
    write('.claude/skills/SKILL.md');
    const folder = join(home, '.claude/skills');
    symlinkSync('gone.md', join(folder, 'dangling'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);

    const found = taken('claude', ['skills']);

    expect(Object.keys(texts(found))).toEqual(['.claude/skills/SKILL.md']);
    expect(found.notices).toEqual([
      expect.stringMatching(/skills\/dangling, because it is no file, and 1 more$/),
    ]);
  });

  test.each([
    ['credentials.json', '{}'],
    ['auth.json', '{}'],
    ['.env', 'A=b'],
    ['server.pem', 'x'],
    ['id_ed25519', 'x'],
    ['oauth_creds.json', '{}'],
    ['notes.md', `the key is ${secret}`],
    ['notes.txt', '-----BEGIN OPENSSH PRIVATE KEY-----'],
    ['fetch.sh', `curl https://user:${'p'.repeat(8)}@example.com`],
    ['picture', Buffer.from([0x89, 0x50, 0, 0xff])],
  ])('of a folder %s is left out, and told', (name, text) => {
    write('.claude/skills/SKILL.md');
    const file = write(`.claude/skills/${name}`, text);

    const found = taken('claude', ['skills']);

    expect(Object.keys(texts(found))).toEqual(['.claude/skills/SKILL.md']);
    expect(found.notices).toEqual([expect.stringContaining(`not given to claude: ${file}, because it`)]);
    expect(found.notices[0]).not.toContain(secret);
  });

  test.each(['authentication.md', 'oauth-guide.md', 'tokens.md', 'key-takeaways.md', 'credentials.md'])(
    'a text named %s is no secret',
    (name) => {
      write(`.claude/skills/${name}`);

      expect(taken('claude', ['skills']).notices).toEqual([]);
    },
  );

  test.each([
    [
      'a name that the agent has not',
      ['AGENTS.md'],
      /"AGENTS.md", which is no setting of that agent: known are CLAUDE.md,/,
    ],
    ['what is not there', ['commands'], /commands is not there/],
    [
      'a file with a key in it',
      ['CLAUDE.md'],
      /CLAUDE.md is not given away, because it holds what looks like a key/,
    ],
    ['too much', ['skills'], /more than 500 files or 512 KiB: name fewer/],
  ])('%s is an error', (_, names, message) => {
    write('.claude/CLAUDE.md', secret);
    write('.claude/skills/one', 'x'.repeat(300 * 1024));
    write('.claude/skills/two', 'x'.repeat(300 * 1024));

    expect(() => taken('claude', names)).toThrow(message);
  });

  test('more files than are possible are an error', () => {
    for (let count = 0; count <= 500; count++) write(`.claude/skills/${count}`, '');

    expect(() => taken('claude', ['skills'])).toThrow(/more than 500 files/);
  });

  test('what an agent could have put there is an error', () => {
    write('dotfiles/CLAUDE.md');
    mkdirSync(join(home, '.claude'));
    symlinkSync(join(home, 'dotfiles/CLAUDE.md'), join(home, '.claude/CLAUDE.md'));
    rememberAgentFolders(join(home, 'state/containai'), [join(home, 'dotfiles')]);

    expect(() => taken('claude', ['CLAUDE.md'])).toThrow(
      /leads through ".*dotfiles", where an agent could put/,
    );
  });

  test.each(['mine', 'cursor', 'constructor'])('%s has no settings that could be named', (agent) => {
    expect(() => taken(agent, ['CLAUDE.md'])).toThrow(/there are none for it/);
    expect(taken(agent, []).shown).toEqual([]);
  });
});

describe('keys of settings', () => {
  const claude = {
    model: 'opus',
    env: { ANTHROPIC_API_KEY: secret },
    apiKeyHelper: '/bin/helper',
    statusLine: { type: 'command', command: 'x' },
    hooks: { Stop: [] },
    permissions: { allow: ['Bash'] },
  };

  test('of Claude are those that are harmless, in a file of its own', () => {
    write('.claude/settings.json', JSON.stringify(claude));

    const found = taken('claude', ['settings.json']);

    expect(found.links).toEqual(['.claude/settings.json']);
    expect(JSON.parse(texts(found)['.claude/settings.json']!)).toEqual({ model: 'opus' });
    expect(found.system).toBeUndefined();
  });

  test('such as hooks and permissions are taken if they are named', () => {
    write('.claude/settings.json', JSON.stringify(claude));

    const found = taken('claude', ['settings.json', 'hooks', 'permissions']);

    const { model, hooks, permissions } = claude;
    expect(JSON.parse(texts(found)['.claude/settings.json']!)).toEqual({ model, hooks, permissions });
  });

  test('of Gemini are put into the settings of the container, without secrets of MCP servers', () => {
    const servers = { one: { command: 'x', args: ['y'], env: { A: 'b' }, headers: { C: 'd' } } };
    write('.gemini/settings.json', `{ // mine\n"model": { "name": "pro" }, "mcpServers": ${JSON.stringify(servers)}, "hooks": {}, }`); // prettier-ignore

    const { system, links } = taken('gemini', ['settings.json', 'mcp']);

    expect(links).toEqual([]);
    expect(system!.path).toBe('/etc/gemini-cli/system-defaults.json');
    expect(JSON.parse(system!.text)).toEqual({
      general: { sessionRetention: { enabled: false } },
      security: expect.anything() as object,
      model: { name: 'pro' },
      mcpServers: { one: { command: 'x', args: ['y'] } },
    });
  });

  test('of Codex are put into the settings of the container, which keep those that it needs', () => {
    write('.codex/config.toml', 'model = "o"\nnotify = ["sh"]\n[mcp_servers.one]\ncommand = "x"\n[mcp_servers.one.env]\nA = "b"\n'); // prettier-ignore

    const { system } = taken('codex', ['config.toml', 'mcp']);

    expect(parse(system!.text)).toMatchObject({
      default_permissions: 'container',
      permissions: { container: { network: { enabled: true } } },
      model: 'o',
      mcp_servers: { one: { command: 'x' } },
    });
    expect(system!.text).not.toMatch(/notify|env/);
  });

  test.each([
    ['opencode', '.config/opencode/opencode.json', 'opencode.json', '{"model":"a/b","provider":{"x":{}}}'],
    ['qwen', '.qwen/settings.json', 'settings.json', '{"model":"a/b","env":{}}'],
    ['copilot', '.copilot/settings.json', 'settings.json', '{"model":"a/b","other":1}'],
  ])('of %s are its model', (agent, path, name, text) => {
    write(path, text);

    const found = taken(agent, [name]);

    expect(JSON.parse(found.shown[0]?.text ?? found.system!.text)).toEqual({ model: 'a/b' });
  });

  test('that hold a key, and a file that cannot be read, are an error that does not quote them', () => {
    write('.copilot/mcp-config.json', JSON.stringify({ mcpServers: { a: { args: [secret] } } }));
    expect(() => taken('copilot', ['mcp'])).toThrow(/mcp-config.json is not given away, because it holds/);

    write('.codex/config.toml', `model = "${secret}`);
    const failing = (): unknown => taken('codex', ['config.toml']);
    expect(failing).toThrow(/config.toml cannot be read/);
    expect(failing).not.toThrow(new RegExp(secret));

    rmSync(join(home, '.codex/config.toml'));
    expect(failing).toThrow(/config.toml is not there/);
  });
});

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configKeys } from '../../../src/config/config';
import { cai, runCli, userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

interface Report {
  readonly workspace: string | null;
  readonly keys: readonly { name: string; value: unknown; from: string[] }[];
  readonly notices: string[];
}

let root: string;
let file: string;

beforeEach(() => {
  root = newFolder();
  file = join(root, '.containai/config.toml');
  mkdirSync(join(root, '.containai'));
  mkdirSync(join(root, 'src'));
});

describe('cai config', () => {
  test('shows each value of a workspace and where it comes from, and says what is ignored', async () => {
    const user = userWith('[container]\npids = 200\n[agents.mine]\ncommand = ["mine", "--acp"]');
    writeFileSync(file, 'container.pids = 100\nimage.base = "evil"');

    const { status, stdout, stderr } = await runHere(['config'], { ...user, cwd: join(root, 'src') });

    expect(status).toBe(0);
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows).toContainEqual(['KEY', 'VALUE', 'FROM']);
    expect(rows).toContainEqual(['agent.default', '"claude"', 'default']);
    expect(rows).toContainEqual(['agents.mine.command', '["mine","--acp"]', `${user.file}:4`]);
    expect(rows).toContainEqual(['container.pids', '100', `${file}:1`]);
    expect(rows).toContainEqual(['container.memory', '-', 'default']);
    expect(stderr).toMatch(/^cai: .*config\.toml:2: "image\.base" is ignored, .* cai trust ".*"\n$/);
  });

  test('shows what is of one agent together', async () => {
    const user = userWith('[agents.b]\ncommand = ["b"]\nname = "B"\n[agents.a]\ncommand = ["a"]\nname = "A"');

    const { stdout } = await runHere(['config'], user);

    expect(stdout.match(/^agents\.\S+/gm)).toEqual(['agents.b.command', 'agents.b.name', 'agents.a.command', 'agents.a.name']); // prettier-ignore
  });

  test('shows the same as JSON', async () => {
    const user = userWith('[network]\nhttp_proxy = "http://me:hunter2@proxy.example:3128"');
    writeFileSync(file, 'acp.terminal = "off"');

    const { status, stdout, stderr } = await runHere(['config', '--json', '--workspace', root], user);

    const { workspace, keys, notices } = JSON.parse(stdout) as Report;
    expect({ status, stderr, workspace }).toEqual({ status: 0, stderr: '', workspace: root });
    expect(keys).toContainEqual({ name: 'container.cpus', value: null, from: ['default'] });
    expect(keys).toContainEqual({
      name: 'network.http_proxy',
      value: 'http://***@proxy.example:3128',
      from: [`${user.file}:2`],
    });
    expect(stdout).not.toContain('hunter2');
    expect(keys).toHaveLength(configKeys.filter(({ path }) => path.length === 2).length);
    expect(notices).toEqual([
      `${file}:1: "acp.terminal" is ignored, because a repository cannot set it: if you want it, put it into ${user.file}`,
    ]);
  });

  test("shows the user's file alone in a folder that cannot be a workspace", async () => {
    const user = userWith('[acp]\nidle = "1h"');

    const { status, stdout } = await runHere(['config', '--json'], { ...user, cwd: '/' });

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ workspace: null, notices: [] });
    expect(stdout).toContain('"1h"');
  });

  test.each([
    ['a folder that cannot be a workspace', ['--workspace', '/'], /^cai: "\/" cannot be a workspace/],
    ['an unknown option', ['--jsno'], /^cai: unknown option '--jsno'.*see "cai config --help"\n$/],
    ['an argument', ['x'], /^cai: it is "get KEY".*\n$/],
  ])('ends with 2 for %s', async (_, args, message) => {
    const { status, stdout, stderr } = await runHere(['config', ...args], userWith(''));

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(message);
  });

  test('ends with 2 for an invalid file of the repository, and names the place', async () => {
    writeFileSync(file, '[container]\npid = 100');

    const { status, stderr } = await runHere(['config'], { ...userWith(''), cwd: root });

    expect(status).toBe(2);
    expect(stderr).toBe(
      `cai: ${file}:2:1: "container.pid" is not a known key: did you mean "container.pids"?\n`,
    );
  });
});

describe('changes of the own file', () => {
  const comment = '# mine\n[network]\negress = "ask" # for now\n';
  let user: ReturnType<typeof userWith>;
  beforeEach(() => {
    user = userWith(comment);
  });
  const config = (...args: string[]) => runHere(['config', ...args], { ...user, cwd: root });

  test.each([
    ['a text without quotes', 'network.egress', 'listed', 'listed'],
    ['a text with quotes', 'agent.default', '"codex"', 'codex'],
    ['a number', 'container.pids', '2000', '2000'],
    ['a number that is to be a text', 'agents.mine.command', '["x", "1"]', '["x","1"]'],
    ['a list', 'image.apt', '["jq", "make"]', '["jq","make"]'],
    ['a name with a dot', 'agents."a.b".command', '["x"]', undefined],
  ])('%s is set and told', async (_, key, value, shown) => {
    expect(await config('set', key, value)).toEqual({
      status: 0,
      stdout: '',
      stderr: `cai: ${key} is set in ${user.file}\n`,
    });
    expect(readFileSync(user.file, 'utf8')).toMatch(/^# mine$/m);
    if (shown !== undefined) expect((await config('get', key)).stdout).toBe(`${shown}\n`);
    else expect((await config('--json')).stdout).toContain('a.b');
  });

  test('what was set is taken out again, with the table that it was alone in', async () => {
    await config('set', 'agents.mine.command', '["x"]');
    await config('set', 'agents.mine.env', '{ A = "1" }');
    await config('unset', 'agents.mine.env.A');

    expect(await config('get', 'agents.mine.env')).toMatchObject({ status: 2 });
    expect((await config('unset', 'agents.mine.command')).stderr).toBe(
      `cai: agents.mine.command is no longer in ${user.file}\n`,
    );
    expect(readFileSync(user.file, 'utf8')).toBe(comment);
    expect((await config('unset', 'agent.default')).stderr).toBe(
      `cai: agent.default is not in ${user.file}\n`,
    );
  });

  test.each([
    [
      '# My settings\n[acp]\nidle = "5m"\n\n# For the office:\n# [network]\n# https_proxy = "x"\n',
      '# My settings\n\n# For the office:\n# [network]\n# https_proxy = "x"\n',
    ],
    [
      '# My settings\n[acp] # why\nidle = "5m"\n# more\n[network]\negress = "ask"\n',
      '# My settings\n# why\n# more\n[network]\negress = "ask"\n',
    ],
    ['# one\nacp.idle = "5m"\n# two\nagent.default = "x"\n', '# two\nagent.default = "x"\n'],
    ['# one\nacp = { idle = "5m" }\n# two\n', '# two\n'],
    ['# one\r\n[acp]\r\nidle = "5m"\r\n\r\n# two\r\n', '# one\r\n\r\n# two\r\n'],
  ])(
    'what is taken out takes no comment with it but that right above its line: %j',
    async (before, after) => {
      writeFileSync(user.file, before);

      await config('unset', 'acp.idle');

      expect(readFileSync(user.file, 'utf8')).toBe(after);
    },
  );

  test('a name that a repository chose does not steer the terminal', async () => {
    const name = 'x\u001b]0;pwned\u0007\u009b31m';
    mkdirSync(join(root, '.containai'), { recursive: true });
    writeFileSync(join(root, '.containai/config.toml'), `[devcontainer]\nname = ${JSON.stringify(name)}\n`);
    try {
      for (const more of [[], ['--json']]) {
        const { stdout } = await config('get', 'devcontainer.name', ...more);

        expect(stdout).toBe('"x\\u001b]0;pwned\\u0007\\u009b31m"\n');
      }
    } finally {
      rmSync(join(root, '.containai/config.toml'));
    }
  });

  test('a draft does not replace what has changed while it was edited', async () => {
    const other = `${process.execPath} ${cai} config set container.pids 200; sed -i s/ask/open/`;

    const { status, stderr } = await edit(other);

    expect(stderr).toContain('has changed meanwhile');
    expect(status).toBe(2);
    const text = readFileSync(user.file, 'utf8');
    expect(text).toContain('pids = 200');
    expect(text).toContain('egress = "ask"');
  });

  test.each([
    [['set', 'network.egress', 'sometimes'], '"network.egress" must be "ask" or "listed" or "open"'],
    [['set', 'container.pids', 'many'], '"container.pids" must be'],
    [['set', 'nothing.here', '1'], '"nothing" is not a known key'],
    [['set', 'a = 1\nb', '1'], 'config.toml'],
    [['set', '[', '1'], '"[" is no key of the configuration'],
    [
      ['get', 'network.egres'],
      '"network.egres" is no key of the configuration: did you mean network.egress?',
    ],
    [['get'], 'it is "get KEY", "set KEY VALUE", "unset KEY", "edit" or nothing'],
    [['set', 'agent.default'], 'it is "get KEY", "set KEY VALUE"'],
    [['edit', 'agent.default'], 'it is "get KEY", "set KEY VALUE"'],
    [['put', 'agent.default'], '"put" is not one of list, get, set, unset, edit: see "cai config --help"'],
  ])('%j is refused and changes nothing', async (args, words) => {
    const { status, stderr } = await config(...args);

    expect(stderr).toContain(words);
    expect(status).toBe(2);
    expect(readFileSync(user.file, 'utf8')).toBe(comment);
  });

  test('a default agent that nobody knows is refused with those that are known, also in a draft', async () => {
    const words = /Unsupported agent: claud\n.*Did you mean claude\? Known agents: claude, gemini, /;

    for (const { status, stderr } of [
      await config('set', 'agent.default', 'claud'),
      await edit(`sed -i '1i agent.default = "claud"'`),
    ])
      expect([status, stderr]).toEqual([expect.any(Number), expect.stringMatching(words)]);
    expect(readFileSync(user.file, 'utf8')).toBe(comment);
  });

  test('a password in an address is not shown', async () => {
    writeFileSync(user.file, '[network]\nhttps_proxy = "http://ann:secret@proxy.example:3128"\n');

    expect((await config('get', 'network.https_proxy')).stdout).toBe('http://***@proxy.example:3128\n');
  });

  const edit = (program: string) =>
    runCli(['config', 'edit'], { ...user, cwd: root, env: { ...user.env, VISUAL: program } });

  test('an editor edits a draft, which replaces the file', async () => {
    expect(await edit('sed -i s/ask/open/')).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(user.file, 'utf8')).toBe(comment.replace('ask', 'open'));
  });

  test('no draft is made where there is no place for one', async () => {
    const env = { ...user.env, TMPDIR: '/no/such/folder' };
    const { stderr } = await runCli(['config', 'edit'], { ...user, cwd: root, env });
    expect(stderr).toBe('cai: /no/such/folder cannot be written: no such file or directory\n');
  });

  test.each([
    ['what cannot be', 'sed -i s/ask/often/', 2, 'must be "ask" or "listed" or "open"\n'],
    ['no change', 'true', 0, 'stays as it is\n'],
    [
      'an editor that fails',
      'sh -c "echo >$1; exit 3"',
      3,
      'stays as it is: the editor ended with status 3\n',
    ],
  ])('%s leaves the file as it is', async (_, program, expected, words) => {
    const { status, stderr } = await edit(program);

    expect(stderr).toContain(words);
    expect(status).toBe(expected);
    expect(readFileSync(user.file, 'utf8')).toBe(comment);
  });
});

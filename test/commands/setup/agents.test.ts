import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalog } from '../../../src/agent/catalog';
import { keepDocument } from '../../../src/agent/registry/acp-registry';
import { Host } from '../../../src/system/host';
import { runCli, userWith, type CliOptions } from '../../support/cli';
import { runHere } from '../../support/cli-here';

const agent = (id: string, distribution: object = { npx: { package: `${id}@1.0.0`, args: ['--acp'] } }) => ({
  ...{ id, name: `The ${id}`, version: '1.0.0', description: `${id} writes code` },
  distribution,
});

/** A user with a copy of the registry that has these agents. */
function userOf(agents: readonly unknown[], config = ''): CliOptions & { env: NodeJS.ProcessEnv } {
  const { env, cwd } = userWith(config);
  keepDocument(new Host(env!), JSON.stringify({ agents }), '2100-01-01T00:00:00Z');
  return { env: env!, ...(cwd !== undefined && { cwd }) };
}

const own = '[agents.mine]\ncommand = ["mine", "acp"]\nname = "My Own"\n';
const listed = [agent('newcomer'), agent('codex-acp'), agent('gemini'), { id: 'bad' }, agent('mine')];

interface Told {
  readonly agents: readonly Readonly<Record<string, unknown>>[];
  readonly dropped: readonly unknown[];
}

describe('cai agents', () => {
  test('lists what cai knows, what is configured and what the registry adds, each program once', async () => {
    const { status, stdout, stderr } = await runHere(['agents'], userOf(listed, own));

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]);
    expect(ids).toEqual(['AGENT', ...Object.keys(catalog), 'mine', 'newcomer']);
    expect(stdout).toMatch(/^newcomer +The newcomer +1\.0\.0 +registry +newcomer writes code$/m);
    expect(stdout).toMatch(/^mine +My Own +- +config\.toml +-$/m);
  });

  test('tells the same as JSON, and what it has left out', async () => {
    const { stdout } = await runHere(['agents', 'list', '--json'], userOf(listed, own));

    const { agents, dropped } = JSON.parse(stdout) as Told;
    expect(agents.find(({ id }) => id === 'newcomer')).toEqual({
      ...{ id: 'newcomer', name: 'The newcomer', version: '1.0.0', description: 'newcomer writes code' },
      ...{ source: 'registry', installs: 'newcomer@1.0.0 (npm)', command: ['newcomer', '--acp'] },
      ...{ aliases: [], website: null, license: null },
    });
    expect(agents.find(({ id }) => id === 'codex')).toMatchObject({ source: 'cai', aliases: ['codex-acp'] });
    expect(dropped).toEqual([{ id: 'bad', reason: 'its distribution is no object' }]);
  });

  test('searches for all words, in whatever case, also among other ids', async () => {
    const user = userOf(listed);
    const found = async (...words: readonly string[]) => {
      const { stdout } = await runHere(['agents', 'search', ...words, '--json'], user);
      return (JSON.parse(stdout) as Told).agents.map(({ id }) => id);
    };

    expect(await found('WRITES', 'newcomer')).toEqual(['newcomer']);
    expect(await found('codex-acp')).toEqual(['codex']);
    expect((await runHere(['agents', 'search', 'nothing-like-it'], user)).stderr).toMatch(/no agent matches/);
  });

  test('shows one, also by another id of it', async () => {
    const user = userOf(listed);

    expect((await runHere(['agents', 'show', 'newcomer'], user)).stdout).toMatch(
      /^installed +newcomer@1\.0\.0 \(npm\)\nstarted by +newcomer --acp\nuse +cai --acp newcomer$/m,
    );
    expect((await runHere(['agents', 'show', 'codex-acp'], user)).stdout).toMatch(/^use +cai --acp codex$/m);
    expect(await runHere(['agents', 'show', 'newcomr'], user)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Did you mean newcomer?') as string,
    });
  });

  test('says where its copy of the registry cannot be used', async () => {
    const user = userOf([agent('newcomer')]);
    writeFileSync(join(new Host(user.env).folders.state, 'agents.json'), '{');

    const { stdout, stderr } = await runHere(['agents'], user);

    expect(stdout).toMatch(/^auggie /m);
    expect(stderr).toMatch(/agents\.json is not used: .*: run "cai agents update"/);
  });

  test('cannot update from where nothing answers, and says what stays', async () => {
    const { status, stderr } = await runHere(
      ['agents', 'update'],
      userWith('[network]\nhttps_proxy = "http://127.0.0.1:1"\n'),
    );

    expect(status).toBe(11);
    expect(stderr).toMatch(
      /the registry of agents, https:\S+, cannot be fetched: .*what is there stays in use/,
    );
  });

  test.each([
    [['serch', 'x'], 'did you mean "cai agents search"?'],
    [['search'], 'name a word'],
    [['show'], 'name one agent'],
    [['show', 'a', 'b'], 'name one agent'],
    [['update', 'x'], 'takes nothing more'],
    [['__proto__'], 'is not one of list, search, show, update'],
  ])('explains a slip: cai agents %j', async (args, what) => {
    const { status, stderr } = await runHere(['agents', ...args], userWith(''));

    expect(status).toBe(2);
    expect(stderr).toContain(what);
  });
});

describe('an agent of the registry on this machine', () => {
  const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n';

  test('runs if it is installed, with its arguments and variables; those of the user win', async () => {
    const npx = { package: 'newcomer@1.0.0', args: ['--acp'], env: { ONE: 'theirs', TWO: 'theirs' } };
    const user = userOf([agent('newcomer', { npx })]);
    const bin = join(user.env.HOME!, 'bin');
    mkdirSync(bin);
    // Tells what it was given as its name.
    const script = `#!/bin/sh\nread -r line\nprintf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"%s","version":"1"}}}\\n' "$* $ONE $TWO" | sed "s/\\"id\\":0/\\"id\\":$(printf '%s' "$line" | sed 's/.*"id":\\([^,]*\\).*/\\1/')/"\ncat > /dev/null\n`;
    writeFileSync(join(bin, 'newcomer'), script);
    chmodSync(join(bin, 'newcomer'), 0o755);
    const env = { ...user.env, ONE: 'mine', PATH: `${bin}:${process.env.PATH}` };

    const { stdout } = await runCli(['--acp', 'newcomer'], { ...user, env, input: initialize });

    expect(JSON.parse(stdout)).toMatchObject({ result: { agentInfo: { name: '--acp mine theirs' } } });
  });

  test('is refused with what to do if it is not installed', async () => {
    const user = userOf([agent('newcomer')]);
    mkdirSync(join(user.cwd!, 'project'));
    const input = `${initialize}{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"${user.cwd}/project","mcpServers":[]}}\n`;
    const { stdout } = await runCli(['--acp', 'newcomer'], { ...user, input });

    expect(stdout).toContain('install newcomer@1.0.0 (npm), and put its program on PATH as newcomer');
  });
});

test('an alias filters as the name of the agent does', async () => {
  const user = userWith('');
  const state = new Host(user.env!).folders.state;
  mkdirSync(join(state, 'logs'), { recursive: true });
  const head = { level: 30, time: '2026-01-01T00:00:00.000Z', pid: 1, agent: 'codex', msg: 'hello' };
  writeFileSync(join(state, 'logs/20260101T000000.000Z-9.log'), `${JSON.stringify(head)}\n`);

  expect((await runHere(['logs', '--agent', 'codex-acp'], user)).stdout).toContain('hello');
  expect((await runHere(['logs', '--agent', 'claude-acp'], user)).stdout).toBe('');
});

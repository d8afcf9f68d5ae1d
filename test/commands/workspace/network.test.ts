import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepDecision, decisionsOf } from '../../../src/network/egress/decisions';
import { recordName } from '../../../src/system/state-folder';
import { agentHosts, commonHosts } from '../../../src/network/egress/listed-hosts';
import { NetworkLog } from '../../../src/network/egress/network-log';
import { Host } from '../../../src/system/host';
import { record } from '../../../src/workspace/records';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';
import { repositoryFileOf } from '../../../src/config/repository/repository-config';
import { loadWorkspaceConfig } from '../../../src/config/effective-config';

/** A user with this configuration, in a repository with that one. */
function userIn(config = '', repository?: string) {
  const root = newFolder();
  mkdirSync(join(root, '.containai'));
  if (repository !== undefined) writeFileSync(join(root, '.containai/config.toml'), repository);
  const user = { ...userWith(config), cwd: root };
  const host = new Host(user.env!);
  const run = (...args: string[]) => runHere(['network', ...args], user);
  return { user, root, host, state: host.folders.state, run };
}

/** The listed rules whose source is not built in, as `effect rule source from`. */
async function listed(run: (...args: string[]) => Promise<{ stdout: string }>): Promise<string[]> {
  const { rules } = JSON.parse((await run('--json')).stdout) as {
    rules: { rule: string; effect: string; source: string; from: string }[];
  };
  return rules
    .filter(({ source }) => source !== 'agent' && source !== 'common')
    .map(({ effect, rule, source, from }) => `${effect} ${rule} ${source} ${from}`);
}

describe('cai network', () => {
  test('lists the mode, and the rules in the order in which they count, with where they come from', async () => {
    const config = '[network]\nallow = ["a.example"]\ndeny = ["b.example"]\n';
    const { user, root, state, run } = userIn(config, '[network]\ndeny = ["c.example"]\n');
    keepDecision(state, root, 'allow', 'd.example:22');
    keepDecision(state, root, 'deny', '*.e.example');

    const { status, stdout, stderr } = await run();

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [mode, head, , ...rows] = stdout.trimEnd().split('\n');
    expect(mode).toBe('egress = "ask" (default): you are asked about a host that no rule names');
    expect(head).toBe(`The first rule that names a host decides, in "${root}", agent claude:`);
    const { telemetry, hosts, signIn } = agentHosts.claude!;
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
      ['deny', 'b.example', `${user.file}:3`],
      ['deny', 'c.example', `${root}/.containai/config.toml:2`],
      ['deny', '*.e.example', 'decided here'],
      ['allow', 'a.example', `${user.file}:2`],
      ['allow', 'd.example:22', 'decided here'],
      ...telemetry.map((rule) => ['deny', rule, 'built in: claude, telemetry']),
      ...hosts.map((rule) => ['allow', rule, 'built in: claude, models']),
      ...signIn.map((rule) => ['allow', rule, 'built in: claude, sign-in']),
      ...commonHosts.map(({ rule, what }) => ['allow', rule, `built in: ${what}`]),
    ]);
  });

  test('lists as JSON, of another agent and another workspace', async () => {
    const { user, root, state } = userIn('network.egress = "listed"');
    keepDecision(state, root, 'allow', 'a.example');
    const args = ['network', 'list', '--json', '--agent', 'copilot', '--workspace', root];

    const { status, stdout } = await runHere(args, { ...user, cwd: newFolder() });

    expect(status).toBe(0);
    const { rules, ...rest } = JSON.parse(stdout) as { rules: object[] };
    expect(rest).toEqual({
      workspace: root,
      agent: 'copilot',
      egress: 'listed',
      egressFrom: `${user.file}:1`,
      hostPorts: [],
      faults: [],
    });
    expect(rules[0]).toEqual({
      rule: 'a.example',
      effect: 'allow',
      source: 'decision',
      from: 'decided here',
    });
    expect(rules[1]).toEqual({
      rule: agentHosts.copilot!.telemetry[0],
      effect: 'deny',
      source: 'agent',
      from: 'built in: copilot, telemetry',
    });
    expect(rules.at(-1)).toMatchObject({ source: 'common' });
  });

  test('shows the ports of this machine that containers reach', async () => {
    const { user, run } = userIn('network.host_ports = [5432, 6379]');

    expect((await run()).stdout).toContain(
      `\nhost_ports = [5432, 6379] (${user.file}:1): ports of this machine that containers reach\n`,
    );
  });

  test('lists no rule where none counts, and nothing of an agent that has no list', async () => {
    const open = userIn('network.egress = "open"\nnetwork.allow = ["a.example"]');
    expect((await open.run()).stdout).toBe(
      `egress = "open" (${open.user.file}:1): containers have the engine's network, and no rule counts\n`,
    );

    const own = userIn('[agents.mine]\ncommand = ["mine"]');
    const { stdout } = await own.run('--agent', 'mine', '--json');
    expect(JSON.parse(stdout)).toHaveProperty('rules.0.source', 'common');
  });

  test('lists the registry that the configuration names for npm, behind the other rules', async () => {
    const { user, run } = userIn('network.npm_registry = "https://npm.corp.example:8443/npm/"');

    expect((await run()).stdout).toMatch(
      new RegExp(`\\nallow +npm\\.corp\\.example:8443 +${user.file}:1\\n$`),
    );
  });

  test('lists the hosts that get a key, behind those that are built in', async () => {
    const credentials =
      '[[credentials]]\nfor = "github"\nfrom = "env:A"\n[[credentials]]\nfor = "b.example"\nfrom = "env:B"\n';
    const { user, run } = userIn(credentials);

    expect((await run()).stdout).toMatch(new RegExp(`\\nallow +b\\.example:443 +${user.file}:5\\n$`));
    expect(await listed(run)).toEqual([
      `allow github.com:443 configuration ${user.file}:2`,
      `allow api.github.com:443 configuration ${user.file}:2`,
      `allow uploads.github.com:443 configuration ${user.file}:2`,
      `allow b.example:443 configuration ${user.file}:5`,
    ]);
  });

  test('has what a trusted repository allows, and not what another one does', async () => {
    const { root, host, state, run } = userIn('', '[network]\nallow = ["a.example"]\n');
    expect(await listed(run)).toEqual([]);

    record(state, 'trusted', repositoryFileOf(root), loadWorkspaceConfig(host, root).repository!.digest);

    expect(await listed(run)).toEqual([`allow a.example repository ${root}/.containai/config.toml:2`]);
  });

  test('allows, denies and forgets, for this workspace alone', async () => {
    const { root, state, run } = userIn();

    expect(await run('allow', 'A.example', '*.b.example:443')).toEqual({
      status: 0,
      stdout: `Allowed, in "${root}": a.example *.b.example:443\n`,
      stderr: '',
    });
    expect(await run('deny', 'a.example', '10.0.0.0/8')).toEqual({
      status: 0,
      stdout: `Denied, in "${root}": a.example 10.0.0.0/8\n`,
      stderr: '',
    });
    expect(decisionsOf(state, root)).toEqual({
      allow: ['*.b.example:443'],
      deny: ['a.example', '10.0.0.0/8'],
    });
    expect(decisionsOf(state, undefined)).toEqual({ allow: [], deny: [] });

    expect(await run('forget', 'A.EXAMPLE')).toEqual({
      status: 0,
      stdout: `Forgotten, in "${root}": A.EXAMPLE\n`,
      stderr: '',
    });
    expect(decisionsOf(state, root).deny).toEqual(['10.0.0.0/8']);
  });

  test('decides for what runs without a workspace only if that is said', async () => {
    const { user, state } = userIn();
    const home = { ...user, cwd: user.env!.HOME! };

    const refused = await runHere(['network', 'allow', 'a.example'], home);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('cannot be a workspace, because it is the home folder');
    expect(decisionsOf(state, undefined).allow).toEqual([]);

    expect((await runHere(['network', 'allow', 'a.example', '--no-workspace'], home)).stdout).toBe(
      'Allowed, without a workspace: a.example\n',
    );
    expect(decisionsOf(state, undefined).allow).toEqual(['a.example']);
    expect((await runHere(['network'], home)).stdout).toContain(
      'decides, without a workspace, agent claude:',
    );
  });

  test.each([
    ['b.example', 'b.example:443', 'the same host, at one of its ports'],
    ['*.b.example', 'x.b.example', 'a host below it'],
    ['*', 'b.example', 'every host'],
    ['b.example:8443', 'b.example:*', 'one of its ports'],
    ['10.0.0.0/8', '10.1.2.3:22', 'its range'],
    ['[fd00::/8]', '[fd00::7]', 'its range'],
  ])('says that a denied %s is stronger than %s: %s', async (denied, allowed) => {
    const { user, root, state, run } = userIn(`network.deny = ["${denied}"]`);

    const { status, stderr } = await run('allow', allowed);

    expect(status).toBe(0);
    expect(stderr).toBe(
      `cai: "${allowed}" stays refused by "${denied}", as deny comes first: remove it from ${user.file}:1\n`,
    );
    expect(decisionsOf(state, root).allow).toEqual([allowed]);
  });

  test.each([
    ['x.b.example', '*.b.example'],
    ['b.example:22', 'b.example'],
    ['c.example', 'b.example'],
    ['10.1.0.0/16', '10.0.0.0/8'],
  ])('says nothing where a denied %s leaves something of %s', async (denied, allowed) => {
    expect((await userIn(`network.deny = ["${denied}"]`).run('allow', allowed)).stderr).toBe('');
  });

  test('says which decision is stronger, and that no rule counts where all is open', async () => {
    const { run } = userIn();
    await run('deny', '*.b.example');
    expect((await run('allow', 'x.b.example')).stderr).toBe(
      'cai: "x.b.example" stays refused by "*.b.example", as deny comes first: cai network forget "*.b.example"\n',
    );

    const open = userIn('network.egress = "open"');
    expect((await open.run('allow', 'a.example')).stderr).toBe(
      `cai: ${open.user.file}:1: "network.egress" is "open", so no rule counts\n`,
    );
  });

  test('says where a rule comes from that cannot be forgotten', async () => {
    const { user, run } = userIn('network.allow = ["a.example"]');

    const { status, stdout, stderr } = await run('forget', 'b.example', 'a.example', 'pypi.org:443');

    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(
      `cai: nothing is decided by "b.example": see "cai network"
cai: nothing is decided by "a.example": it comes from ${user.file}:1
cai: nothing is decided by "pypi.org:443": it is built in: PyPI; to overrule it: cai network deny "pypi.org:443"
`,
    );
  });

  test.each([
    ['https://a.example', 'it is a URL'],
    ['a example', 'it is empty or has spaces'],
    ['0x7f.1', 'this host is written "127.0.0.1"'],
    ['a..example', 'it names no host'],
  ])('keeps nothing if one rule is wrong, and says why: %j', async (wrong, why) => {
    const { root, state, run } = userIn();

    const { status, stdout, stderr } = await run('allow', 'good.example', wrong);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`cai: ${JSON.stringify(wrong)} is no rule: ${why}`);
    expect(stderr).toContain('such as "example.com", "*.example.com:443" or "10.0.0.0/8"\n');
    expect(decisionsOf(state, root).allow).toEqual([]);
  });

  test.each([
    [
      ['alow', 'a.example'],
      '"alow" is not one of list, allow, deny, forget, log, did you mean "cai network allow"?',
    ],
    [['constructor!'], '"constructor!" is not one of list, allow, deny, forget, log: see'],
    [['deny', 'a.example', '--json'], '--json is for list and log: leave it out of "cai network deny"'],
    [['list', '--agent', 'nobody'], 'Unsupported agent: nobody'],
  ])('says what is wrong with the command line: %j', async (args, message) => {
    const { status, stdout, stderr } = await userIn().run(...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('tells that decisions are damaged, and does not overwrite them', async () => {
    const { root, state, run } = userIn();
    mkdirSync(join(state, 'network'), { recursive: true });
    const file = join(state, 'network', `${recordName(root)}.json`);
    writeFileSync(file, '{');

    const shown = await run();
    expect([shown.status, shown.stderr]).toEqual([0, expect.stringContaining(`cai: ${file} is damaged`)]);
    expect(JSON.parse((await run('--json')).stdout)).toMatchObject({
      faults: [expect.stringContaining(file)],
    });
    const changed = await run('allow', 'a.example');
    expect([changed.status, changed.stderr]).toEqual([
      2,
      expect.stringContaining('remove it, then decide again'),
    ]);
  });
});

describe('cai network log', () => {
  test('shows what was asked for, and lets none of it steer the terminal', async () => {
    const { root, state, run } = userIn();
    expect(await run('log')).toEqual({
      status: 0,
      stdout: `Nothing has been asked for, in "${root}".\n`,
      stderr: '',
    });
    const log = new NetworkLog(state, root, 'claude');
    log.note('a.example:443', 'allowed', 'a.example');
    log.note('\u001b[31mx:1', 'refused', 'no rule names it');

    const { status, stdout } = await run('log');

    expect(status).toBe(0);
    const [head, ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(head).toEqual(['TIME', 'AGENT', 'OUTCOME', 'HOST', 'BECAUSE']);
    expect(rows.map(([, ...cells]) => cells)).toEqual([
      ['claude', 'allowed', 'a.example:443', 'a.example'],
      ['claude', 'refused', '\ufffd[31mx:1', 'no rule names it'],
    ]);
  });

  test('is there as JSON', async () => {
    const { root, state, run } = userIn();
    new NetworkLog(state, root, 'claude').note('\u009bx:1', 'refused', 'telemetry');

    const { stdout } = await run('log', '--json');

    expect(stdout).toContain('"\\u009bx:1"');
    expect(JSON.parse(stdout)).toEqual({
      workspace: root,
      entries: [
        {
          at: expect.stringMatching(/Z$/) as string,
          agent: 'claude',
          place: '\u009bx:1',
          outcome: 'refused',
          because: 'telemetry',
        },
      ],
    });
  });

  test('says what to do about a folder that cannot be read', async () => {
    const { state, run } = userIn();
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, 'network'), '');

    const { status, stderr } = await run('log');

    expect(status).toBe(2);
    expect(stderr).toMatch(/\/network cannot be read: not a directory: make .* or set XDG_STATE_HOME/);
  });
});

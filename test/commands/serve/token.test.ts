import { writeFileSync } from 'node:fs';
import { OwnTokens } from '../../../src/served/server/door/own-tokens';
import { Tokens, type TokenRecord } from '../../../src/served/server/door/tokens';
import { Host } from '../../../src/system/host';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';

const people = `
[[serve.users]]
name = "ann"
agents = ["claude", "codex"]
workspaces = ["/srv/shop"]
[[serve.users]]
name = "bot"
agents = "all"
workspaces = "all"
`;

function userIn(config = people) {
  const user = userWith(config);
  return {
    user,
    host: new Host(user.env!),
    run: (...args: string[]) => runHere(['serve', 'token', ...args], user),
  };
}

describe('cai serve token', () => {
  test('prints a new token alone on stdout, and to whom it gives what on stderr', async () => {
    const { host, run } = userIn();

    const { status, stdout, stderr } = await run('add', 'ann');

    expect(status).toBe(0);
    expect(stdout).toMatch(/^cai_[\w-]{43}\n$/);
    expect(stderr).toBe('cai: this token is shown once. It lets ann use claude, codex in "/srv/shop"\n');
    expect(new Tokens(host).holderOf(stdout.trim())).toMatchObject({ name: 'ann' });
    expect((await run('add', 'bot')).stderr).toMatch(/lets bot use all agents in all folders\n$/);
  });

  test('gives nobody a token for whom the configuration says nothing', async () => {
    const { user, run } = userIn('[[serve.users]]\nname = "ann"\nagents = "all"\nworkspaces = "all"');

    const { status, stdout, stderr } = await run('add', 'eve');

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(
      `does not say what eve may use: put into ${user.file}\n[[serve.users]]\nname = "eve"\n`,
    );
    expect((await run('list', '--json')).stdout).toBe('{\n  "tokens": []\n}\n');
  });

  test('lists names and times, and no token', async () => {
    const { host, run } = userIn();
    const tokens = new Tokens(host);
    const own = tokens.ownerToken();
    const given = await tokens.add('ann');
    const { created, sha256 } = tokens.list()[0]!;

    for (const args of [[], ['list'], ['list', '--json']]) {
      const { status, stdout, stderr } = await run(...args);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      for (const secret of [own, given, sha256]) expect(stdout).not.toContain(secret);
      const head = `NAME  CREATED${' '.repeat(created.length - 'CREATED'.length)}  USED  OF`;
      if (args.length < 2) expect(stdout).toBe(`${head}\nann   ${created}  -     a user\n`);
      else expect(JSON.parse(stdout)).toEqual({ tokens: [{ name: 'ann', created, use: 'user' }] });
    }
  });

  test('gives a proxy a token that is kept apart from those of people', async () => {
    const { host, run } = userIn(`${people}[serve]\nidentity_header = "X-Auth-Request-Email"`);

    const { status, stdout, stderr } = await run('add', 'sso', '--proxy');

    expect(status).toBe(0);
    expect(stdout).toMatch(/^cai_[\w-]{43}\n$/);
    expect(stderr).toBe(
      'cai: this token is shown once. Whoever has it comes in as anybody in [[serve.users]] and [[serve.groups]], by the header "X-Auth-Request-Email"\n',
    );
    expect(new Tokens(host).holderOf(stdout.trim())).toMatchObject({ name: 'sso', use: 'proxy' });
    expect((await run('list')).stdout).toMatch(/^sso +\S+ +- +a proxy$/m);
    expect(await run('add', 'ann', '--proxy')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('ann is somebody in [[serve.users]]') as string,
    });
    expect((await run('add', 'sso', '--proxy')).stderr).toContain('revoke sso" first');
  });

  test('gives a program that reads metrics a token that lets nobody in', async () => {
    const { host, run } = userIn(people);

    const { status, stdout, stderr } = await run('add', 'prometheus', '--metrics');

    expect({ status, stderr }).toEqual({
      status: 0,
      stderr:
        'cai: this token is shown once. Whoever has it reads /metrics of the server, and nothing else\n',
    });
    expect(new Tokens(host).holderOf(stdout.trim())).toMatchObject({ name: 'prometheus', use: 'metrics' });
    expect((await run('list')).stdout).toMatch(/^prometheus +\S+ +- +a reader of metrics$/m);
    expect((await run('add', 'ann', '--metrics')).stderr).toContain('ann is somebody in [[serve.users]]');
    expect((await run('add', 'x', '--metrics', '--proxy')).stderr).toContain('a token has one use');
    expect((await run('list', '--metrics')).stderr).toContain('--metrics is for add');
  });

  test('lists tokens that people have made for themselves, and takes all of somebody back at once', async () => {
    const { host, run } = userIn();
    const tokens = new Tokens(host);
    const own = new OwnTokens(tokens, { name: 'ann' });
    await tokens.noteUse(tokens.holderOf(await own.make('"laptop"'))!);
    await tokens.add('ann');
    const [{ used, expires }] = tokens.list() as [TokenRecord];

    expect((await run()).stdout).toMatch(
      new RegExp(`^ann +\\S+ +${used} +a user, who has made it for "\\\\"laptop\\\\""$`, 'm'),
    );
    const { tokens: all } = JSON.parse((await run('list', '--json')).stdout) as { tokens: object[] };
    expect(all[0]).toMatchObject({ name: 'ann', use: 'user', label: '"laptop"', used, expires });
    expect(await run('revoke', 'ann')).toMatchObject({
      status: 0,
      stderr: 'cai: all 2 tokens of "ann" are revoked\n',
    });
    expect(tokens.list()).toEqual([]);
  });

  test('takes a token back, also of somebody whom the configuration no longer has', async () => {
    const { user, host, run } = userIn();
    const { stdout } = await run('add', 'ann');
    writeFileSync(user.file, '');

    expect(await run('revoke', 'ann')).toEqual({
      status: 0,
      stdout: '',
      stderr: 'cai: the token of "ann" is revoked\n',
    });
    expect(new Tokens(host).holderOf(stdout.trim())).toBeUndefined();
    const again = await run('revoke', 'ann');
    expect(again).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('"ann" has no token') as string,
    });
  });

  test.each([
    [['ravoke', 'ann'], '"ravoke" is not one of add, list, revoke, did you mean "cai serve token revoke"?'],
    [['add'], 'say whose: cai serve token add NAME'],
    [['revoke'], 'say whose: cai serve token revoke NAME'],
    [['list', 'ann'], '"cai serve token list" takes no name: leave out "ann"'],
    [['add', 'ann', '--json'], '--json is for list'],
    [['add', 'owner'], 'choose another name'],
    [['add', 'owner', '--proxy'], 'choose another name'],
    [['add', 'sso', '--proxy'], 'does not say in which header the proxy names people'],
    [['revoke', 'sso', '--proxy'], '--proxy is for add'],
    [['add', '../ann'], '"../ann" is no name'],
    [['add', ''], '"" is no name'],
    [['add', 'a\nb'], 'is no name'],
    [['add', 'a'.repeat(65)], 'is no name'],
  ])('says what is wrong with %j', async (args, message) => {
    const { status, stdout, stderr } = await userIn().run(...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('explains itself', async () => {
    const { status, stdout } = await userIn().run('--help');

    expect(status).toBe(0);
    expect(stdout).toMatch(/^Usage: cai serve token /);
  });
});

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Check } from '../../src/commands/doctor/checks';
import { testUnless } from './engines';
import { agent, cai, config, listed, made, runIn, volumeOf } from './own-agent';
import { Place } from './place';
import { docker, newWorkspace, user } from './support';

/** With the packages that are in the image. */
beforeAll(() => cai.configure(config));

describe('cai doctor', () => {
  async function examine(cwd: string, ...args: string[]) {
    const { status, stdout } = await runIn(cwd, ['doctor', '--json', ...args]);
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
    const of = (wanted: Check['status']): string[] =>
      checks.filter((check) => check.status === wanted && check.name !== 'editor').map(({ name }) => name);
    return { status, ok, of, find: (name: string): Check => checks.find((check) => check.name === name)! };
  }

  const inside = ['as made', 'ssh', 'agent', 'data'];

  test('makes no container to look at', async () => {
    const workspace = newWorkspace();

    const { status, ok, of } = await examine(workspace);

    expect({ status, ok, warn: of('warn'), skip: of('skip') }).toEqual({
      status: 0,
      ok: true,
      warn: [],
      skip: inside,
    });
    expect(await listed('--all')).toEqual([]);
  });

  test('tells an image that is not there, and builds none', async () => {
    const workspace = newWorkspace();
    const other = `${agent}-other`;
    const its = `${config}[agents.${other}]\ncommand = ["other"]\npackages = ["other"]\n`;

    cai.configure(its);
    const allowed = await examine(workspace, '--agent', other);
    cai.configure(`${its}[image]\nauto_build = false\n`);
    const forbidden = await examine(workspace, '--agent', other);
    cai.configure(its.replace('packages = ["other"]', ''));
    const empty = await examine(workspace, '--agent', other);
    cai.configure(config);

    expect([allowed.status, allowed.find('image')]).toEqual([
      0,
      {
        name: 'image',
        status: 'warn',
        detail: `there is no containai:${other} yet: the first command builds it, which takes minutes`,
        remedy: `cai build ${other}`,
      },
    ]);
    expect([forbidden.status, forbidden.find('image').status]).toEqual([1, 'fail']);
    expect(empty.find('image').detail).toBe(`there is no containai:${other} yet`);
    expect(empty.find('image').remedy).toContain(`"packages" in [agents.${other}]`);
    expect(await docker('images', '--quiet', `containai:${other}`)).toBe('');
  });

  test('looks into a container that runs, and starts none that does not', async () => {
    const workspace = newWorkspace();
    await made(workspace);
    const volume = await volumeOf((await listed())[0]!);

    const running = await examine(workspace);
    await runIn(workspace, ['stop']);
    const stopped = await examine(workspace);

    expect([running.status, running.of('warn'), running.of('skip')]).toEqual([0, [], []]);
    expect(running.find('ssh').detail).toMatch(/^connected in \d+ ms; a command took \d+ ms$/);
    expect(running.find('agent').detail).toBe(`${agent}: /usr/local/lib/cai/agent/bin/claude-agent-acp`);
    expect(running.find('data').detail).toBe(volume);
    expect([stopped.status, stopped.of('warn'), stopped.of('skip')]).toEqual([0, [], ['ssh', 'agent']]);
    expect(await listed()).toEqual([]);
  });

  test('finds what is wrong inside, each for itself', async () => {
    const workspace = newWorkspace();
    await made(workspace);
    await docker(
      'run',
      '--rm',
      '--user',
      '0',
      '--volume',
      `${await volumeOf((await listed())[0]!)}:/v`,
      `containai:${agent}`,
      'chown',
      '12:34',
      '/v',
    );
    cai.configure(config.replace('claude-agent-acp', 'no-such-agent'));

    const { status, of, find } = await examine(workspace);
    cai.configure(config);

    expect({ status, fail: of('fail') }).toEqual({ status: 1, fail: ['agent', 'data'] });
    expect(find('agent').detail).toBe('no-such-agent is not in the container');
    expect(find('agent').remedy).toContain(`cai build ${agent}, then cai exec --fresh -- true`);
    expect(find('data').detail).toContain(`belongs to 12:34, and commands run as ${user.uid}:${user.gid}`);
  });

  test('tells a container that is paused or of an old configuration', async () => {
    const workspace = newWorkspace();
    await made(workspace);
    const [{ name } = { name: '' }] = await listed();

    await docker('pause', name);
    const paused = await examine(workspace);
    await docker('unpause', name);
    cai.configure(`${config}[container]\npids = 500\n`);
    const outdated = await examine(workspace);
    cai.configure(config);

    expect([paused.of('fail'), paused.find('container').remedy]).toEqual([
      ['container'],
      `docker unpause ${name}`,
    ]);
    expect([outdated.of('fail'), outdated.of('warn')]).toEqual([[], ['container']]);
  });

  testUnless('changes of a container')('tells a container that is not as it was made', async () => {
    const workspace = newWorkspace();
    await made(workspace);
    const [{ name } = { name: '' }] = await listed();

    await docker('update', '--pids-limit', '300', name);
    const changed = await examine(workspace);

    expect(changed.of('fail')).toEqual(['as made']);
    expect(changed.find('as made').detail).toContain('pids should be 1024, and is 300');
  });

  test('finds no sign-in in what is none, and leaves that', async () => {
    const place = new Place(cai, newWorkspace(), ['--agent', 'claude']);
    const odd = ['ln -s .credentials.json $f', 'ln -s /etc $f', 'mkfifo $f', 'mkdir $f', 'truncate -s 1T $f', 'head -c 99999 /dev/urandom > $f', 'rm -r ~/.data/.claude; ln -s .claude ~/.data/.claude', 'rm ~/.data/.claude; echo > ~/.data/.claude']; // prettier-ignore

    for (const each of odd) {
      await place.prints(['sh', '-c', `f=$HOME/.data/.claude/.credentials.json; rm -rf $f 2>&1; ${each}`]);
      expect((await examine(place.workspace)).find('sign-ins').detail).toBe('nobody has signed in');
    }
  });

  test('finds a sign-in inside a volume, and moves it to this machine', async () => {
    const place = new Place(cai, newWorkspace(), ['--agent', 'claude']);
    const file = '$HOME/.claude/.credentials.json';
    const claudeAiOauth = { accessToken: 'sk-ant-oat01-made-up', refreshToken: 'sk-ant-ort01-made-up', expiresAt: 1, scopes: ['user:inference'] }; // prettier-ignore
    const text = JSON.stringify({ claudeAiOauth, mcpOAuth: { other: { accessToken: 'of-another' } } });
    await place.prints(['sh', '-c', `umask 077; printf %s "$1" > ${file}`, 'sh', text]);
    const data = await place.inspect('{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}}{{end}}{{end}}');
    const found = `claude is signed in inside the volume ${data}`;
    const mine = ['ps', '--all', '--quiet', '--filter', `label=containai.user=${user.uid}`];
    const containers = await docker(...mine);

    const { find } = await examine(place.workspace);
    const running = cai.startInTerminal(['doctor'], { cwd: place.workspace });
    await running.says(`${found}; to move that out, end it first: cai stop `);
    await running.succeeds();
    await runIn(place.workspace, ['stop', '--agent', 'claude']);
    const refused = cai.startInTerminal(['doctor'], { cwd: place.workspace });
    await refused.says(`for ${place.workspace}? [y/N]`);
    refused.child.stdin.write('\r');
    await refused.succeeds();
    const before = (await place.run(['sh', '-c', `cat ${file}`])).stdout.toString();
    await runIn(place.workspace, ['stop', '--agent', 'claude']);
    const agreed = cai.startInTerminal(['doctor'], { cwd: place.workspace });
    await agreed.says(`for ${place.workspace}? [y/N]`);
    agreed.child.stdin.write('y\r');
    await agreed.says(`the volume ${data} has placeholders`);
    await agreed.succeeds();

    expect(find('sign-ins')).toMatchObject({ status: 'warn', detail: found });
    expect(before).toBe(text);
    const folder = join(cai.home, 'state/containai/credentials/sign-ins/claude');
    const [name = '', ...others] = readdirSync(folder);
    expect({ name, others }).toEqual({
      name: expect.stringMatching(/^[0-9a-f]{64}\.json$/) as string,
      others: [],
    });
    const kept = join(folder, name);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(kept, 'utf8'))).toMatchObject({
      generation: 1,
      tokens: { access: 'sk-ant-oat01-made-up', refresh: 'sk-ant-ort01-made-up' },
    });
    expect(await docker(...mine)).toBe(containers);
    const after = await examine(place.workspace);
    expect(after.find('sign-ins')).toMatchObject({ status: 'ok', detail: 'sign-ins of claude are kept on this machine' }); // prettier-ignore
    const there = await place.prints(['sh', '-c', `cat ${file}; stat -c %a:%u:%g ${file}; grep -r made-up ~/.data || echo none`]); // prettier-ignore
    expect(there).toMatch(/caiplaceholderrefreshx[0-9a-f]{12}x0/);
    expect(there).toContain('of-another');
    expect(there).toMatch(new RegExp(`\n600:${user.uid}:${user.gid}\nnone$`));
  });
});

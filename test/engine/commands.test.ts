import { rmSync } from 'node:fs';
import {
  agent,
  cai,
  config,
  listed,
  made,
  runIn,
  sharedVolume,
  sharingConfig,
  startIn,
  volumeOf,
} from './own-agent';
import { docker, newWorkspace } from './support';

describe('cai ps', () => {
  test('lists containers with their age and the commands in them', async () => {
    const workspace = newWorkspace();
    await made(workspace);
    const beganAt = Date.now();

    const [idle] = await listed();
    const command = await startIn(workspace);
    const [busy] = await listed();
    const { stdout } = await runIn(workspace, ['ps']);
    const images = JSON.parse((await runIn(workspace, ['images', '--json'])).stdout) as object[];

    expect(idle).toMatchObject({ agent, workspace, state: 'running', commands: 0 });
    expect(idle!.id).toMatch(/^[0-9a-f]{64}$/);
    expect(Math.abs(Date.parse(idle!.createdAt) + idle!.ageMs - beganAt)).toBeLessThan(10_000);
    expect(busy!.commands).toBe(1);
    expect(images).toContainEqual(
      expect.objectContaining({
        agents: expect.arrayContaining([agent]) as string[],
        containers: expect.arrayContaining([idle!.name]) as string[],
      }),
    );
    const [header, ...lines] = stdout.split('\n');
    expect(header).toMatch(/^NAME +AGENT +WORKSPACE +STATE +AGE +COMMANDS$/);
    const line = lines.find((each) => each.startsWith(idle!.name))!;
    expect(line.split(/ +/).slice(1, 4)).toEqual([agent, workspace, 'running']);
    expect(line).toMatch(/ \d+[smh] +1$/);
    command.child.kill();
    await command.ended;
  });

  test('does not list what only looks like ours', async () => {
    const labels = [`containai.agent=${agent}`, 'containai.workspace=/w', 'containai.user=4294967000'];
    const options = ['containai.managed=true', ...labels].flatMap((each) => ['--label', each]);
    const id = await docker('create', ...options, `containai:${agent}`, 'true');

    const found = await listed('--all');
    const { status } = await runIn(cai.home, ['rm', '--all', '--agent', agent]);
    const removed = await docker('rm', id);

    expect({ found, status, removed }).toEqual({ found: [], status: 0, removed: id });
  });
});

describe('a container that is named', () => {
  test('is stopped and removed from anywhere, and no other', async () => {
    const [one, other] = [newWorkspace(), newWorkspace()];
    await made(one);
    await made(other);
    const { name } = (await listed()).find(({ workspace }) => workspace === one)!;
    const volume = await volumeOf({ name });

    const stopped = await runIn(cai.home, ['stop', name]);
    const running = await listed();
    const removed = await runIn(cai.home, ['rm', name]);
    const left = await listed('--all');

    expect(stopped).toEqual({ status: 0, stdout: '', stderr: `cai: stopped ${name}\n` });
    expect(running.map(({ workspace }) => workspace)).toEqual([other]);
    expect(removed).toEqual({
      status: 0,
      stdout: '',
      stderr: `cai: removed ${name}\ncai: what the agent keeps stays in the volume ${volume}\n`,
    });
    expect(left.map(({ workspace }) => workspace)).toEqual([other]);
  });
});

describe('cai stop', () => {
  test('ends a container that the next command starts again', async () => {
    const workspace = newWorkspace();
    await made(workspace);
    const [before] = await listed();

    const { status, stdout, stderr } = await runIn(workspace, ['stop']);
    const running = await listed();
    const all = await listed('--all');
    await made(workspace);
    const [after] = await listed();

    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: '',
      stderr: `cai: stopped ${before!.name}\n`,
    });
    expect(running).toEqual([]);
    expect(all).toMatchObject([{ id: before!.id, state: 'exited', commands: 0 }]);
    expect(after!.id).toBe(before!.id);
  });

  test('says what runs, and leaves it alone where nobody can be asked', async () => {
    const workspace = newWorkspace();
    const command = await startIn(workspace);
    const [{ name } = { name: '' }] = await listed();

    const refused = await runIn(workspace, ['stop']);
    const [still] = await listed();
    const forced = await runIn(workspace, ['stop', '--force']);

    expect(refused).toEqual({
      status: 2,
      stdout: '',
      stderr: `cai: 1 command runs in the container ${name}:\n  sleep 1000\nUse --force to end them.\n`,
    });
    expect(still!.commands).toBe(1);
    expect(forced.status).toBe(0);
    const ended = await command.ends();
    expect(ended.status).not.toBe(0);
    // That it was stopped, or only that the connection is lost, if the container still ends.
    expect(ended.stderr).toContain(name);
    expect(ended.stderr).not.toContain('ended with status');
  });

  test('asks on a terminal', async () => {
    const workspace = newWorkspace();
    const command = await startIn(workspace);

    const answer = async (text: string): Promise<number | null> => {
      const stop = cai.startInTerminal(['stop'], { cwd: workspace });
      await stop.says('End them? [y/N]');
      stop.child.stdin.write(text);
      return (await stop.ends()).status;
    };

    expect(await answer('\n')).toBe(1);
    expect(await listed()).toMatchObject([{ commands: 1 }]);
    expect(await answer('y\n')).toBe(0);
    expect(await listed()).toEqual([]);
    await command.ends();
  });
});

describe('cai rm', () => {
  afterEach(() => cai.configure(config));

  const volumes = async () =>
    await docker('volume', 'ls', '--quiet', '--filter', `label=containai.agent=${agent}`);

  test('keeps what the agent keeps, until that is to go as well', async () => {
    const workspace = newWorkspace();
    await runIn(workspace, ['exec', '--', 'sh', '-c', 'echo mine > ~/.claude/note']);
    const volume = await volumeOf((await listed())[0]!);

    const removed = await runIn(workspace, ['rm']);
    const left = await listed('--all');
    const { stdout } = await runIn(workspace, ['exec', '--', 'sh', '-c', 'cat ~/.claude/note']);
    const removedAll = await runIn(workspace, ['rm', '--volumes', '--yes']);

    expect(removed.status).toBe(0);
    expect(removed.stderr).toContain(`what the agent keeps stays in the volume ${volume}`);
    expect(left).toEqual([]);
    expect(stdout).toBe('mine\n');
    expect(removedAll.stderr).toContain(`removed the volume ${volume}`);
    expect(await volumes()).toBe('');
  });

  test('removes the data of one workspace and no other', async () => {
    const [one, other] = [newWorkspace(), newWorkspace()];
    await made(one);
    await made(other);
    const left = (await listed()).find(({ workspace }) => workspace === other)!;

    expect(await runIn(one, ['rm', '--volumes', '--yes'])).toMatchObject({ status: 0 });

    expect(await volumes()).toBe(await volumeOf(left));
  });

  test('keeps a volume that other containers use', async () => {
    cai.configure(sharingConfig);
    const [one, other] = [newWorkspace(), newWorkspace()];
    await made(one);
    await made(other);
    const { name } = (await listed()).find(({ workspace }) => workspace === other)!;

    // Nobody need agree to what does not happen.
    const { status, stderr } = await runIn(one, ['rm', '--volumes']);

    expect(status).toBe(0);
    expect(stderr).toContain(`kept the volume ${sharedVolume}: it serves ${name}, too`);
    expect(await listed()).toMatchObject([{ workspace: other }]);
  });

  test('says how volumes go whose containers have gone', async () => {
    const { stderr } = await runIn(newWorkspace(), ['rm', '--volumes', '--agent', agent]);

    expect(stderr).toMatch(
      /^cai: nothing to remove: .*; what no container uses goes with: cai rm --volumes --all --agent ".*"\n$/,
    );
  });

  test('removes all, and volumes whose containers have gone', async () => {
    const [one, other] = [newWorkspace(), newWorkspace()];
    await made(one);
    await made(other);
    const kept = await Promise.all((await listed()).map(volumeOf));
    const removed = kept.sort().map((name) => `cai: removed the volume ${name}, with what the agent kept\n`);
    await runIn(one, ['rm']);
    await runIn(other, ['stop']);
    await runIn(other, ['rm']);

    const { status, stderr } = await runIn(cai.home, [
      'rm',
      '--all',
      '--agent',
      agent,
      '--volumes',
      '--force',
    ]);

    expect(removed).toHaveLength(2);
    expect(stderr.split(/(?<=\n)/).sort()).toEqual(removed);
    expect(status).toBe(0);
  });

  test.each([
    ['what the workspace has', '', config, volumeOf],
    ['what all workspaces share', ' for all workspaces', sharingConfig, () => Promise.resolve(sharedVolume)],
  ])(
    'asks on a terminal before %s goes, and refuses where nobody can be asked',
    async (_, where, its, volumeIn) => {
      cai.configure(its);
      const workspace = newWorkspace();
      await made(workspace);
      const question = `This removes the data of ${agent}${where}: settings, history, and sign-ins that are kept there.`;

      const refused = await runIn(workspace, ['rm', '--volumes']);
      const rm = cai.startInTerminal(['rm', '--volumes'], { cwd: workspace });
      await rm.says(`${question} Go on? [y/N]`);
      rm.child.stdin.write('\n');
      const { status } = await rm.ends();

      expect(refused).toEqual({
        status: 2,
        stdout: '',
        stderr: `cai: ${question} Use --yes to agree, or leave out --volumes.\n`,
      });
      expect(status).toBe(1);
      const [kept] = await listed();
      expect(kept).toMatchObject({ workspace });
      expect(await volumes()).toBe(await volumeIn(kept!));
    },
  );

  test('finds the container of a folder that is gone', async () => {
    const workspace = newWorkspace();
    await made(workspace);
    rmSync(workspace, { recursive: true });

    const { status } = await runIn(cai.home, ['rm', '--workspace', workspace]);

    expect(status).toBe(0);
    expect(await listed('--all')).toEqual([]);
  });

  test('says what runs, and leaves it alone where nobody can be asked', async () => {
    const workspace = newWorkspace();
    const command = await startIn(workspace);

    const { status, stderr } = await runIn(workspace, ['rm']);

    expect(status).toBe(2);
    expect(stderr).toContain('  sleep 1000\n');
    expect(await listed()).toMatchObject([{ commands: 1 }]);
    command.child.kill();
    await command.ended;
  });
});

describe('cai shell', () => {
  test('has the environment, the folder and the exit status of a command', async () => {
    const workspace = newWorkspace();
    const { stdout: expected } = await runIn(workspace, [
      'exec',
      '--',
      'sh',
      '-c',
      'echo "<$PATH> <$HOME> <$PWD>"',
    ]);

    const shell = cai.startInTerminal(['shell'], { cwd: workspace });
    await shell.says('$ ');
    shell.child.stdin.write('echo "<$PATH> <$HOME> <$PWD>"; exit 7\n');
    const { status } = await shell.ends();

    expect(status).toBe(7);
    expect(shell.stdout.toString()).toContain(expected.trimEnd());
  });
});

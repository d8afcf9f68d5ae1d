/** An environment that a stranger's repository, a broken disk or a careless parent has prepared. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { leave } from '../support/dialogue';
import { cai, runCli } from '../support/cli';
import { World } from '../support/world';
import { newFolder } from '../support/temp-folder';

/** Makes a program that leaves a mark where it runs; returns where. */
function trap(program: string): string {
  const mark = join(newFolder(), 'it ran');
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(program, `#!/bin/sh\ntouch "${mark}"\n`);
  chmodSync(program, 0o755);
  return mark;
}

describe('a repository', () => {
  let world: World | undefined;
  afterEach(() => world?.end());

  test.each(['', 'rel'])('is not taken for the home folder by HOME=%j', async (HOME) => {
    const repository = newFolder();
    const program = join(repository, 'evil');
    const mark = trap(program);
    mkdirSync(join(repository, HOME, '.config/containai'), { recursive: true });
    const config = `[agents.evil]\ncommand = ["${program}"]\n`;
    writeFileSync(join(repository, HOME, '.config/containai/config.toml'), config);
    const env = { HOME, XDG_STATE_HOME: newFolder(), XDG_CONFIG_HOME: '', CAI_ACP_DIRECT_SPAWN: '1' };
    const input = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n';

    expect((await runCli(['--acp', 'evil'], { env, cwd: repository, input })).stdout).toBe('');
    expect(existsSync(mark)).toBe(false);
  });

  test.each([
    ['an empty entry', (path: string) => `:${path}`],
    ['a relative folder', (path: string) => `bin:${path}`],
  ])('is not looked into for programs because of %s in PATH', async (_, pathOf) => {
    let marks: string[] = [];
    world = await World.start({
      args: ['named'],
      config: '[agents.named]\ncommand = ["named"]\n',
      env: { PATH: pathOf(process.env.PATH!) },
      prepare: ({ folder }) => {
        const programs = ['git', 'named', 'bin/git', 'bin/named'];
        marks = programs.map((name) => trap(join(folder, 'own', name)));
      },
    });

    await world.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
    await world.request('session/new', { cwd: join(world.folder, 'own'), mcpServers: [] });

    expect(marks).toHaveLength(4);
    expect(marks.filter(existsSync)).toEqual([]);
  });
});

describe('initialize is answered', () => {
  let world: World;
  afterEach(() => world.end());

  test('without a place for temporary files, where the working directory is no workspace', async () => {
    world = await World.start({ cwd: '/', env: { TMPDIR: '/nonexistent' } });

    expect(await world.request('initialize', { protocolVersion: 1 })).toHaveProperty('result');
    expect(await leave(world)).toBe(0);
  });

  test('without any place for files', async () => {
    const env = { TMPDIR: '/nonexistent', XDG_STATE_HOME: '/dev/null/state' };
    world = await World.start({ cwd: '/', env });

    expect(await world.request('initialize', { protocolVersion: 1 })).toHaveProperty('result');
    expect(await world.request('authenticate', { methodId: 'key' })).toHaveProperty('error');
    expect(await leave(world)).toBe(0);
  });

  test('where the log has no room', async () => {
    world = await World.start({ env: { CAI_LOG_FILE: '/dev/full', CAI_LOG_LEVEL: 'debug' } });

    expect(await world.request('initialize', { protocolVersion: 1 })).toHaveProperty('result');
    expect(await leave(world)).toBe(0);
  });
});

describe('cai --acp', () => {
  const config = '[agents.a]\ncommand = ["/bin/true"]\n';
  const input = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n';

  test('says in a sentence that the log cannot be written to a folder', async () => {
    const home = homeWith(config);
    const env = { HOME: home, CAI_ACP_DIRECT_SPAWN: '1', CAI_LOG_FILE: home };

    const { status, stderr } = await runCli(['--acp', 'a'], { env, input });

    expect(status).toBe(2);
    expect(stderr).toMatch(/^cai: CAI_LOG_FILE .*\n$/);
  });

  test('answers in a folder that is gone', async () => {
    const folder = join(newFolder(), 'gone');
    mkdirSync(folder);
    const script = join(newFolder(), 'in-no-folder.cjs');
    writeFileSync(
      script,
      `require('fs').rmdirSync(${JSON.stringify(folder)}); require(${JSON.stringify(cai)});`,
    );
    const env = { HOME: homeWith(config), CAI_ACP_DIRECT_SPAWN: '1' };

    const { status, stdout } = await runCli(['--acp', 'a'], { env, cwd: folder, input, program: script });

    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
    expect(status).toBe(0);
  });
});

/** A home folder with that config. */
function homeWith(config: string): string {
  const home = newFolder();
  mkdirSync(join(home, '.config/containai'), { recursive: true });
  writeFileSync(join(home, '.config/containai/config.toml'), config);
  return home;
}

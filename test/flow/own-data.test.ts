/** Where a sign-in goes, for all workspaces or for one; no engine is needed to see that. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Host } from '../../src/system/host';
import { takeToken } from '../../src/agent/editor-token';
import { cai, runCli, userWith } from '../support/cli';
import { runHere } from '../support/cli-here';
import { newFolder } from '../support/temp-folder';

const own = '[agent]\ndata = "workspace"\n';
const shared = '[agent]\ndata = "shared"\n';
const open = '[network]\negress = "open"\n';
/** Ignored, and told of, wherever the repository's file is read. */
const widening = '[acp]\nterminal = "off"\n[mcp]\nhost_servers = ["x"]\n';
const hello = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: 1, clientCapabilities: { _meta: { 'terminal-auth': true } } },
});

/** The environment of a user with this config and no engine. */
function userEnv(config = ''): NodeJS.ProcessEnv {
  const ours = { CAI_ACP_DIRECT_SPAWN: '0', DOCKER_HOST: 'unix:///none.sock', XDG_RUNTIME_DIR: newFolder() };
  return userWith(config, ours).env!;
}

/** Runs `cai` in a folder, as such a user. */
async function run(args: readonly string[], cwd: string, config?: string) {
  const env = userEnv(config);
  return { env, ...(await runHere(args, { env, cwd })) };
}

/** A proxy that runs, and the tokens of the sign-ins that it offers. */
async function proxyIn(cwd: string, env: NodeJS.ProcessEnv, agent = 'claude') {
  const child = spawn(process.execPath, [cai, '--acp', agent], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const gone = once(child, 'close');
  child.stdin.write(`${hello}\n`);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { result } = JSON.parse(line) as {
    result: { authMethods: { _meta: { 'terminal-auth': { args: string[] } } }[] };
  };
  return { child, gone, tokens: result.authMethods.map(({ _meta }) => _meta['terminal-auth'].args.at(-1)!) };
}

/** A workspace whose repository says this. */
function workspace(config?: string): string {
  const root = realpathSync(newFolder());
  mkdirSync(join(root, '.containai'));
  mkdirSync(join(root, 'src'));
  if (config !== undefined) writeFileSync(join(root, '.containai/config.toml'), config);
  return root;
}

describe('a sign-in that an editor is offered', () => {
  /** In which folders those to an agent run that an editor gets which starts us in `cwd`. */
  async function places(agent: string, cwd: string, config?: string): Promise<(string | undefined)[]> {
    const env = userEnv(config);
    const { child, gone, tokens } = await proxyIn(cwd, env, agent);
    const folders = tokens.map((token) => takeToken(new Host(env), token).workspace);
    child.stdin.end();
    await gone;
    return folders;
  }

  test.each([
    ['is kept outside of containers', 'claude', undefined, ''],
    ['is kept outside, and the repository has data of its own', 'claude', own, shared],
    ['is in data that is shared', 'opencode', undefined, shared],
    [
      'is in data that is shared, and the repository says something else',
      'opencode',
      '[container]\npids = 100\n',
      shared,
    ],
  ])('is for all workspaces where it %s', async (_, agent, repository, user) => {
    const found = await places(agent, workspace(repository), user);

    expect(new Set(found)).toEqual(new Set([undefined]));
  });

  // Its root is looked for when the sign-in runs.
  test.each([
    ['is in its data', 'opencode', undefined],
    ['is not kept outside, because containers have a network of their own', 'claude', open],
  ])('is for the workspace, named by any folder of it, where it %s', async (_, agent, user) => {
    const root = workspace();

    for (const folder of [root, join(root, 'src')])
      expect(new Set(await places(agent, folder, user))).toEqual(new Set([folder]));
  });

  const left = (env: NodeJS.ProcessEnv) => readdirSync(join(env.XDG_RUNTIME_DIR!, 'containai/terminals'));

  test("is nobody's any more when its proxy has ended", async () => {
    const env = userEnv();
    const { child, gone, tokens } = await proxyIn(workspace(), env);
    child.stdin.end();
    await gone;

    expect(left(env)).toEqual([]);
    expect(() => takeToken(new Host(env), tokens[0]!)).toThrow('unknown');
  });

  test('is removed by the next proxy, whatever that is for, when its own was killed', async () => {
    const env = userEnv();
    const { child, gone, tokens } = await proxyIn(workspace(), env);
    child.kill('SIGKILL');
    await gone;
    const kept = left(env).length;
    expect(() => takeToken(new Host(env), tokens[0]!)).toThrow('too old');
    await runCli(['--acp', 'claude'], { env, cwd: workspace() });

    expect([kept, left(env)]).toEqual([2, []]);
  });
});

describe.each(['login', 'logout'])('cai %s', (command) => {
  test.each([
    ['the agent keeps it in its data', 'opencode', '', ''],
    ['the repository says so', 'opencode', own, shared],
  ])('is for the workspace where %s', async (_, agent, repository, user) => {
    const folder = join(workspace(repository + widening), 'src');
    const { status, stderr } = await run([command, agent], folder, user);

    expect(stderr).toContain('keys are ignored: see "cai config"');
    expect(status).toBe(11);
  });

  test.each([
    ['the sign-in is kept outside of containers', 'claude', own, ''],
    ['data is shared', 'opencode', '', shared],
  ])('is for all where %s', async (_, agent, repository, user) => {
    const folder = join(workspace(repository + widening), 'src');
    const { status, stderr } = await run([command, agent], folder, user);

    expect(stderr).not.toContain('ignored');
    expect(status).toBe(11);
  });

  test('says where to go, if it would be for one workspace and there is none', async () => {
    const { status, stderr } = await run([command, 'opencode'], '/');

    expect(stderr).toContain(
      'the sign-in to "opencode" is for one workspace, and this folder is in none: run this in a project\'s folder, or name one with --workspace',
    );
    expect(status).toBe(2);
  });
});

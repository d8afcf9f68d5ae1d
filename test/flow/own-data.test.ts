/** Where a sign-in goes when a workspace has data of its own; no engine is needed to see that. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Host } from '../../src/system/host';
import { signInToken } from '../../src/sign-in/sign-in-argument';
import { takeToken } from '../../src/agent/editor-token';
import { cai, runCli, userWith } from '../support/cli';
import { newFolder } from '../support/temp-folder';

const own = '[agent]\ndata = "workspace"\n';
/** Ignored, and told of, wherever the repository's file is read. */
const widening = '[acp]\nfs = "editor"\n[mcp]\nhost_servers = ["x"]\n';
const hello = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: 1, clientCapabilities: { auth: { terminal: true } } },
});

/** The environment of a user with this config and no engine. */
function userEnv(config = ''): NodeJS.ProcessEnv {
  const ours = { CAI_ACP_DIRECT_SPAWN: '0', DOCKER_HOST: 'unix:///none.sock', XDG_RUNTIME_DIR: newFolder() };
  return userWith(config, ours).env!;
}

/** Runs `cai` in a folder, as such a user. */
async function run(args: readonly string[], cwd: string) {
  const env = userEnv();
  return { env, ...(await runCli(args, { env, cwd })) };
}

/** A proxy that runs, and the tokens of the sign-ins that it offers. */
async function proxyIn(cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [cai, '--acp', 'claude'], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const gone = once(child, 'close');
  child.stdin.write(`${hello}\n`);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { result } = JSON.parse(line) as { result: { authMethods: { args: string[] }[] } };
  return { child, gone, tokens: result.authMethods.map(({ args }) => signInToken(args)!) };
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
  /** In which workspaces those run that an editor gets which starts us in `cwd`. */
  async function places(cwd: string, config?: string): Promise<(string | undefined)[]> {
    const env = userEnv(config);
    const { child, gone, tokens } = await proxyIn(cwd, env);
    const roots = tokens.map((token) => takeToken(new Host(env), token).workspace);
    child.stdin.end();
    await gone;
    return roots;
  }

  test.each([
    ['nobody says so', undefined, ''],
    ['the repository says something else', '[acp]\nfs = "off"\n', ''],
  ])('is for all workspaces where %s', async (_, repository, user) => {
    expect(await places(workspace(repository), user)).toEqual([undefined, undefined]);
  });

  test('is for the workspace where the user says so', async () => {
    const root = workspace();

    expect(await places(root, own)).toEqual([root, root]);
  });

  test('is for the workspace where its repository says so, in any folder of it', async () => {
    const root = workspace(own);

    expect(await places(root)).toEqual([root, root]);
    expect(await places(join(root, 'src'))).toEqual([root, root]);
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

describe.each([
  ['login', ['login', 'claude']],
  ['logout', ['logout', 'claude']],
])('cai %s', (_, args) => {
  test('is for the workspace if its repository says so, and else for all', async () => {
    const inOwn = await run(args, join(workspace(own + widening), 'src'));
    const inShared = await run(args, join(workspace(widening), 'src'));

    expect(inOwn.stderr).toContain('keys are ignored: see "cai config"');
    expect(inShared.stderr).not.toContain('ignored');
    for (const { status } of [inOwn, inShared]) expect(status).toBe(11);
  });
});

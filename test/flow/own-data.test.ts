/** Where a sign-in goes when a workspace has data of its own; no engine is needed to see that. */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signInToken } from '../../src/agent/sign-in-argument';
import { takeToken } from '../../src/agent/terminal-token';
import { runCli, userWith } from '../support/cli';
import { newFolder } from '../workspace/temp-folder';

const own = '[agent]\ndata = "workspace"\n';
/** Ignored, and told of, wherever the repository's file is read. */
const widening = '[acp]\nfs = "editor"\n[mcp]\nhost_servers = ["x"]\n';
const hello = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: 1, clientCapabilities: { auth: { terminal: true } } },
});

/** Runs `cai` in a folder, as a user with this config and no engine. */
async function run(args: readonly string[], cwd: string, config = '', input = '') {
  const ours = { CAI_ACP_DIRECT_SPAWN: '0', DOCKER_HOST: 'unix:///none.sock', XDG_RUNTIME_DIR: newFolder() };
  const env = userWith(config, ours).env!;
  return { env, ...(await runCli(args, { env, cwd, input })) };
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
    const { env, stdout } = await run(['--acp', 'claude'], cwd, config, `${hello}\n`);
    const { result } = JSON.parse(stdout) as { result: { authMethods: { args: string[] }[] } };
    return result.authMethods.map(({ args }) => takeToken(env, signInToken(args)!).workspace);
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
});

describe.each([
  ['login', ['login', 'claude']],
  ['logout', ['logout', 'claude']],
])('cai %s', (_, args) => {
  test('is for the workspace if its repository says so, and else for all', async () => {
    const inOwn = await run(args, join(workspace(own + widening), 'src'));
    const inShared = await run(args, join(workspace(widening), 'src'));

    expect(inOwn.stderr).toContain('"mcp.host_servers" is ignored');
    expect(inShared.stderr).not.toContain('is ignored');
    for (const { status } of [inOwn, inShared]) expect(status).toBe(11);
  });
});

/** Statement L5 and invariant 10: what cannot be started, and who is told. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runCli, type CliResult } from '../support/cli';
import { leave } from '../support/dialogue';
import { failure } from '../support/messages';
import { World } from '../support/world';

describe('a proxy that cannot be started', () => {
  let home: string;
  beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'cai-start-'))));
  afterEach(() => rmSync(home, { recursive: true }));

  /** Runs `cai --acp` with that config, and an editor that would like to initialize. */
  async function start(args: readonly string[], config = ''): Promise<CliResult> {
    const file = join(home, '.config/containai/config.toml');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, config);
    const input = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n';
    return await runCli(['--acp', ...args], { env: { HOME: home, CAI_ACP_DIRECT_SPAWN: '1' }, input });
  }

  test.each([
    ['an unknown agent', ['nobody'], '', /Unsupported agent: nobody\nKnown agents: [^\n]*$/],
    ['a config with an unknown key', ['claude'], '[acp]\nspeed = 1', /config\.toml[^\n]*speed/],
  ])(
    'L5 ends with a status that is not 0 and the reason last on stderr: %s',
    async (_, args, config, reason) => {
      const { status, stdout, stderr } = await start(args, config);

      expect(status).toBeGreaterThan(0);
      expect(stdout).toBe('');
      expect(stderr.trim()).toMatch(reason);
      expect(stderr).not.toMatch(/^ +at /m);
    },
  );
});

describe('an agent that cannot be started', () => {
  let world: World;
  afterEach(() => world.end());

  test.each([
    ['is not there', '["/no/such/agent"]', /"\/no\/such\/agent" was not found/],
    ['may not be run', '["/dev/null"]', /may not be executed/],
    ['ends at once', '["/bin/sh", "-c", "echo no licence >&2; exit 3"]', /exited with status 3: no licence/],
    [
      'speaks another version',
      `["/bin/sh", "-c", "sed -u 's/\\"method\\".*/\\"result\\":{\\"protocolVersion\\":2}}/'"]`,
      /does not speak ACP version 1/,
    ],
  ])('L5 fails the request that needs it with -32603 and the cause, if it %s', async (_, command, cause) => {
    const config = `[restart]\nfirst_delay = "0s"\n[agents.broken]\ncommand = ${command}`;
    world = await World.start({ args: ['broken'], config });
    const hello = await world.request('initialize', { protocolVersion: 1 });
    const response = await world.request('session/new', { cwd: world.workspace('own'), mcpServers: [] });

    expect(hello).toHaveProperty('result.protocolVersion', 1);
    expect(response).toMatchObject(failure(response.id, -32603));
    expect(response).toHaveProperty('error.message', expect.stringMatching(cause));
    expect(await leave(world)).toBe(0);
  });

  test('L5 fails the request that needs it, if it refuses to initialize', async () => {
    world = await World.start({ agentHello: false });
    const hello = world.ask('initialize', { protocolVersion: 1 });
    const refusing = await world.agent();
    const error = { code: -32603, message: 'no licence' };
    await refusing.answer('initialize', { error });
    await refusing.sawEof;
    refusing.order({ exit: 0 });

    expect(await world.editor.response(hello)).toHaveProperty('result.protocolVersion', 1);
    await refusing.gone;
    const kept = keptLogs(world);
    expect(kept).toContain('AGENT_START');
    expect(kept).not.toContain('no licence');
    expect(await world.lastWords()).toContain('no licence');
  });

  test('L5 is started for the next request, when the cause is gone', async () => {
    const env = ({ folder }: World): NodeJS.ProcessEnv => ({
      PATH: `${folder}/own/bin:${process.env.PATH!}`,
    });
    world = await World.initialized({ args: ['late'], env, config: '[agents.late]\ncommand = ["late"]' });
    const cwd = world.workspace('own');
    const failed = await world.request('session/new', { cwd, mcpServers: [] });
    world.program('own/bin/late');

    expect(failed).toEqual(failure(failed.id, -32603));
    expect((await world.session(cwd, 's1')).id).not.toBe('');
  });
});

/** What the proxies of a world have logged to files. */
function keptLogs({ folder }: World): string {
  const logs = join(folder, 'home/.local/state/containai/logs');
  return readdirSync(logs)
    .map((name) => readFileSync(join(logs, name), 'utf8'))
    .join('');
}

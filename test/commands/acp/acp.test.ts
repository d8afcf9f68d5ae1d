import { readdirSync } from 'node:fs';
import { takeRecordOption } from '../../../src/commands/acp/acp';
import { failure } from '../../support/messages';
import { World, type WorldOptions } from '../../support/world';

const hello = { protocolVersion: 1, clientCapabilities: {} };

describe('cai --acp', () => {
  let world: World;
  afterEach(() => world.end());

  /** The arguments that the agent was started with. */
  async function argumentsOf(options: WorldOptions): Promise<string[]> {
    world = await World.initialized(options);
    return (await world.agent()).hello!.argv;
  }

  /** Puts an agent of that name on the PATH of the proxy, whose own directory is `own`. */
  const withProgram = (name: string, env: NodeJS.ProcessEnv = {}): WorldOptions => ({
    env: ({ folder }) => ({ PATH: `${folder}/own/bin:${process.env.PATH!}`, ...env }),
    prepare: (fresh) => void fresh.program(`own/bin/${name}`),
  });

  test('appends further arguments to the agent’s command, without a shell', async () => {
    const further = ['--model', 'a b', '$HOME', '', '*'];

    expect(await argumentsOf({ args: ['puppet', ...further] })).toEqual(further);
  });

  test('starts the agent that is configured as default where none is named', async () => {
    const options = { args: [], config: '[agent]\ndefault = "puppet"' };

    expect(await argumentsOf(options)).toEqual([]);
  });

  test('starts claude where none is named or configured', async () => {
    expect(await argumentsOf({ args: [], ...withProgram('claude-agent-acp') })).toEqual([]);
  });

  test('starts a known agent by its own command', async () => {
    const options = { args: ['gemini', 'more'], ...withProgram('gemini') };

    expect(await argumentsOf(options)).toEqual(['--acp', 'more']);
  });

  test('lets the config replace the command of a known agent', async () => {
    const config = '[agents.claude]\ncommand = ["mine", "x y"]\nname = "My Claude"';

    expect(await argumentsOf({ args: ['claude', '-z'], ...withProgram('mine'), config })).toEqual([
      'x y',
      '-z',
    ]);
  });

  describe('in test mode', () => {
    const env = { CAI_ACP_TEST_MODE: '1' };

    test('runs exactly "claude --acp"', async () => {
      const options = { args: ['claude', 'more'], ...withProgram('claude', env) };

      expect(await argumentsOf(options)).toEqual(['--acp', 'more']);
    });

    test('takes a name with a slash from the proxy’s own directory', async () => {
      const prepare = (fresh: World): void => void fresh.program('own/tools/mine');

      expect(await argumentsOf({ args: ['./tools/mine'], env, prepare })).toEqual(['--acp']);
      const opened = await world.session(world.workspace('elsewhere'), 's1');
      expect(opened.agent.hello).toMatchObject({ argv: ['--acp'], cwd: world.workspace('elsewhere') });
    });

    test.each(['x; touch pwned', '$(touch pwned)'])('gives the name %s to no shell', async (name) => {
      world = await World.initialized({ args: [name], env });

      const opened = await world.request('session/new', { cwd: world.workspace('a'), mcpServers: [] });

      expect(opened).toEqual(failure(2, -32603));
      const files = readdirSync(world.folder, { recursive: true, encoding: 'utf8' });
      expect(files.filter((file) => file.endsWith('pwned'))).toEqual([]);
    });
  });

  test('tells every agent not to look for updates', async () => {
    const check = 'test "$CAI_NO_UPDATE_CHECK" = 1 && exec "$0" "$@"';
    const config = `[agents.checked]\ncommand = ["sh", "-c", ${JSON.stringify(check)}, "mine"]`;
    const options = { args: ['checked'], ...withProgram('mine', { CAI_NO_UPDATE_CHECK: '0' }), config };

    expect(await argumentsOf(options)).toEqual([]);
  });

  test('answers initialize without the agent that is not there, and names it where a session needs it', async () => {
    const options = { args: ['gone'], config: '[agents.gone]\ncommand = ["no-such-agent"]' };
    world = await World.start(options);

    const initialized = await world.request('initialize', hello);
    const opened = await world.request('session/new', { cwd: world.workspace('a'), mcpServers: [] });

    expect(initialized.result).toEqual({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] });
    const file = `${world.folder}/home/.config/containai/config.toml`;
    const message = `agent "gone" could not be started: "no-such-agent" was not found: install it, or name its full path in ${file}: a line [agents.gone], and below it command = ["/full/path"]`;
    expect(opened.error).toEqual({ code: -32603, message });
  });
});

describe('takeRecordOption', () => {
  test.each([
    [[], [], undefined],
    [['claude', '-x'], ['claude', '-x'], undefined],
    [['--record', 'f', 'claude', '-x'], ['claude', '-x'], 'f'],
    [['--record=f', 'claude'], ['claude'], 'f'],
    [['claude', '--record', 'f', '-x'], ['claude', '-x'], 'f'],
    [['claude', '--record=a=b'], ['claude'], 'a=b'],
    [['--record', 'f'], [], 'f'],
    [['claude', '-x', '--record', 'f'], ['claude', '-x', '--record', 'f'], undefined],
    [['claude', '--recorder', 'f'], ['claude', '--recorder', 'f'], undefined],
    [['-x', '--record', 'f'], ['-x', '--record', 'f'], undefined],
  ])('takes from %j what is ours', (given, args, file) => {
    expect(takeRecordOption(given)).toEqual({ args, file });
  });

  test.each([[['--record']], [['claude', '--record']], [['--record=', 'claude']], [['--record', '']]])(
    'refuses %j, which names no file',
    (args) => {
      expect(() => takeRecordOption(args)).toThrow('--record needs a file: cai --acp --record FILE AGENT');
    },
  );
});

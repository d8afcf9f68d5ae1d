import { shippedProfile } from '../../../src/acp/profiles/profiles';
import { Host } from '../../../src/system/host';
import { catalog, resolveAgent, type AgentCommand } from '../../../src/agent/catalog';
import recorded from '../../../src/acp/profiles/shipped-profiles.json';
import { loadConfig, type Config } from '../../../src/config/config';
import { newFolder } from '../../support/temp-folder';

const config = loadConfig(new Host({ HOME: newFolder() }));
const claude = commandOf('claude');

describe('shippedProfile', () => {
  test.each(Object.keys(recorded))('is of the version of %s that our image has', (name) => {
    const packages = [...catalog[name]!.packages];

    expect(recorded[name as keyof typeof recorded].packages).toEqual(packages);
    const { agentInfo, protocolVersion } = answerOf(commandOf(name), {});
    expect(protocolVersion).toBe(1);
    expect(packages.join()).toContain(`@${agentInfo.version}`);
  });

  test.each(['claude', 'gemini', 'codex', 'opencode'])('is there for %s', (name) => {
    expect(answerOf(commandOf(name), {}).agentCapabilities).toMatchObject({ loadSession: true });
  });

  test('depends on what the client offers as the agent’s own answer does', () => {
    const types = (capabilities: Readonly<Record<string, unknown>>): unknown[] =>
      answerOf(claude, capabilities).authMethods.map(({ type, _meta }) => [type, typeof _meta]);

    expect(types({})).toEqual([]);
    expect(types({ auth: { terminal: false }, _meta: { 'terminal-auth': false } })).toEqual([]);
    expect(types({ auth: { terminal: true }, terminal: true })).toEqual([
      ['terminal', 'undefined'],
      ['terminal', 'undefined'],
    ]);
    expect(types({ _meta: { 'terminal-auth': true } })).toEqual([
      ['terminal', 'object'],
      ['terminal', 'object'],
    ]);
  });

  test.each<[string, AgentCommand, Partial<Config>]>([
    ['has arguments of the user', commandOf('claude', ['--x']), {}],
    ['is one of the user', { ...claude, name: 'mine' }, {}],
    ['has the name of what every object inherits', { ...claude, name: 'toString' }, {}],
    ['is not installed from npm', commandOf('cursor'), {}],
    [
      'has other packages',
      claude,
      { agents: { claude: { command: ['claude-agent-acp'], packages: ['claude@1'] } } },
    ],
    ['is in an image that the user has added to', claude, { image: { ...config.image, dockerfile: '/d' } }],
  ])('is not there for an agent that %s', (_, agent, changes) => {
    expect(shippedProfile(agent, { ...config, ...changes }, {})).toBeUndefined();
  });

  test('is there for an agent that the user has only given another name to show', () => {
    const agents = { claude: { command: ['claude-agent-acp'], name: 'Mine' } } as const;

    expect(shippedProfile(claude, { ...config, agents }, {})).toBeDefined();
  });
});

interface Answer {
  readonly protocolVersion: number;
  readonly agentInfo: { readonly version: string };
  readonly agentCapabilities: unknown;
  readonly authMethods: readonly { readonly type?: string; readonly _meta?: unknown }[];
}

function answerOf(agent: AgentCommand, capabilities: Readonly<Record<string, unknown>>): Answer {
  return JSON.parse(shippedProfile(agent, config, capabilities)!) as Answer;
}

function commandOf(name: string, args: readonly string[] = []): AgentCommand {
  return resolveAgent(name, args, { agents: {}, host: new Host({ HOME: '/nobody' }) });
}

import { agentNameOf, aliases, catalog, installationFor, resolveAgent } from '../../src/agent/catalog';
import { keepDocument } from '../../src/agent/registry/acp-registry';
import { CaiError } from '../../src/errors';
import { Host } from '../../src/system/host';
import { newFolder } from '../support/temp-folder';

type CatalogOptions = Parameters<typeof resolveAgent>[2];

const usual: CatalogOptions = {
  agents: {},
  host: new Host({ HOME: '/nobody', XDG_CONFIG_HOME: '/c' }, '/srv'),
};

describe('catalog', () => {
  test.each(Object.entries(catalog))('%s has a name for people and commands without a shell', (_, entry) => {
    expect(entry.displayName).not.toBe('');
    expect(entry.command.length).toBeGreaterThan(0);
    expect(entry.command.filter((word) => !/^[\w.-]+$/.test(word))).toEqual([]);
  });
});

describe('resolveAgent', () => {
  test('knows how each agent is told to speak ACP', () => {
    const commands = Object.keys(catalog).map((name) => resolveAgent(name, [], usual).command.join(' '));

    expect(commands).toEqual([
      ...['claude-agent-acp', 'gemini --acp', 'codex-acp', 'opencode acp', 'qwen --acp'],
      ...['copilot --acp', 'cursor-agent acp'],
    ]);
  });

  test('finds a known agent, with the arguments of the command line behind its own', () => {
    expect(resolveAgent('gemini', ['--model', 'x y'], usual)).toMatchObject({
      name: 'gemini',
      displayName: 'Gemini CLI',
      command: ['gemini', '--acp', '--model', 'x y'],
    });
  });

  test('prefers what the user has configured, also under the name of a known agent', () => {
    const agents: CatalogOptions['agents'] = {
      claude: { command: ['/opt/claude', '-x'] },
      own: { command: ['own'], name: 'My Agent' },
    };

    expect(resolveAgent('claude', ['-y'], { ...usual, agents })).toMatchObject({
      name: 'claude',
      displayName: 'Claude',
      command: ['/opt/claude', '-x', '-y'],
    });
    expect(resolveAgent('own', [], { ...usual, agents })).toMatchObject({ displayName: 'My Agent' });
  });

  test.each(['nobody', '', 'toString', '__proto__', 'constructor'])(
    'refuses %j, and tells which are known',
    (name) => {
      const agents: CatalogOptions['agents'] = { own: { command: ['own'] } };

      const failure = failureOf(() => resolveAgent(name, [], { ...usual, agents }));

      expect(failure.code).toBe('UNSUPPORTED_AGENT');
      expect(failure.message.split('\n')[0]).toBe(`Unsupported agent: ${name}`);
      expect(failure.message).toContain('claude, gemini, codex, opencode, qwen, copilot, cursor, own');
      expect(failure.message).toContain(
        '/c/containai/config.toml: a line [agents.NAME], and below it command',
      );
    },
  );

  test('says where the configuration names an agent that is none', () => {
    const failure = failureOf(() => resolveAgent('nobody', [], { ...usual, namedAt: () => 'FILE:2' }));

    expect(failure.message.split('\n')[0]).toBe('Unsupported agent: nobody (FILE:2)');
  });

  test.each([
    ['gemeni', 'gemini'],
    ['owm', 'own'],
  ])('asks whether %s was meant as %s', (name, meant) => {
    const agents: CatalogOptions['agents'] = { own: { command: ['own'] } };

    const { message } = failureOf(() => resolveAgent(name, [], { ...usual, agents }));

    expect(message).toContain(`\nDid you mean ${meant}? Known agents: `);
  });

  test.each(Object.entries(aliases))('knows %s as %s, which the user can overrule', (alias, name) => {
    const agents: CatalogOptions['agents'] = { [alias]: { command: ['own'] } };

    expect(resolveAgent(alias, [], usual)).toEqual(resolveAgent(name, [], usual));
    expect(resolveAgent(alias, [], { ...usual, agents })).toMatchObject({ name: alias, command: ['own'] });
  });

  test('finds an agent of the registry, started as that says', () => {
    expect(resolveAgent('auggie', ['-x'], usual)).toEqual({
      name: 'auggie',
      displayName: 'Auggie CLI',
      command: ['auggie', '--acp', '-x'],
      env: { AUGMENT_DISABLE_AUTO_UPDATE: '1' },
      remedy: expect.stringMatching(
        /^install @augmentcode\/auggie@\S+ \(npm\), and put its program on PATH as auggie, or let it run in a container/,
      ) as string,
    });
  });

  describe('in test mode', () => {
    const options: CatalogOptions = { agents: {}, host: new Host({ CAI_ACP_TEST_MODE: '1' }, '/srv') };

    test.each([
      ['agent', 'agent'],
      ['./agent', '/srv/agent'],
      ['bin/agent', '/srv/bin/agent'],
      ['/opt/agent', '/opt/agent'],
      ['claude', 'claude'],
    ])('runs %s as "%s --acp"', (name, program) => {
      expect(resolveAgent(name, ['-x'], options)).toMatchObject({
        name,
        displayName: name,
        command: [program, '--acp', '-x'],
      });
    });

    test('does not look at what is configured', () => {
      const agents: CatalogOptions['agents'] = { agent: { command: ['/opt/other'] } };

      expect(resolveAgent('agent', [], { ...options, agents }).command).toEqual(['agent', '--acp']);
    });
  });
});

describe('agentNameOf', () => {
  test.each([
    ['codex-acp', 'codex'],
    ['codex', 'codex'],
    ['auggie', 'auggie'],
    ['nobody', 'nobody'],
    ['__proto__', '__proto__'],
  ])('knows %s as %s', (given, name) => expect(agentNameOf(given, {})).toBe(name));
});

describe('installationFor', () => {
  const installed = (name: string, agents: CatalogOptions['agents'] = {}, host = usual.host) =>
    installationFor(name, agents, host);

  test('is for agents that only the registry has', () => {
    expect(installed('auggie')).toMatchObject({ program: 'auggie', from: { kind: 'npm' } });
    for (const name of ['claude', 'gemini', 'opencode', 'nobody', 'cursor'])
      expect(installed(name)).toBeUndefined();
  });

  test("is for none that is the user's own", () => {
    expect(installed('auggie', { auggie: { command: ['mine'] } })).toBeUndefined();
  });

  test('is for one of ours that npm does not have, once the registry has it', () => {
    const host = new Host({ HOME: newFolder() });
    const archive = 'https://example.com/agent-cli-package.tar.gz';
    const target = { archive, cmd: './dist-package/cursor-agent', args: ['acp'] };
    const distribution = { binary: { 'linux-x86_64': target } };
    const entry = { id: 'cursor', name: 'Cursor', version: '2100.01.01', description: 'x', distribution };
    keepDocument(host, JSON.stringify({ agents: [entry] }), '2100-01-01T00:00:00Z');

    expect(installed('cursor', {}, host)).toMatchObject({
      program: 'cursor-agent',
      from: { kind: 'archive', targets: { x86_64: { archive } } },
    });
  });
});

function failureOf(call: () => unknown): CaiError {
  try {
    call();
  } catch (error) {
    if (error instanceof CaiError) return error;
  }
  throw new Error('it has not failed');
}

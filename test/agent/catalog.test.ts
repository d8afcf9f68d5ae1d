import { catalog, resolveAgent } from '../../src/agent/catalog';
import { CaiError } from '../../src/errors';

type CatalogOptions = Parameters<typeof resolveAgent>[2];

const usual: CatalogOptions = { agents: {}, isTestMode: false, configFile: '/c/config.toml', cwd: '/srv' };

describe('catalog', () => {
  test.each(Object.entries(catalog))('%s has a name for people and commands without a shell', (_, entry) => {
    expect(entry.displayName).not.toBe('');
    expect(entry.command.length).toBeGreaterThan(0);
    expect(entry.command.filter((word) => !/^[\w.-]+$/.test(word))).toEqual([]);
  });
});

describe('resolveAgent', () => {
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
      expect(failure.message).toContain('/c/config.toml: a line [agents.NAME], and below it command');
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

  describe('in test mode', () => {
    const options: CatalogOptions = { ...usual, isTestMode: true };

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

function failureOf(call: () => unknown): CaiError {
  try {
    call();
  } catch (error) {
    if (error instanceof CaiError) return error;
  }
  throw new Error('it has not failed');
}

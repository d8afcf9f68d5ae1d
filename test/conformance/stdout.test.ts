/** Statements T1 and T9, invariant 1: what is on stdout, and what is not. */
import { leave, sentBy, startCall } from '../support/dialogue';
import { World, type WorldOptions } from '../support/world';

const levels = ['trace', 'silent', 'no level'];

/** Everything that gives the proxy a reason to say something. */
async function makeNoise(world: World): Promise<void> {
  const { id, agentId, agent } = await world.session(world.workspace('a'), 's1');
  agent.order({ err: 'a warning of the agent\n' });
  agent.send('npm warn deprecated\n{"jsonrpc":"2.0","id":"?"}\n[]\n');
  agent.send({ id: 0, method: 'fs/read_text_file', params: { sessionId: agentId, path: '/etc/passwd' } });
  agent.send({ id: 'nobody asked', result: {} });
  await sentBy(world, agent);
  world.send('this is not JSON\n[]\n{}\n');
  await world.request('session/prompt', { sessionId: 'no' });
  await world.request('session/new', { cwd: '/no/such/folder', mcpServers: [] });
  const prompt = await startCall(world, agent, 'session/prompt', { sessionId: id, prompt: [] });
  agent.order({ err: 'last words\n', exit: 3 });
  await world.editor.response(prompt.id);
}

/** Ends the proxy; fails unless all that it has written is messages. */
async function expectPure(world: World): Promise<void> {
  expect(await leave(world)).toBe(0);

  expect(world.editor.rest.toString()).toBe('');
  expect(world.editor.lines.length).toBeGreaterThan(0);
  for (const line of world.editor.lines) {
    expect(JSON.parse(line.toString())).toMatchObject({ jsonrpc: '2.0' });
  }
}

let world: World;
afterEach(() => world.end());

describe('stdout', () => {
  test.each(levels)('T1 has messages and nothing else, with CAI_LOG_LEVEL=%s', async (level) => {
    world = await World.initialized({ env: { CAI_LOG_LEVEL: level } });
    await makeNoise(world);

    await expectPure(world);
  });

  test('T1 has messages and nothing else where the log goes to a file', async () => {
    world = await World.initialized({ env: { CAI_LOG_LEVEL: 'debug', CAI_LOG_FILE: '/dev/null' } });
    await makeNoise(world);

    await expectPure(world);
    expect(world.stderr).toBe('');
  });

  test.each<[string, WorldOptions, NodeJS.ProcessEnv]>([
    ['with each session in a process of its own', { config: '[agent]\nprocess = "session"' }, {}],
    ['with the workspace at another path', {}, { CAI_ACP_WORKSPACE_MOUNT: '/home/agent/workspace' }],
    ['in a folder that is no workspace', { cwd: '/' }, {}],
  ])('T1 has messages and nothing else %s', async (_, options, env) => {
    world = await World.initialized({ ...options, env: { CAI_LOG_LEVEL: 'trace', ...env } });
    await makeNoise(world);

    await expectPure(world);
  });

  test('T1 has messages and nothing else where the agent cannot be started', async () => {
    const config = '[agents.missing]\ncommand = ["/no/such/agent"]';
    world = await World.initialized({ args: ['missing'], config, env: { CAI_LOG_LEVEL: 'trace' } });
    await world.request('session/new', { cwd: world.workspace('own'), mcpServers: [] });

    await expectPure(world);
  });
});

describe("an agent's stderr", () => {
  test('T9 does not stall its stdout, however much it is', async () => {
    world = await World.initialized();
    const { agent } = await world.session(world.workspace('own'), 's1');
    for (let i = 0; i < 64; i++) agent.order({ err: `${'x'.repeat(128 * 1024)}\n` });
    agent.say('s1', 'behind it');

    expect(await sentBy(world, agent)).toHaveLength(1);
    await expectPure(world);
  });

  test.each([
    ['debug', true],
    ['info', false],
  ])('T9 is shown at level %s: %s', async (level, isShown) => {
    world = await World.initialized({ env: { CAI_LOG_LEVEL: level } });
    const { id, agent } = await world.session(world.workspace('own'), 's1');
    const prompt = await startCall(world, agent, 'session/prompt', { sessionId: id, prompt: [] });
    agent.order({ err: 'said by the agent\n', exit: 0 });
    const { error } = await world.editor.response(prompt.id);
    await leave(world);

    // What failed quotes it in any case.
    expect(JSON.stringify(error)).toContain('said by the agent');
    expect(world.stderr.includes('said by the agent\\n')).toBe(isShown);
  });
});

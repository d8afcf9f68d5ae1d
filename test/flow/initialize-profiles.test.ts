/** `initialize` of a user's second proxy and all later ones: answered with what the agent said in an earlier one. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sentTo } from '../support/dialogue';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import type { Puppet } from '../support/puppet';
import { newFolder } from '../support/temp-folder';
import { fullAgent, fullEditor, World, type WorldOptions } from '../support/world';

const hello = {
  protocolVersion: 1,
  clientInfo: { name: 'editor', version: '1' },
  clientCapabilities: fullEditor,
};
const nothingPromised = { protocolVersion: 1, agentCapabilities: {}, authMethods: [] };

/** An agent that has less to offer than `fullAgent`, and another way to sign in. */
const otherAgent: Json = {
  protocolVersion: 1,
  agentCapabilities: { loadSession: true, mcpCapabilities: { http: true } },
  authMethods: [{ id: 'other', name: 'Other' }],
};

describe('a recorded profile', () => {
  let folder: string;
  let world: World;
  /** The user's home after the usual agent and nothing else. */
  let usual: string | undefined;
  beforeEach(() => (folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-profiles-')))));
  afterEach(async () => {
    await world.end();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A proxy of the user whose home folder all proxies of a test share. */
  async function start(options: WorldOptions = {}): Promise<World> {
    world = await World.start({ folder, ...options });
    return world;
  }

  /** An earlier proxy, in which the agent answered this. */
  async function recorded(agentHello: Json = fullAgent, options: WorldOptions = {}) {
    const isUsual = agentHello === fullAgent && Object.keys(options).length === 0;
    if (isUsual && usual !== undefined) {
      cpSync(usual, join(folder, 'home'), { recursive: true });
      return;
    }
    await start({ agentHello, ...options });
    await world.request('initialize', hello);
    await world.end();
    if (isUsual) cpSync(join(folder, 'home'), (usual = newFolder()), { recursive: true });
  }

  test('answers though the agent hangs, and what follows waits for the agent', async () => {
    await recorded();
    await start({ agentHello: false });

    expect(await world.request('initialize', hello)).toEqual({ jsonrpc: '2.0', id: 1, result: fullAgent });
    const agent = await world.agent(world.workspace('own'));
    const opening = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
    expect((await agent.inbox.next('initialize')).params).toEqual(hello);
    expect(agent.inbox.takeAll()).toEqual([]);
    await answerHello(agent, fullAgent);
    await agent.answer('session/new', { result: { sessionId: 's1' } });
    expect(await world.editor.response(opening)).toMatchObject({ result: {} });
  });

  test('gives the very bytes of the agent, and the same again when it is asked again', async () => {
    await start({ agentHello: false });
    const bytes =
      '{"protocolVersion":1, "agentCapabilities":{"x":18446744073709551615,"y":1.0},"z":"\\u00e9"}';
    const first = world.ask('initialize', hello);
    const agent = await world.agent();
    const { id } = await agent.inbox.next('initialize');
    agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${bytes}}\n`);
    await world.editor.response(first);
    await world.end();
    await start({ agentHello: false });

    await world.request('initialize', hello);
    await world.request('initialize', { ...hello, clientInfo: { name: 'another', version: '1' } });

    expect(world.editor.lines.map(String)).toEqual([
      `{"jsonrpc":"2.0","id":1,"result":${bytes}}`,
      `{"jsonrpc":"2.0","id":2,"result":${bytes}}`,
    ]);
  });

  test('that a pipe may not take at once is no reason to wait for the editor', async () => {
    await recorded({ ...fullAgent, _meta: { x: 'x'.repeat(250_000) } });
    await start({ env: hastened });
    world.process.stdout.pause();

    world.ask('initialize', hello);

    expect(await world.close()).toBe(0);
  });

  test('starts no agent where the working directory is no workspace', async () => {
    await recorded();
    await start({ cwd: 'home' });

    const response = await world.request('initialize', hello);
    const { agent } = await world.session(world.workspace('a'), 's1');

    expect(response.result).toEqual(fullAgent);
    expect(world.agents).toEqual([agent]);
  });

  test('starts no agent beforehand where each session has one of its own', async () => {
    await recorded();
    await start({ config: '[agent]\nprocess = "session"\n' });

    await world.request('initialize', hello);
    const { agent } = await world.session(world.workspace('own'), 's1');

    expect(world.agents).toEqual([agent]);
  });

  test('is used for a sign-in at once, by the one agent that is started', async () => {
    await recorded();
    await start();

    world.ask('initialize', hello);
    const signIn = world.ask('authenticate', { methodId: 'key' });
    const agent = await world.agent();
    await agent.answer('authenticate');

    expect(await world.editor.response(signIn)).toMatchObject({ result: {} });
    expect(world.agents).toHaveLength(1);
  });

  test('is told to be wrong once, is true for what is called, and is corrected, when the agent says something else', async () => {
    await recorded();
    await start({ agentHello: otherAgent });

    const response = await world.request('initialize', hello);
    const { id, agent } = await world.session(world.workspace('own'), 's1');
    const forked = await world.request('session/fork', { sessionId: id });
    await world.session(world.workspace('a'), 's2');

    expect(response.result).toEqual(fullAgent);
    expect(forked.error).toMatchObject({ code: -32601 });
    expect(await sentTo(world, agent)).toEqual([]);
    const said = (await world.lastWords()).split('\n');
    const warnings = said.filter((line) => line.includes('initialize was answered with'));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0]!)).toMatchObject({
      level: 40,
      root: world.workspace('own'),
      differs: expect.arrayContaining([
        'agentCapabilities.mcpCapabilities.sse',
        'agentCapabilities.sessionCapabilities',
        'authMethods',
      ]) as unknown,
    });
    await world.end();
    await start({ agentHello: false });
    expect((await world.request('initialize', hello)).result).toEqual(otherAgent);
  });

  test('is corrected without a word where only the name of the version differs', async () => {
    const updated = { ...fullAgent, agentInfo: { name: 'puppet', version: '2' } };
    await recorded();
    await start({ agentHello: updated });

    expect((await world.request('initialize', hello)).result).toEqual(fullAgent);
    await world.session(world.workspace('own'), 's1');

    expect(await world.lastWords()).toBe('');
    await world.end();
    await start({ agentHello: false });
    expect((await world.request('initialize', hello)).result).toEqual(updated);
  });

  test('is used for another version of the editor, and for what the editor offers and no agent is told of', async () => {
    await recorded();
    await start({ agentHello: false });

    const params = {
      protocolVersion: 2,
      clientInfo: { name: 'editor', version: '2' },
      clientCapabilities: { ...fullEditor },
    };

    const info = { name: 'puppet', version: '1' };
    expect((await world.request('initialize', params)).result).toEqual({ info, ...fullAgent });
  });

  test('is not kept where nothing of sessions is to be kept, nor used', async () => {
    const config = '[sessions]\npersist = false\n';
    await recorded(fullAgent, { config });
    expect(() => readdirSync(profiles())).toThrow('ENOENT');
    await recorded();
    await start({ config, agentHello: otherAgent });

    expect((await world.request('initialize', hello)).result).toEqual(otherAgent);
  });

  test.each([
    ['damaged', (text: string) => text.slice(0, -20)],
    [
      'of another protocol',
      (text: string) => text.replace('\\"protocolVersion\\":1', '\\"protocolVersion\\":2'),
    ],
    ['no JSON', (text: string) => text.replace('\\"protocolVersion\\":1', '\\"protocolVersion\\":')],
    ['made to say two things', (text: string) => text.replace('"result":"{', '"result":"1,\\"result\\":{')],
  ])('is as none when it is %s', async (_, damage) => {
    await recorded();
    const [name] = readdirSync(profiles());
    const file = join(profiles(), name!);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, damage(text));
    expect(readFileSync(file, 'utf8')).not.toBe(text);
    await start({ agentHello: otherAgent });

    expect((await world.request('initialize', hello)).result).toEqual(otherAgent);
  });

  test('gives nothing away that an editor would run, whatever was recorded', async () => {
    const terminal = { id: 'tty', name: 'Terminal', type: 'terminal', args: ['--login'] };
    const command = { id: 'run', name: 'Run', _meta: { 'terminal-auth': { command: '/bin/sh' } } };
    await recorded({ ...fullAgent, authMethods: [terminal, command] });
    await start({ agentHello: false });

    const response = await world.request('initialize', hello);

    expect(response.result).toEqual({ ...fullAgent, authMethods: [{ id: 'run', name: 'Run', _meta: {} }] });
  });

  test('is made by an agent that answered too late for its own proxy', async () => {
    await start({ agentHello: false, env: hastened });
    expect((await world.request('initialize', hello)).result).toEqual(nothingPromised);
    const agent = await world.agent();
    await answerHello(agent, fullAgent);
    await world.session(agent.cwd, 's1', agent);
    expect(await world.lastWords()).not.toContain('initialize was answered with');
    await world.end();
    await start({ agentHello: false });

    expect((await world.request('initialize', hello)).result).toEqual(fullAgent);
  });

  test('is not made of an agent that refuses or speaks another version', async () => {
    await recorded({ ...fullAgent, protocolVersion: 2 });

    expect(() => readdirSync(profiles())).toThrow('ENOENT');
    await start({ agentHello: otherAgent });
    expect((await world.request('initialize', hello)).result).toEqual(otherAgent);
  });

  function profiles(): string {
    return join(folder, 'home/.local/state/containai/profiles');
  }
});

/** Answers the `initialize` that the agent has or gets. */
async function answerHello(agent: Puppet, result: Json): Promise<void> {
  const taken = agent.inbox.lines.map((line) => JSON.parse(line.toString()) as Json);
  const request =
    taken.find(({ method }) => method === 'initialize') ?? (await agent.inbox.next('initialize'));
  agent.send({ id: request.id, result });
}

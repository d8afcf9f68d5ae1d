/** A start that fails and may go better is tried again; what waits for it waits in order, and nobody else. */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { hastened } from '../support/hastened';
import { newFolder } from '../support/temp-folder';
import { failure } from '../support/messages';
import { fullAgent, World } from '../support/world';
import type { Puppet } from '../support/puppet';

const noDelay = '[restart]\nfirst_delay = "0s"\n';

let world: World;
afterEach(() => world.end());

/** A world whose first agent, which serves `own`, greets; all others do what the test wants. */
async function begin(config: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  let isFirst = true;
  const agentHello = (): typeof fullAgent | false => {
    const wasFirst = isFirst;
    isFirst = false;
    return wasFirst && fullAgent;
  };
  world = await World.initialized({ config, env, agentHello });
  return world.workspace('a');
}

/** The next agent of a workspace, once it has been sent `initialize`. */
async function started(cwd: string): Promise<Puppet> {
  const agent = await world.agent(cwd);
  agent.initialize = await agent.inbox.next('initialize');
  return agent;
}

function greet(agent: Puppet): void {
  agent.send({ id: agent.initialize!.id, result: fullAgent });
}

describe('an agent that ends before it answers initialize', () => {
  test('is started again; the calls of its workspace follow in order, and others do not wait', async () => {
    const cwd = await begin(noDelay);
    const ids = [1, 2].map(() => world.ask('session/new', { cwd, mcpServers: [] }));
    (await started(cwd)).order({ exit: 1 });
    (await started(cwd)).order({ kill: 'SIGKILL' });
    await world.session(world.workspace('own'), 'o1', world.agents[0]);
    const agent = await started(cwd);
    greet(agent);

    for (const [index, id] of ids.entries()) {
      const request = await agent.inbox.next('session/new');
      expect(request.id).toBe(id);
      agent.send({ id: request.id, result: { sessionId: `s${index}` } });
      expect(await world.editor.response(id)).toHaveProperty('result.sessionId');
    }
    expect((await world.lastWords()).match(/agent start failed/g)).toHaveLength(2);
  });

  test('is told of sign-ins each time, and of each once', async () => {
    const cwd = await begin(noDelay);
    const signIn = world.ask('authenticate', { methodId: 'key' });
    const first = world.agents[0]!;
    await first.answer('authenticate');
    await world.editor.response(signIn);
    world.ask('session/new', { cwd, mcpServers: [] });
    (await started(cwd)).order({ exit: 1 });
    const second = await started(cwd);
    greet(second);
    await second.inbox.next('authenticate');
    second.order({ exit: 1 });
    const third = await started(cwd);
    greet(third);

    await third.answer('authenticate');
    await third.inbox.next('session/new');
    expect(third.inbox.takeAll()).toEqual([]);
  });

  test('fails what waits after three attempts, and the next call tries anew', async () => {
    const cwd = await begin(noDelay);
    const id = world.ask('session/new', { cwd, mcpServers: [] });
    for (let count = 0; count < 3; count++) (await started(cwd)).order({ err: 'no luck\n', exit: 9 });

    const answer = await world.editor.response(id);
    expect(answer).toEqual(failure(id, -32603, { details: 'no luck' }));
    expect(answer).toHaveProperty('error.message', expect.stringMatching(/no luck \(attempt 3 of 3: .+\)$/));
    const next = world.ask('session/new', { cwd, mcpServers: [] });
    const agent = await started(cwd);
    greet(agent);
    await agent.answer('session/new', { result: { sessionId: 's' } });
    expect(await world.editor.response(next)).toHaveProperty('result');
  });

  test('is not started again when the editor has left', async () => {
    const cwd = await begin('[restart]\nfirst_delay = "1h"\nmax_delay = "1h"\n');
    const id = world.ask('session/new', { cwd, mcpServers: [] });
    const first = world.agents[0]!;
    void first.sawEof.then(() => first.order({ exit: 0 }));
    const agent = await started(cwd);
    agent.order({ exit: 1 });
    await agent.gone;
    world.process.kill('SIGTERM');

    expect(await world.exited()).toBe(0);
    expect(await world.editor.response(id)).toHaveProperty('error.code', -32603);
  });

  test('is started again also when a call that waits for it was cancelled, which it never gets', async () => {
    const cwd = await begin(noDelay);
    const id = world.ask('session/new', { cwd, mcpServers: [] });
    const next = world.ask('session/new', { cwd, mcpServers: [] });
    const first = await started(cwd);
    world.send({ method: '$/cancel_request', params: { requestId: id } });
    expect(await world.editor.response(id)).toEqual(failure(id, -32800));
    first.order({ exit: 1 });
    const agent = await started(cwd);
    greet(agent);

    expect(await agent.inbox.next('session/new')).toHaveProperty('id', next);
  });
});

test('a command that does not answer initialize in time is told after one attempt, with its words', async () => {
  const cwd = await begin(`[acp]\nstart_timeout = "10s"\n${noDelay}`, hastened);
  const id = world.ask('session/new', { cwd, mcpServers: [] });
  const silent = await started(cwd);
  await silent.gone;

  const answer = await world.editor.response(id);
  expect(answer).toEqual(failure(id, -32603));
  expect(answer).toHaveProperty(
    'error.message',
    expect.stringMatching(
      /^agent "puppet" did not answer initialize in 10 s: does it speak ACP\?.+puppet\.pl"/,
    ),
  );
  expect(world.agents).toHaveLength(2);
});

test('an engine that is not there is looked for three times, and the error says what to do', async () => {
  const env = { CAI_ACP_DIRECT_SPAWN: '0', DOCKER_HOST: 'unix:///nowhere/docker.sock' };
  world = await World.initialized({ config: noDelay, env, args: ['claude'] });

  const answer = await world.request('session/new', { cwd: world.workspace('a'), mcpServers: [] });

  expect(answer).toEqual(failure(answer.id, -32603));
  expect(answer).toHaveProperty(
    'error.message',
    expect.stringMatching(/nowhere.*attempt 3 of 3: .*cai doctor/s),
  );
  expect(await world.lastWords()).toContain('"class":"engine"');
});

test('a container that never gets ready is waited for as long as an agent that never answers, once', async () => {
  const socket = join(newFolder(), 'engine.sock');
  // It is there, and leaves all else without an answer.
  const engine = createServer(({ url }, response) => {
    if (url!.endsWith('/_ping')) response.setHeader('Api-Version', '1.41').end('OK');
  }).listen(socket);
  const env = { ...hastened, CAI_ACP_DIRECT_SPAWN: '0', DOCKER_HOST: `unix://${socket}` };
  const config = `[acp]\nstart_timeout = "10s"\n${noDelay}`;
  world = await World.initialized({ config, env, args: ['claude'] });

  const answer = await world.request('session/new', { cwd: world.workspace('a'), mcpServers: [] });

  expect(answer).toEqual(failure(answer.id, -32603));
  expect(answer).toHaveProperty('error.message', expect.stringMatching(/not ready in 10 s: see cai doctor/));
  expect(await world.lastWords()).not.toContain('"attempt":2');
  engine.close();
  engine.closeAllConnections();
});

/** A session whose agent hangs while it restores it: it can be closed, and is not awaited for ever. */
import { endAgent, sentBy, sentTo } from '../support/dialogue';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { failure, itsId, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { startTurn, use, type OpenSession } from '../support/turn';
import { fullAgent, World, type WorldOptions } from '../support/world';

const noDelay = '[restart]\nfirst_delay = "0s"\n';

let world: World;
let session: OpenSession;
afterEach(() => world.end());

function prompt(): number {
  return world.ask('session/prompt', { sessionId: session.id, prompt: [{ type: 'text', text: 'go on' }] });
}

/** Loses the agent of a session and has the next one restore it, by a prompt; that one is asked and does not answer. */
async function hang(options: WorldOptions = {}): Promise<{ agent: Puppet; request: Json; id: number }> {
  world = await World.initialized({ config: noDelay, ...options });
  session = await world.session(world.workspace('own'), 's1');
  await use(world, session);
  await endAgent(world, session.agent);
  const id = prompt();
  const agent = await world.agent(session.agent.cwd);
  return { agent, request: await agent.inbox.next('session/resume'), id };
}

/** The session is loaded, by the agent that hung. */
async function load(agent: Puppet): Promise<void> {
  const id = world.ask('session/load', { sessionId: session.id, cwd: agent.cwd, mcpServers: [] });
  await agent.answer('session/load');
  expect(await world.editor.response(id)).toEqual(success(id, {}));
}

describe('a session that is closed while it is restored', () => {
  test('is so at once: what waits fails, the agent is told, and its late answer is nobody’s', async () => {
    const { agent, request, id } = await hang();
    const second = prompt();

    expect(await world.request('session/close', { sessionId: session.id })).toEqual(success(itsId, {}));
    for (const each of [id, second]) {
      const answer = await world.editor.response(each);
      expect(answer).toEqual(failure(each, -32603));
      expect(answer).toHaveProperty('error.message', expect.stringContaining('was closed'));
    }
    const told = await agent.inbox.next('session/close');
    expect(told.params).toEqual({ sessionId: 's1' });
    agent.send({ id: told.id, result: {} });
    agent.send({ id: request.id, result: {} });
    agent.say('s1', 'late');
    expect(await sentBy(world, agent)).toEqual([]);
    expect(await sentTo(world, agent)).toEqual([]);
    expect(await world.request('session/prompt', { sessionId: session.id, prompt: [] })).toMatchObject({
      error: { code: -32002 },
    });
  });

  test('can be loaded, whatever the agent says of it afterwards', async () => {
    const { agent, request } = await hang();
    await world.request('session/close', { sessionId: session.id });
    await load(agent);

    agent.send({ id: request.id, error: { code: -32603, message: 'late' } });
    await sentBy(world, agent);

    const turn = await startTurn(world, { ...session, agent });
    expect(await turn.end()).toHaveProperty('result');
  });

  test('is deleted if that waits', async () => {
    const { agent } = await hang();
    const deleting = world.ask('session/delete', { sessionId: session.id });

    await world.request('session/close', { sessionId: session.id });

    await agent.answer('session/delete');
    expect(await world.editor.response(deleting)).toEqual(success(deleting, {}));
  });

  test('never gets to an agent that has not started', async () => {
    world = await World.start({ config: noDelay, agentHello: false });
    const initializing = world.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
    const first = await world.agent();
    await first.greet(fullAgent);
    await world.editor.response(initializing);
    session = await world.session(world.workspace('own'), 's1', first);
    await endAgent(world, first);
    const id = prompt();
    const agent = await world.agent(first.cwd);
    const hello = await agent.inbox.next('initialize');

    const closed = await world.request('session/close', { sessionId: session.id });
    agent.send({ id: hello.id, result: fullAgent });

    expect(closed).toEqual(success(closed.id, {}));
    expect(await world.editor.response(id)).toEqual(failure(id, -32603));
    expect(await sentBy(world, agent)).toEqual([]);
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('by session/end ends an agent that has no other', async () => {
    const { agent, id } = await hang();

    expect(await world.request('session/end', { sessionId: session.id })).toEqual(success(itsId, {}));
    expect(await world.editor.response(id)).toEqual(failure(id, -32603));
    await agent.sawEof;
  });
});

describe('an agent that does not restore a session', () => {
  test('is awaited as long as one that does not start; the next prompt tries again', async () => {
    const { agent, request, id } = await hang({
      config: `${noDelay}[acp]\nstart_timeout = "10s"\n`,
      env: hastened,
    });
    const waiting = world.ask('_x/session', { sessionId: session.id });

    for (const each of [id, waiting]) {
      const answer = await world.editor.response(each);
      expect(answer).toEqual(failure(each, -32603));
      expect(answer).toHaveProperty('error.message', expect.stringContaining('in 10 s'));
    }
    const next = prompt();
    const again = await agent.inbox.next('session/resume');
    agent.send({ id: request.id, error: { code: -32603, message: 'late' } });
    agent.send({ id: again.id, result: {} });
    await agent.answer('session/prompt', { result: { stopReason: 'end_turn' } });

    expect(await world.editor.response(next)).toEqual(success(next, { stopReason: 'end_turn' }));
  });
});

describe('what is set again in a restored session', () => {
  /** Sets as the user, then loses the agent; what the next one is asked to set. */
  async function setAgain(set: () => Promise<void>): Promise<Json[]> {
    world = await World.initialized({ config: noDelay });
    session = await world.session(world.workspace('own'), 's1');
    await use(world, session);
    await set();
    await endAgent(world, session.agent);
    const id = prompt();
    const agent = await world.agent(session.agent.cwd);
    const requests: Json[] = [];
    for (;;) {
      const request = await agent.inbox.next(({ method }) => String(method).startsWith('session/'));
      agent.send({ id: request.id, result: { stopReason: 'end_turn' } });
      if (request.method === 'session/prompt') break;
      requests.push(request.params as Json);
    }
    await world.editor.response(id);
    return requests.slice(1);
  }

  test('is no more than a few options, and nothing long', async () => {
    const long = 'x'.repeat(5_000);
    const options = Array.from({ length: 100 }, (_, index) => ({ id: `${index}`, currentValue: 'on' }));
    const configOptions = [{ id: long, currentValue: 'on' }, { id: 'long', currentValue: long }, ...options];

    const requests = await setAgain(async () => {
      session.agent.update('s1', {
        sessionUpdate: 'config_option_update',
        configOptions: configOptions.map((option) => ({ ...option, category: 'mode' })),
      });
      session.agent.update('s1', { sessionUpdate: 'current_mode_update', currentModeId: long });
      await sentBy(world, session.agent);
    });

    expect(requests).toEqual(
      options.slice(0, 64).map(({ id }) => ({ sessionId: 's1', configId: id, value: 'on' })),
    );
  });
});

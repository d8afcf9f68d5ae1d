/** A session whose agent has ended goes on with its next prompt; what a prompt has begun is never repeated. */
import { exchange, sentBy, sentTo, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { SharedWorlds } from '../support/shared-worlds';
import { openFresh, permissionParams, startTurn, use, type OpenSession } from '../support/turn';
import { fullAgent, World, type WorldOptions } from '../support/world';

const reopeners = ['session/load', 'session/resume'];
const noDelay = '[restart]\nfirst_delay = "0s"\n';
const text = (said: string): Json[] => [{ type: 'text', text: said }];

let world: World;
let cwd: string;
let session: OpenSession;
const worlds = new SharedWorlds();

/** An agent that can do the named of loading and resuming, and nothing else that matters. */
function agentWith(...capabilities: ('load' | 'resume')[]): Json {
  const agentCapabilities = {
    loadSession: capabilities.includes('load'),
    sessionCapabilities: capabilities.includes('resume') ? { resume: {} } : {},
  };
  return { ...fullAgent, agentCapabilities };
}

/** Opens a session in a workspace, and uses it. */
async function open(options: WorldOptions = {}): Promise<void> {
  await openUnused(options);
  await use(world, session);
}

async function openUnused(options: WorldOptions = {}): Promise<void> {
  world = await worlds.initialized({ config: noDelay, ...options });
  session = await openFresh(world);
  ({ cwd } = session.agent);
}

/** Kills an agent; resolves when the proxy knows. */
async function kill(agent: Puppet): Promise<void> {
  const open = world.request('_wait', { cwd: agent.cwd });
  await agent.inbox.next('_wait');
  agent.order({ kill: 'SIGKILL' });
  await open;
}

function prompt(said = 'go on', sessionId = session.id): number {
  return world.ask('session/prompt', { sessionId, prompt: text(said) });
}

/** The next agent, and the request by which it is to restore a session. */
async function successor(): Promise<{ agent: Puppet; request: Json }> {
  const agent = await world.agent(cwd);
  const request = await agent.inbox.next(({ method }) => reopeners.includes(method as string));
  return { agent, request };
}

/** The next agent restores the session. */
async function restored(): Promise<Puppet> {
  const { agent, request } = await successor();
  agent.send({ id: request.id, result: {} });
  return agent;
}

/** The agent answers the next prompt; resolves with what it got. */
async function answerPrompt(agent: Puppet): Promise<Json> {
  const received = await agent.answer('session/prompt', { result: { stopReason: 'end_turn' } });
  return received;
}

/** The next prompt has the next agent restore the session, and is answered. */
async function goOn(said?: string): Promise<Puppet> {
  const id = prompt(said);
  const agent = await restored();
  await answerPrompt(agent);
  expect(await world.editor.response(id)).toHaveProperty('result');
  return agent;
}

/** The agents of the test's workspace so far. */
const agents = () => world.agents.filter((agent) => agent.cwd === cwd);

/** Every prompt that any of them has received but those of first turns, as its text. */
function prompts(): string[] {
  const lines = agents().flatMap((agent) => agent.inbox.lines.map((line) => line.toString()));
  const received = lines.map((line) => JSON.parse(line) as { method?: string; params?: { prompt: Json[] } });
  return received
    .filter(({ method }) => method === 'session/prompt')
    .map(({ params }) => params!.prompt[0]!.text as string)
    .filter((said) => said !== 'begin');
}

describe('the next prompt of a session whose agent was killed', () => {
  test.each([
    ['session/load', 'between turns', agentWith('load')],
    ['session/resume', 'between turns', agentWith('resume')],
    ['session/resume', 'between turns, which can load too', agentWith('load', 'resume')],
  ])('restores it by %s, %s, and goes on under the same id', async (method, _, agentHello) => {
    await open({ agentHello });
    const turn = await startTurn(world, session);
    await turn.end();
    await kill(session.agent);

    const id = prompt('second');
    const { agent, request } = await successor();
    expect(request).toMatchObject({ method, params: { sessionId: 's1', cwd, mcpServers: [] } });
    expect(await sentTo(world, agent)).toEqual([]);
    agent.send({ id: request.id, result: {} });
    expect((await answerPrompt(agent)).params).toEqual({ sessionId: 's1', prompt: text('second') });
    expect(await world.editor.response(id)).toEqual(success(id, { stopReason: 'end_turn' }));
    agent.say('s1', 'still here');
    expect(await world.editor.next('session/update')).toMatchObject({ params: { sessionId: session.id } });
    expect(prompts()).toEqual(['go on', 'second']);
  });

  test('D9 does so after a death in the turn; that prompt got one error and is not repeated', async () => {
    await open();
    const lost = await startTurn(world, session, text('lost'));
    session.agent.order({ kill: 'SIGKILL' });
    expect(await world.editor.response(lost.id)).toEqual(failure(lost.id, -32603));

    const id = prompt('next');
    const agent = await restored();
    await answerPrompt(agent);

    expect(await world.editor.response(id)).toHaveProperty('result.stopReason', 'end_turn');
    expect(prompts()).toEqual(['lost', 'next']);
    expect(await sentBy(world, agent)).toEqual([]);
  });

  test('restores it with the folders, servers and extensions that it was opened with, byte for byte', async () => {
    await open();
    const params = `{"cwd":${JSON.stringify(cwd)},"mcpServers":[{"name":"m","command":"/bin/m","args":["x"],"env":[{"name":"K","value":"secret"}]}],"additionalDirectories":[${JSON.stringify(cwd)}],"_meta":{"n":12345678901234567890}}`;
    world.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":${params}}\n`);
    await session.agent.answer('session/new', { result: { sessionId: 's2' } });
    const opened = (await world.editor.response('new')).result as { sessionId: string };
    await use(world, { ...session, id: opened.sessionId });
    await kill(session.agent);

    prompt('go on', opened.sessionId);
    const { agent } = await successor();

    const line = agent.inbox.lines.map(String).find((each) => each.includes('session/resume'))!;
    expect(line).toContain(`"params":{"sessionId":"s2",${params.slice(1)}}`);
    expect(await world.lastWords()).not.toContain('secret');
  });

  test('restores one that the editor has loaded, with what it was loaded with', async () => {
    await open({ agentHello: agentWith('load') });
    const load = world.ask('session/load', { sessionId: session.id, cwd, mcpServers: [{ name: 'n' }] });
    await session.agent.answer('session/load');
    await world.editor.response(load);
    await kill(session.agent);

    prompt();
    expect((await successor()).request.params).toEqual({ sessionId: 's1', cwd, mcpServers: [{ name: 'n' }] });
  });

  test('loads one that was forked without servers with none, which a load must name', async () => {
    const agentCapabilities = { loadSession: true, sessionCapabilities: { fork: {} } };
    await open({ agentHello: { ...fullAgent, agentCapabilities } });
    const params = { sessionId: session.id, cwd };
    const fork = { result: { sessionId: 'f1' } };
    const { response } = await exchange(world, session.agent, 'session/fork', params, fork);
    const forked = response.result as { sessionId: string };
    await kill(session.agent);

    prompt('go on', forked.sessionId);
    const { request } = await successor();

    expect(request).toMatchObject({ method: 'session/load' });
    expect(request.params).toEqual({ sessionId: 'f1', cwd, mcpServers: [] });
  });

  test('D9 withholds what is told of the past until the session is restored, and serves requests meanwhile', async () => {
    await open();
    await kill(session.agent);
    const id = prompt();
    const { agent, request } = await successor();
    const past = [
      { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'old' } },
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'old' } },
      { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'old' } },
      { sessionUpdate: 'tool_call', toolCallId: 't', title: 'old' },
      { sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'completed' },
      { sessionUpdate: 'plan', entries: [] },
    ];
    const present = [
      { sessionUpdate: 'current_mode_update', currentModeId: 'ask' },
      { sessionUpdate: 'config_option_update', configOptions: [] },
      { sessionUpdate: 'available_commands_update', availableCommands: [] },
      { sessionUpdate: 'usage_update', used: 1, size: 2 },
      { sessionUpdate: 'session_info_update', title: 'T' },
    ];
    for (const update of [...past, ...present]) agent.update('s1', update);
    agent.send({ id: 7, method: 'session/request_permission', params: permissionParams('s1') });
    await world.answer('session/request_permission', { result: { outcome: { outcome: 'cancelled' } } });
    await agent.inbox.next((message) => message.id === 7 && message.method === undefined);
    agent.send({ id: request.id, result: {} });
    agent.say('s1', 'new');
    await answerPrompt(agent);
    await world.editor.response(id);

    const updates = world.editor.takeAll().filter(({ method }) => method === 'session/update');
    const kinds = updates.map(({ params }) => ((params as Json).update as Json).sessionUpdate);
    expect(kinds).toEqual([...present.map(({ sessionUpdate }) => sessionUpdate), 'agent_message_chunk']);
    for (const { params } of updates) expect(params).toMatchObject({ sessionId: session.id });
  });

  test('D9 withholds what an agent tells of the past after its answer, as Gemini does', async () => {
    await open({ agentHello: agentWith('load') });
    await kill(session.agent);
    const id = prompt('second');
    const { agent, request } = await successor();

    const past = ['user_message_chunk', 'agent_message_chunk', 'user_message_chunk', 'agent_message_chunk'];
    const commands = { sessionUpdate: 'available_commands_update', availableCommands: [] };
    const updates = [
      ...past.map((kind) => ({ sessionUpdate: kind, content: text('past')[0] })),
      commands,
    ].map((update) => ({ method: 'session/update', params: { sessionId: 's1', update } }));
    const lines = [updates[0], { id: request.id, result: {} }, ...updates.slice(1)];
    agent.send(lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join(''));
    const received = await agent.inbox.next('session/prompt');
    agent.say('s1', 'new');
    agent.send({ id: received.id, result: { stopReason: 'end_turn' } });
    await world.editor.response(id);

    const heard = world.editor.takeAll().filter(({ method }) => method === 'session/update');
    const kinds = heard.map(({ params }) => ((params as Json).update as Json).sessionUpdate);
    expect(kinds).toEqual([commands.sessionUpdate, 'agent_message_chunk']);
  });

  test('D9 restores it at once in another agent while one that says nothing more is being ended', async () => {
    await open({ env: { CAI_PUPPET_IGNORE: '1' } });
    session.agent.order({ closeOut: true });
    await session.agent.sawEof;

    const id = prompt('next');
    const agent = await restored();
    await answerPrompt(agent);

    expect(await world.editor.response(id)).toEqual(success(id, { stopReason: 'end_turn' }));
    // The one before is still there: nobody has waited for its end.
    expect(() => process.kill(session.agent.pid, 0)).not.toThrow();
    session.agent.order({ exit: 0 });
  });
});

describe('a session that had no prompt', () => {
  /** The next agent, asked for a session. */
  async function askedAnew(): Promise<{ agent: Puppet; request: Json }> {
    const agent = await world.agent(cwd);
    return { agent, request: await agent.inbox.next('session/new') };
  }

  test('D9 is made anew in the next agent, as that may know nothing of it, and keeps its id', async () => {
    await openUnused({ agentHello: agentWith() });
    const params = `{"cwd":${JSON.stringify(cwd)},"mcpServers":[],"_meta":{"n":12345678901234567890}}`;
    world.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":${params}}\n`);
    await session.agent.answer('session/new', { result: { sessionId: 's2' } });
    const { sessionId } = (await world.editor.response('new')).result as { sessionId: string };
    const mode = { sessionId, modeId: 'plan' };
    await exchange(world, session.agent, 'session/set_mode', mode);
    await kill(session.agent);

    const id = prompt('first', sessionId);
    const { agent, request } = await askedAnew();
    agent.send({ id: request.id, result: { sessionId: 'n1' } });
    const setting = await agent.answer('session/set_mode');
    const received = await answerPrompt(agent);
    agent.say('n1', 'here');

    const line = agent.inbox.lines.map(String).find((each) => each.includes('session/new'))!;
    expect(line).toContain(`"params":${params}`);
    expect(setting.params).toEqual({ sessionId: 'n1', modeId: 'plan' });
    expect(received.params).toEqual({ sessionId: 'n1', prompt: text('first') });
    expect(await world.editor.response(id)).toEqual(success(id, { stopReason: 'end_turn' }));
    const isSaid = ({ params: said }: Json): boolean => JSON.stringify(said).includes('here');
    expect(await world.editor.next(isSaid)).toMatchObject({ params: { sessionId } });
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('is then one like all others: restored by its new id, also in a later process', async () => {
    await openUnused();
    await kill(session.agent);
    const id = prompt();
    const { agent, request } = await askedAnew();
    agent.send({ id: request.id, result: { sessionId: 'n1' } });
    await answerPrompt(agent);
    await world.editor.response(id);
    await kill(agent);
    const again = prompt();
    const { agent: third, request: resuming } = await successor();
    third.send({ id: resuming.id, result: {} });
    await answerPrompt(third);
    await world.editor.response(again);

    const later = await World.initialized({ folder: world.folder });
    try {
      later.ask('session/load', { sessionId: session.id, cwd, mcpServers: [] });
      const loading = await (await later.agent(cwd)).inbox.next('session/load');
      expect([resuming, loading].map(({ params }) => (params as Json).sessionId)).toEqual(['n1', 'n1']);
    } finally {
      await later.end();
    }
  });

  test.each([
    ['refuses', { error: { code: -32603, message: 'no more' } }, 'no more'],
    ['names none', { result: {} }, 'without a sessionId'],
  ])('is lost as before where the agent %s; the next prompt tries again', async (_, outcome, said) => {
    await openUnused();
    await kill(session.agent);
    const id = prompt();
    const { agent, request } = await askedAnew();
    agent.send({ id: request.id, ...outcome });
    const answer = await world.editor.response(id);
    expect(answer).toEqual(failure(id, -32603));
    expect(answer).toHaveProperty('error.message', expect.stringContaining(said));

    const next = prompt();
    await agent.answer('session/new', { result: { sessionId: 'n1' } });
    await answerPrompt(agent);
    expect(await world.editor.response(next)).toHaveProperty('result');
  });

  test('can be closed meanwhile, of which the agent hears nothing, as it has given it no id', async () => {
    await openUnused();
    await kill(session.agent);
    const id = prompt();
    const { agent, request } = await askedAnew();

    const closed = await world.request('session/close', { sessionId: session.id });
    agent.send({ id: request.id, result: { sessionId: 's1' } });
    agent.say('s1', 'late');

    expect(closed).toEqual(success(closed.id, {}));
    expect(await world.editor.response(id)).toEqual(failure(id, -32603));
    expect(await sentBy(world, agent)).toEqual([]);
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('is restored as any other once it was given more than settings', async () => {
    await openUnused();
    await exchange(world, session.agent, '_x/work', { sessionId: session.id });
    await kill(session.agent);

    prompt();

    expect((await successor()).request).toMatchObject({ method: 'session/resume' });
  });
});

describe('a session that the agent has opened itself', () => {
  /** A subagent is announced; then its agent is killed, and the user goes on in it. */
  async function goOn(): Promise<{ id: number; subagent: string }> {
    await open();
    session.agent.update('s1', { sessionUpdate: 'subagent_update', sessionId: 'child', title: 'Reviewer' });
    const { params } = await world.editor.next('session/update');
    const { update } = params as { update: { sessionId: string } };
    await kill(session.agent);
    return { id: prompt('go on', update.sessionId), subagent: update.sessionId };
  }

  test('is restored by its own id, with the folder and the servers of the one above it', async () => {
    const { id, subagent } = await goOn();

    const { agent, request } = await successor();
    agent.send({ id: request.id, result: {} });
    const received = await answerPrompt(agent);
    agent.say('child', 'here');

    expect(request.params).toEqual({ sessionId: 'child', cwd, mcpServers: [] });
    expect(received.params).toMatchObject({ sessionId: 'child' });
    expect(await world.editor.response(id)).toHaveProperty('result');
    expect(await world.editor.next('session/update')).toMatchObject({ params: { sessionId: subagent } });
  });

  test('is lost where the agent does not restore it, which the error says in its words', async () => {
    const { id } = await goOn();

    const { agent, request } = await successor();
    agent.send({ id: request.id, error: { code: -32002, message: 'a subagent ends with its task' } });

    const answer = await world.editor.response(id);
    expect(answer).toEqual(failure(id, -32603));
    expect(answer).toHaveProperty('error.message', expect.stringContaining('a subagent ends with its task'));
  });
});

describe('what was set in a session', () => {
  beforeEach(() => open());

  /** The user sets something, and the agent agrees or not. */
  async function set(method: string, params: Json, isAgreed = true): Promise<void> {
    const call = await startCall(world, session.agent, method, { sessionId: session.id, ...params });
    const error = { code: -32602, message: 'no' };
    await call.end({ ...(isAgreed ? { result: {} } : { error }) });
  }

  const planAgain = [{ method: 'session/set_mode', params: { sessionId: 's1', modeId: 'plan' } }];

  test('is so also after a second crash, whatever mode the agent has begun with after the first', async () => {
    await set('session/set_mode', { modeId: 'plan' });
    await kill(session.agent);
    const id = prompt();
    const agent = await restored();
    agent.update('s1', { sessionUpdate: 'current_mode_update', currentModeId: 'default' });
    await agent.answer('session/set_mode');
    await answerPrompt(agent);
    await world.editor.response(id);
    session = { ...session, agent };

    expect(await setAgain()).toEqual(planAgain);
  });

  test.each([
    ['still holds', {}, 'plan'],
    ['is what the agent has answered', { modes: { currentModeId: 'ask', availableModes: [] } }, 'ask'],
  ])('%s after the editor has loaded the open session', async (_, result, modeId) => {
    await set('session/set_mode', { modeId: 'plan' });
    const params = { sessionId: session.id, cwd, mcpServers: [] };
    await exchange(world, session.agent, 'session/load', params, { result });

    expect(await setAgain()).toEqual([{ method: 'session/set_mode', params: { sessionId: 's1', modeId } }]);
  });

  test('still holds after a fork in its folder of which the agent speaks before it answers', async () => {
    await set('session/set_mode', { modeId: 'plan' });
    const call = await startCall(world, session.agent, 'session/fork', { sessionId: session.id });
    session.agent.say('f1', 'here');
    await call.end({ result: { sessionId: 'f1' } });

    expect(await setAgain()).toEqual(planAgain);
  });

  /** Kills the agent and restores the session; what the new agent is sent before the prompt, which is refused once. */
  async function setAgain(isAlive = true): Promise<Json[]> {
    if (isAlive) await kill(session.agent);
    const id = prompt();
    const agent = await restored();
    const requests: Json[] = [];
    for (;;) {
      const request = await agent.inbox.next(({ method }) => method !== undefined);
      if (request.method === 'session/prompt') {
        agent.send({ id: request.id, result: { stopReason: 'end_turn' } });
        break;
      }
      requests.push(request);
      const error = { code: -32602, message: 'no such thing' };
      agent.send({ id: request.id, ...(requests.length === 1 ? { error } : { result: {} }) });
    }
    expect(await world.editor.response(id)).toHaveProperty('result');
    return requests.map(({ method, params }) => ({ method, params }));
  }

  test('D9 is set again before the next prompt, as it was set last; a refusal is only noted', async () => {
    await set('session/set_mode', { modeId: 'ask' });
    await set('session/set_config_option', { configId: 'model', value: 'small' });
    await set('session/set_config_option', { configId: 'fast', type: 'boolean', value: true });
    await set('session/set_config_option', { configId: 'model', value: 'large' });
    await set('session/set_mode', { modeId: 'forbidden' }, false);

    expect(await setAgain()).toEqual([
      { method: 'session/set_mode', params: { sessionId: 's1', modeId: 'ask' } },
      {
        method: 'session/set_config_option',
        params: { sessionId: 's1', configId: 'fast', type: 'boolean', value: true },
      },
      { method: 'session/set_config_option', params: { sessionId: 's1', configId: 'model', value: 'large' } },
    ]);
    expect(await world.lastWords()).toContain('could not be set again');
  });

  test.each([
    ['D9 is shown again when it is set again', { result: {} }, ['default', 'default', 'ask']],
    [
      'is not shown where the agent refuses it',
      { error: { code: -1, message: 'no' } },
      ['default', 'default'],
    ],
  ])('%s', async (_, outcome, modes) => {
    await set('session/set_mode', { modeId: 'ask' });
    await set('session/set_config_option', { configId: 'model', value: 'large' });
    const optionsWith = (currentValue: string): Json[] => [
      { id: 'model', name: 'M', type: 'select', currentValue, options: [] },
    ];
    await kill(session.agent);

    const id = prompt();
    const { agent, request } = await successor();
    agent.update('s1', { sessionUpdate: 'current_mode_update', currentModeId: 'default' });
    const result = {
      modes: { currentModeId: 'default', availableModes: [] },
      configOptions: optionsWith('small'),
    };
    agent.send({ id: request.id, result });
    await agent.answer('session/set_mode', outcome);
    await agent.answer('session/set_config_option', { result: { configOptions: optionsWith('large') } });
    await answerPrompt(agent);
    await world.editor.response(id);

    const shown = world.editor.takeAll().map(({ params }) => params as { sessionId: string; update: Json });
    const shownOf = (kind: string, key: string): unknown[] =>
      shown.filter(({ update }) => update.sessionUpdate === kind).map(({ update }) => update[key]);
    expect(shownOf('current_mode_update', 'currentModeId')).toEqual(modes);
    const options = [optionsWith('small'), optionsWith('large')];
    expect(shownOf('config_option_update', 'configOptions')).toEqual(options);
    expect(new Set(shown.map(({ sessionId }) => sessionId))).toEqual(new Set([session.id]));
  });

  test('is what the agent has made of it since', async () => {
    await set('session/set_mode', { modeId: 'plan' });
    session.agent.update('s1', { sessionUpdate: 'current_mode_update', currentModeId: 'code' });
    await sentBy(world, session.agent);

    expect(await setAgain()).toEqual([
      { method: 'session/set_mode', params: { sessionId: 's1', modeId: 'code' } },
    ]);
  });

  test('of options is the mode and what the user has set, as the agent has told them last', async () => {
    await set('session/set_config_option', { configId: 'model', value: 'small' });
    const configOptions = [
      { id: 'model', type: 'select', currentValue: 'large', options: [] },
      { id: 'how', category: 'mode', type: 'select', currentValue: 'plan', options: [] },
      { id: 'other', type: 'boolean', currentValue: true },
    ];
    session.agent.update('s1', { sessionUpdate: 'config_option_update', configOptions });
    await sentBy(world, session.agent);

    expect((await setAgain()).map(({ params }) => params)).toEqual([
      { sessionId: 's1', configId: 'model', value: 'large' },
      { sessionId: 's1', configId: 'how', value: 'plan' },
    ]);
  });

  test('is an option, too, that the agent has changed itself', async () => {
    const optionsWith = (model: string): Json[] => [
      { id: 'model', type: 'select', currentValue: model, options: [] },
      { id: 'other', type: 'boolean', currentValue: true },
    ];
    for (const model of ['small', 'large']) {
      const update = { sessionUpdate: 'config_option_update', configOptions: optionsWith(model) };
      session.agent.update('s1', update);
    }
    await sentBy(world, session.agent);

    expect((await setAgain()).map(({ params }) => params)).toEqual([
      { sessionId: 's1', configId: 'model', value: 'large' },
    ]);
  });
});

describe('while a session is restored', () => {
  beforeEach(() => open());

  test('D9 its calls wait and follow in their order; other sessions do not wait', async () => {
    const other = await world.session(world.workspace('b'), 'b1');
    await kill(session.agent);
    const mode = world.ask('session/set_mode', { sessionId: session.id, modeId: 'ask' });
    const first = prompt('one');
    const option = world.ask('session/set_config_option', {
      sessionId: session.id,
      configId: 'm',
      value: 'x',
    });
    const { agent, request } = await successor();
    const turn = await startTurn(world, other);
    expect(await turn.end()).toHaveProperty('result');
    expect(await sentTo(world, agent)).toEqual([]);
    agent.send({ id: request.id, result: {} });

    const got = [1, 2, 3].map(() => agent.inbox.next(({ method }) => String(method).startsWith('session/')));
    const methods = (await Promise.all(got)).map(({ method, id }) => [method, id]);
    expect(methods).toEqual([
      ['session/set_mode', mode],
      ['session/prompt', first],
      ['session/set_config_option', option],
    ]);
  });

  test('two sessions of one agent are restored in one new agent', async () => {
    const second = await world.session(cwd, 's2', session.agent);
    await use(world, second);
    await kill(session.agent);
    const ids = [prompt('one'), prompt('two', second.id)];
    const { agent, request } = await successor();
    const more = await agent.inbox.next(({ method }) => reopeners.includes(method as string));
    expect([request, more].map(({ params }) => (params as Json).sessionId)).toEqual(['s1', 's2']);
    for (const { id } of [more, request]) agent.send({ id, result: {} });

    await answerPrompt(agent);
    await answerPrompt(agent);
    for (const id of ids) expect(await world.editor.response(id)).toHaveProperty('result');
    expect(prompts()).toEqual(['two', 'one']);
    expect(agents()).toHaveLength(2);
  });

  test('X5 a prompt that is cancelled by its id is answered -32800, and no agent gets it', async () => {
    await kill(session.agent);
    const id = prompt('never');
    const { agent, request } = await successor();
    world.send({ method: '$/cancel_request', params: { requestId: id } });
    expect(await world.editor.response(id)).toEqual(failure(id, -32800));
    agent.send({ id: request.id, result: {} });

    const next = prompt('next');
    await answerPrompt(agent);
    expect(await world.editor.response(next)).toHaveProperty('result');
    expect(prompts()).toEqual(['next']);
  });

  test('session/cancel ends the prompts before it as cancelled, and no agent gets them', async () => {
    await kill(session.agent);
    const id = prompt('never');
    const { agent, request } = await successor();
    world.send({ method: 'session/cancel', params: { sessionId: session.id } });
    expect(await world.editor.response(id)).toEqual(success(id, { stopReason: 'cancelled' }));
    const next = prompt('next');
    agent.send({ id: request.id, result: {} });

    await answerPrompt(agent);
    expect(await world.editor.response(next)).toHaveProperty('result');
    expect(prompts()).toEqual(['next']);
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('J6 session/cancel as a request waits, and gets the answer of the agent', async () => {
    await kill(session.agent);
    const waiting = prompt('next');
    const { agent, request } = await successor();
    const id = world.ask('session/cancel', { sessionId: session.id });
    agent.send({ id: request.id, result: {} });

    await answerPrompt(agent);
    await agent.answer('session/cancel', { error: { code: -32601, message: 'no request' } });
    expect(await world.editor.response(id)).toEqual(failure(id, -32601));
    expect(await world.editor.response(waiting)).toHaveProperty('result');
  });
});

describe('a session that cannot be restored', () => {
  test('because its agent cannot do that says so, at once, and starts none', async () => {
    await open({ agentHello: agentWith() });
    await kill(session.agent);

    const id = prompt();
    const answer = await world.editor.response(id);

    expect(answer).toEqual(failure(id, -32002, { sessionId: session.id }));
    expect(answer).toHaveProperty('error.message', expect.stringContaining('cannot reopen sessions'));
    expect(agents()).toHaveLength(1);
  });

  test('because the agent refuses fails what waits with its words, once each; the next prompt tries again', async () => {
    await open();
    await kill(session.agent);
    const ids = [prompt('one'), prompt('two')];
    const { agent, request } = await successor();
    const details = `history is gone${'!'.repeat(500)}`;
    agent.send({ id: request.id, error: { code: -32603, message: 'Internal error', data: { details } } });

    for (const id of ids) {
      const answer = await world.editor.response(id);
      expect(answer).toEqual(failure(id, -32603));
      const words = `: Internal error: ${details.slice(0, 500)}. Start a new one`;
      expect(answer).toHaveProperty('error.message', expect.stringContaining(words));
    }
    const next = prompt('three');
    await agent.answer('session/resume');
    await answerPrompt(agent);
    expect(await world.editor.response(next)).toHaveProperty('result');
    expect(prompts()).toEqual(['three']);
  });

  test('because somebody has to sign in tells the editor so, as the agent does', async () => {
    await open();
    await kill(session.agent);
    const id = prompt();
    const { agent, request } = await successor();
    const error = { code: -32000, message: 'Authentication required' };
    agent.send({ id: request.id, error });

    expect(await world.editor.response(id)).toEqual({ jsonrpc: '2.0', id, error });
  });

  test('D9 because agents die over it: three times, then the error names attempts, cause and remedy', async () => {
    // A proxy for itself, as its log is counted.
    await open({ env: { CAI_LOG_LEVEL: 'warn' } });
    await kill(session.agent);
    const id = prompt('never');
    for (let count = 0; count < 3; count++) {
      const { agent } = await successor();
      agent.order({ err: 'out of luck\n', exit: 5 });
    }

    const answer = await world.editor.response(id);
    expect(answer).toMatchObject(failure(id, -32603));
    expect(answer).toHaveProperty(
      'error.message',
      'agent "puppet" exited with status 5: out of luck (attempt 3 of 3: run its command in a terminal to see why)',
    );
    await goOn('next');
    expect(prompts()).toEqual(['next']);
    const said = await world.lastWords();
    expect(said.match(/agent start failed/g)).toHaveLength(3);
    expect(said).toContain('"class":"ended"');
  });

  test('is closed without an agent, and deleted by one', async () => {
    await open();
    const second = await world.session(cwd, 's2', session.agent);
    await kill(session.agent);

    const closed = await world.request('session/close', { sessionId: session.id });
    const deleting = world.ask('session/delete', { sessionId: second.id });
    const agent = await world.agent(cwd);
    const request = await agent.answer('session/delete');

    expect(closed).toEqual(success(closed.id, {}));
    expect(request.params).toEqual({ sessionId: 's2' });
    expect(await world.editor.response(deleting)).toEqual(success(deleting, {}));
    for (const sessionId of [session.id, second.id]) {
      const answer = await world.request('session/prompt', { sessionId, prompt: [] });
      expect(answer).toEqual(failure(answer.id, -32002, { sessionId }));
    }
  });
});

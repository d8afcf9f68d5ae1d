/** Calls of a session that meet in its queue: none overtakes another, and what fails or ends takes nothing else along. */
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import type { Puppet } from '../support/puppet';
import { SharedWorlds } from '../support/shared-worlds';
import { openFresh, use, type OpenSession } from '../support/turn';
import type { World } from '../support/world';

const noDelay = '[restart]\nfirst_delay = "0s"\n';

let world: World;
let cwd: string;
let session: OpenSession;
const worlds = new SharedWorlds();

async function open(env: NodeJS.ProcessEnv = {}): Promise<void> {
  world = await worlds.initialized({ config: noDelay, env });
  session = await openFresh(world);
  ({ cwd } = session.agent);
  await use(world, session);
}

/** Sends requests in one chunk, so that all are there before anything else can happen. */
function sendAtOnce(requests: Readonly<Record<string, { method: string; params: Json }>>): void {
  const lines = Object.entries(requests).map(
    ([id, request]) => `${JSON.stringify({ jsonrpc: '2.0', id, ...request })}\n`,
  );
  world.send(lines.join(''));
}

const prompt = (text: string, sessionId = session.id): { method: string; params: Json } => ({
  method: 'session/prompt',
  params: { sessionId, prompt: [{ type: 'text', text }] },
});

const load = (sessionId = session.id, folder = cwd): { method: string; params: Json } => ({
  method: 'session/load',
  params: { sessionId, cwd: folder, mcpServers: [] },
});

/** Kills the agent; resolves when the proxy knows. */
async function kill(agent: Puppet): Promise<void> {
  const waiting = world.request('_wait', { cwd: agent.cwd });
  await agent.inbox.next('_wait');
  agent.order({ kill: 'SIGKILL' });
  await waiting;
}

/** The agent answers the next of its requests; resolves with that. */
async function answer(agent: Puppet, outcome: Json = { result: {} }): Promise<Json> {
  const request = await agent.inbox.next(
    ({ id, method }) => id !== undefined && method !== '_wait' && method !== 'initialize',
  );
  agent.send({ id: request.id, ...outcome });
  return request;
}

const refused = { error: { code: -32603, message: 'no' } };

test.each([
  ['a load that cannot be served', () => load(session.id, 'relative'), 0],
  [
    'a delete that the agent refuses',
    () => ({ method: 'session/delete', params: { sessionId: session.id } }),
    1,
  ],
])(
  'prompts behind %s keep their order when the first of them restores the session',
  async (_, first, asked) => {
    await open();
    await kill(session.agent);

    sendAtOnce({ first: first(), one: prompt('1'), two: prompt('2'), three: prompt('3') });
    const agent = await world.agent(cwd);
    for (let n = 0; n < asked; n++) await answer(agent, refused);
    expect(await answer(agent)).toMatchObject({ method: 'session/resume' });
    const got = [await answer(agent), await answer(agent), await answer(agent)];

    expect(got.map(({ id }) => id)).toEqual(['one', 'two', 'three']);
    expect(await world.editor.response('first')).toHaveProperty('error');
    for (const id of ['one', 'two', 'three'])
      expect(await world.editor.response(id)).toHaveProperty('result');
  },
);

test('a session whose agent dies while it is loaded again is restored by the next prompt', async () => {
  await open();
  sendAtOnce({ again: load() });
  await session.agent.inbox.next('session/load');
  session.agent.order({ kill: 'SIGKILL' });
  expect(await world.editor.response('again')).toHaveProperty('error.code', -32603);

  sendAtOnce({ next: prompt('go on') });
  const agent = await world.agent(cwd);
  expect(await answer(agent)).toMatchObject({ method: 'session/resume', params: { sessionId: 's1' } });
  await answer(agent, { result: { stopReason: 'end_turn' } });

  expect(await world.editor.response('next')).toHaveProperty('result.stopReason', 'end_turn');
});

test.each(['session/close', 'session/delete'])(
  'a load that fails does not bring back what %s has ended',
  async (method) => {
    await open();
    sendAtOnce({ end: { method, params: { sessionId: session.id } }, again: load() });
    const end = await session.agent.inbox.next(method);
    const again = await session.agent.inbox.next('session/load');
    session.agent.send({ id: end.id, result: {} });
    session.agent.send({ id: again.id, ...refused });
    expect(await world.editor.response('end')).toHaveProperty('result');
    expect(await world.editor.response('again')).toHaveProperty('error.code', -32603);

    sendAtOnce({ next: prompt('go on') });

    expect(await world.editor.response('next')).toHaveProperty('error.code', -32002);
  },
);

test('a session/end that is cancelled while it waits ends nothing', async () => {
  await open();
  sendAtOnce({ again: load(), end: { method: 'session/end', params: { sessionId: session.id } } });
  world.send({ method: '$/cancel_request', params: { requestId: 'end' } });
  sendAtOnce({ next: prompt('go on') });
  const got = [await answer(session.agent), await answer(session.agent)];

  expect(got.map(({ method }) => method)).toEqual(['session/load', 'session/prompt']);
  expect(await world.editor.response('end')).toHaveProperty('error.code', -32800);
});

test('session/end reaches an agent that still starts behind the calls before it', async () => {
  world = await worlds.initialized();
  cwd = world.workspace('other');
  const end = { method: 'session/end', params: { sessionId: 'x1' } };
  sendAtOnce({ load: load('x1'), prompt: prompt('go on', 'x1'), end });
  const agent = await world.agent(cwd);
  const got = [await answer(agent), await answer(agent), await answer(agent)];

  expect(got.map(({ method }) => method)).toEqual(['session/load', 'session/prompt', 'session/close']);
  expect(await world.editor.response('end')).toHaveProperty('result');
});

test('session/end of the last session leaves its agent the time to answer what else it was asked', async () => {
  await open();
  const other = await world.session(cwd, 's2', session.agent);
  sendAtOnce({ close: { method: 'session/close', params: { sessionId: other.id } } });
  await answer(session.agent);
  await world.editor.response('close');

  sendAtOnce({
    delete: { method: 'session/delete', params: { sessionId: other.id } },
    end: { method: 'session/end', params: { sessionId: session.id } },
  });
  // As agents do that have nothing more to read.
  void session.agent.sawEof.then(() => session.agent.order({ exit: 0 }));
  const deleted = await session.agent.inbox.next('session/delete');
  await answer(session.agent);
  expect(await world.editor.response('end')).toHaveProperty('result');
  await world.session(world.workspace('other'), 's3');
  session.agent.send({ id: deleted.id, result: {} });

  expect(await world.editor.response('delete')).toHaveProperty('result');
});

test('what an agent still says of a closed session is not taken for a session that it is about to open', async () => {
  await open();
  sendAtOnce({ close: { method: 'session/close', params: { sessionId: session.id } } });
  await answer(session.agent);
  await world.editor.response('close');

  sendAtOnce({ new: { method: 'session/new', params: { cwd, mcpServers: [] } } });
  const { id } = await session.agent.inbox.next('session/new');
  session.agent.say('s1', 'late');
  session.agent.say('s2', 'early');
  session.agent.send({ id, result: { sessionId: 's2' } });
  const opened = await world.editor.response('new');

  const updates = world.editor.takeAll().filter(({ method }) => method === 'session/update');
  expect(updates).toMatchObject([{ params: (opened as { result: Json }).result }]);
});

test('an agent that does not list its sessions keeps waiting only the first call for an unknown id', async () => {
  await open(hastened);
  const unknown = (n: number): string => `0000000${n}-0000-5000-8000-000000000000`;
  sendAtOnce({ one: load(unknown(1)), two: load(unknown(2)) });
  const got = [
    (await session.agent.inbox.next('session/list')).method,
    (await answer(session.agent)).method,
    (await answer(session.agent)).method,
  ];

  expect(got).toEqual(['session/list', 'session/load', 'session/load']);
});

/** An agent that is stopped, as by SIGSTOP, is noticed by its process state and ended; the next call starts another. */
import { sentBy, startCall } from '../support/dialogue';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { askEditor, permissionParams, startTurn, use, type OpenSession } from '../support/turn';
import { fullAgent, World } from '../support/world';

const config = '[restart]\nfirst_delay = "0s"\n';

let world: World;
let cwd: string;
let session: OpenSession;
beforeEach(async () => {
  world = await World.initialized({ config, env: hastened });
  cwd = world.workspace('a');
  session = await world.session(cwd, 's1');
  await use(world, session);
});
afterEach(() => world.end());

/** Stops an agent, as if it were from a terminal. */
function stop({ pid }: Puppet): void {
  process.kill(pid, 'SIGSTOP');
}

function prompt(): number {
  return world.ask('session/prompt', { sessionId: session.id, prompt: [{ type: 'text', text: 'go on' }] });
}

/** Resolves with the only answer to a request, which is that its agent was stopped. */
async function expectStopped(id: number): Promise<void> {
  const answer = await world.editor.response(id);
  expect(answer).toEqual(failure(id, -32603));
  expect(answer).toHaveProperty(
    'error.message',
    expect.stringMatching(/is stopped, as by SIGSTOP.*next prompt/),
  );
}

/** The next prompt is served by a new agent, which has the session again. */
async function expectGoesOn(): Promise<void> {
  const id = prompt();
  const agent = await world.agent(cwd);
  await agent.answer('session/resume');
  await agent.answer('session/prompt', { result: { stopReason: 'end_turn' } });
  expect(await world.editor.response(id)).toEqual(success(id, { stopReason: 'end_turn' }));
  expect(await sentBy(world, agent)).toEqual([]);
}

test('in a turn: its prompt gets one error, and the session goes on with the next, however soon that comes', async () => {
  const { id } = await startTurn(world, session);

  stop(session.agent);

  await expectStopped(id);
  await expectGoesOn();
  await session.agent.gone;
});

test('while it waits for a permission: the question is taken back', async () => {
  const { id } = await startTurn(world, session);
  const asked = await askEditor(world, session.agent, {
    id: 7,
    method: 'session/request_permission',
    params: permissionParams('s1'),
  });

  stop(session.agent);

  await expectStopped(id);
  expect(await world.editor.next('$/cancel_request')).toHaveProperty('params.requestId', asked.id);
  world.send({ id: asked.id, result: { outcome: { outcome: 'cancelled' } } });
  await expectGoesOn();
});

test('while it opens a session: the next one is opened by another agent', async () => {
  const params = { cwd, mcpServers: [] };
  const call = await startCall(world, session.agent, 'session/new', params);

  stop(session.agent);

  await expectStopped(call.id);
  const again = world.ask('session/new', params);
  const agent = await world.agent(cwd);
  await agent.answer('session/new', { result: { sessionId: 's2' } });
  expect(await world.editor.response(again)).toHaveProperty('result');
});

test('while nothing is asked of it: it is noticed with the next prompt', async () => {
  stop(session.agent);

  await expectStopped(prompt());
  await expectGoesOn();
});

test('while it starts: it is started again', async () => {
  const hellos = [false, false, fullAgent] as (Json | false)[];
  await world.end();
  world = await World.start({ config, env: hastened, agentHello: () => hellos.shift()! });
  const initializing = world.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const first = await world.agent();
  await first.inbox.next('initialize');

  stop(first);

  const second = await world.agent(first.cwd);
  await second.greet(fullAgent);
  expect(await world.editor.response(initializing)).toHaveProperty('result.protocolVersion', 1);
});

test('an agent that is stopped for a moment, or silent, keeps its turn', async () => {
  const kept = await startTurn(world, session);
  stop(session.agent);
  process.kill(session.agent.pid, 'SIGCONT');
  // Another agent is stopped, and noticed only after several looks at both.
  const other = await world.session(world.workspace('b'), 's2');
  const turn = await startTurn(world, other);
  stop(other.agent);
  await expectStopped(turn.id);

  expect(await kept.end()).toHaveProperty('result');
});

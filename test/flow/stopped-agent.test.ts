/** An agent that is stopped, as by SIGSTOP, is noticed by its process state and ended; the next call starts another. */
import { sentBy } from '../support/dialogue';
import { hastened } from '../support/hastened';
import { failure, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { startTurn, use, type OpenSession } from '../support/turn';
import { World } from '../support/world';

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

test('while nothing is asked of it: it is noticed with the next prompt', async () => {
  stop(session.agent);

  await expectStopped(prompt());
  await expectGoesOn();
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
  // SIGTERM does not end a process that is stopped: the proxy has to live until it sends SIGKILL.
  await other.agent.gone;
});

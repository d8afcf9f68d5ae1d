/** Invariant 3: what one side sends to the other keeps its order, whatever the proxy has to look up. */
import { sentBy, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { lineOf } from '../support/messages';
import { chunk, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

describe('order', () => {
  let world: World;
  let session: OpenSession;
  let cwd: string;
  beforeAll(async () => {
    world = await World.initialized();
    cwd = world.workspace('own');
    session = await world.session(cwd, 's1');
  });
  afterAll(() => world.end());

  /** Params that name a session of the same agent, just opened. */
  async function another(): Promise<object> {
    return { sessionId: (await world.session(cwd, `other-${Math.random()}`, session.agent)).id };
  }

  test.each<[string, Json, () => object | Promise<object>]>([
    ['an extension without a target', { id: 1, method: '_ask' }, () => ({})],
    ['an extension that names the session', { id: 1, method: '_ask' }, () => ({ sessionId: session.id })],
    ['a notification without a target', { method: '_tell' }, () => ({})],
    ['a sign-in', { id: 1, method: 'authenticate' }, () => ({ methodId: 'key' })],
    ['a question about providers', { id: 1, method: 'providers/list' }, () => ({})],
    ['the close of another session', { id: 1, method: 'session/close' }, another],
    ['the end of another session', { id: 1, method: 'session/delete' }, another],
  ])('D4 the agent gets %s before a prompt that was sent after it', async (_, first, paramsOf) => {
    const params = await paramsOf();
    const prompt = { id: 2, method: 'session/prompt', params: { sessionId: session.id, prompt: [] } };
    // In one chunk, so that both are there before anything else can happen.
    world.send(lineOf({ ...first, params }) + lineOf(prompt));
    const got = [await session.agent.inbox.next(() => true), await session.agent.inbox.next(() => true)];

    expect(got.map(({ method }) => method)).toEqual([first.method, prompt.method]);
    for (const { id } of got.filter((message) => message.id !== undefined)) {
      session.agent.send({ id, result: {} });
    }
    await world.editor.response(2);
    if (first.id !== undefined) await world.editor.response(1);
  });

  test.each([
    ['session/prompt', () => ({ sessionId: session.id, prompt: [] })],
    ['session/list', () => ({ cwd })],
    ['authenticate', () => ({ methodId: 'key' })],
    ['providers/list', () => ({})],
    ['_session/batch_get', () => ({ sessionIds: [session.id] })],
  ])(
    'P1 P2 the editor gets the answer to %s after the updates that came before it, however slowly it reads',
    async (method, params) => {
      const call = await startCall(world, session.agent, method, params());
      world.process.stdout.pause();
      for (let i = 0; i < 400; i++) session.agent.say('s1', `${i} ${'x'.repeat(2_000)}`);
      session.agent.send({ id: call.received.id, result: { sessions: [] } });
      await session.agent.done();
      world.process.stdout.resume();
      const received = await sentBy(world, session.agent);

      expect(received.findIndex((message) => message.id === call.id)).toBe(400);
      expect(received.slice(0, 400).map(numberOf)).toEqual(Array.from({ length: 400 }, (_, i) => i));
    },
  );

  test.each([
    ['a chunk', { method: 'session/update', params: chunkFor('s1') }],
    ['an update of another kind', { method: 'session/update', params: { sessionId: 's1', update: {} } }],
    ['a request', { id: 7, method: '_ask', params: { sessionId: 's1' } }],
    ['a notification without a target', { method: '_tell' }],
  ])('P1 P2 the answer to a prompt stays before %s that follows in the same chunk', async (_, next) => {
    const turn = await startTurn(world, session);
    const before = { method: 'session/update', params: chunkFor('s1') };
    const answer = { id: turn.id, result: { stopReason: 'end_turn' } };

    session.agent.send([before, answer, next].map(lineOf).join(''));
    const received = await sentBy(world, session.agent);
    const asked = received.find(({ method }) => method === '_ask');
    if (asked !== undefined) world.send({ id: asked.id, result: {} });

    expect(received.map(({ method }) => method)).toEqual([before.method, undefined, next.method]);
  });

  test('P2 the editor gets a file request, whose path is looked up, between the updates around it', async () => {
    world.file('own/file.txt', '');
    for (let i = 0; i < 30; i++) {
      session.agent.say('s1', `${i}`);
      const params = { sessionId: 's1', path: `${cwd}/file.txt` };
      session.agent.send({ id: i, method: 'fs/read_text_file', params });
    }
    const received = await sentBy(world, session.agent);

    const methods = ['session/update', 'fs/read_text_file'];
    expect(received.map(({ method }) => method)).toEqual(Array.from({ length: 30 }, () => methods).flat());
  });
});

function chunkFor(sessionId: string): Json {
  return { sessionId, update: chunk('text') };
}

/** The number that an update's text begins with. */
function numberOf(message: Json): number {
  const { update } = message.params as { update: { content: { text: string } } };
  return parseInt(update.content.text);
}

/** What an agent says in many chunks, which the proxy passes on without looking at each: the same comes out. */
import type { Json } from '../support/inbox';
import { chunk, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

describe('chunks of messages', () => {
  let world: World;
  afterEach(() => world.end());

  const update = ({ agentId: sessionId }: OpenSession, content: Json): string =>
    `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: content } })}\n`;
  const thought = (text: string): Json => ({ ...chunk(text), sessionUpdate: 'agent_thought_chunk' });
  const tool = (toolCallId: string): Json => ({ sessionUpdate: 'tool_call', toolCallId, title: 'Reads' });
  const received = ({ id }: OpenSession): Json[] =>
    world.editor.lines
      .map((line) => JSON.parse(line.toString()) as { params?: { sessionId: string; update: Json } })
      .flatMap(({ params }) => (params?.sessionId === id ? [params.update] : []));

  test('come in order, with what comes between them, and each in its own session', async () => {
    world = await World.initialized();
    const one = await world.session(world.workspace('one'), 's1');
    const two = await world.session(world.workspace('one'), 's2', one.agent);
    const texts = Array.from({ length: 3_000 }, (_, n) => `${n} "é" ${'\\\n'.repeat(n % 40)}`);
    const said = texts.map((text, n) => {
      if (n % 700 === 0) return { session: one, content: tool(`${n}`) };
      const content = Math.floor(n / 100) % 7 === 3 ? thought(text) : chunk(text);
      return { session: Math.floor(n / 300) % 5 === 2 ? two : one, content };
    });
    const turn = await startTurn(world, one);

    one.agent.send(said.map(({ session, content }) => update(session, content)).join(''));
    await turn.end();

    for (const each of [one, two]) {
      const expected = said.filter(({ session }) => session === each).map(({ content }) => content);
      expect(received(each)).toEqual(expected);
    }
    expect(world.editor.lines.every((line) => !line.includes('"s1"') && !line.includes('"s2"'))).toBe(true);
  });

  test('of a session that was closed are not passed on, nor under the id of the one before', async () => {
    world = await World.initialized();
    const first = await world.session(world.workspace('one'), 's1');
    const { agent } = first;
    agent.send(update(first, chunk('a'.repeat(50))).repeat(20));
    await turnOf(first);
    const closing = world.ask('session/close', { sessionId: first.id });
    await agent.answer('session/close');
    await world.editor.response(closing);
    const other = await world.session(world.workspace('one'), 's2', agent);

    agent.send(update(first, chunk('b'.repeat(50))).repeat(20));
    await turnOf(other);
    const again = await world.session(world.workspace('one'), 's1', agent);
    agent.send(update(again, chunk('c'.repeat(50))).repeat(20));
    await turnOf(again);

    expect(received(first)).toEqual(Array.from({ length: 20 }, () => chunk('a'.repeat(50))));
    expect(received(other)).toEqual([]);
    expect(received(again)).toEqual(Array.from({ length: 20 }, () => chunk('c'.repeat(50))));
    expect(again.id).not.toBe(first.id);
  });

  test('that tell the past of a session that is restored are kept from the editor', async () => {
    world = await World.initialized();
    const session = await world.session(world.workspace('one'), 's1');
    session.agent.send(update(session, chunk('a'.repeat(50))).repeat(20));
    await turnOf(session);
    const open = world.request('_wait', { cwd: session.agent.cwd });
    await session.agent.inbox.next('_wait');
    session.agent.order({ kill: 'SIGKILL' });
    await open;

    const prompt = world.ask('session/prompt', { sessionId: session.id, prompt: [] });
    const agent = await world.agent(session.agent.cwd);
    const restore = await agent.inbox.next((message) =>
      /^session\/(load|resume)$/.test(String(message.method)),
    );
    agent.send(update(session, chunk('b'.repeat(50))).repeat(20));
    agent.send({ id: restore.id, result: {} });
    const prompted = await agent.inbox.next('session/prompt');
    agent.send(update(session, chunk('c'.repeat(50))).repeat(20));
    agent.send({ id: prompted.id, result: { stopReason: 'end_turn' } });
    await world.editor.response(prompt);

    const told = received(session).map(({ content }) => (content as { text: string } | undefined)?.text[0]);
    expect(told.filter((letter) => letter === 'a')).toHaveLength(20);
    expect(told.filter((letter) => letter === 'b')).toHaveLength(0);
    expect(told.filter((letter) => letter === 'c')).toHaveLength(20);
  });

  /** Resolves when all that the agent wrote before is with the editor. */
  async function turnOf(session: OpenSession): Promise<void> {
    await (await startTurn(world, session)).end();
  }
});

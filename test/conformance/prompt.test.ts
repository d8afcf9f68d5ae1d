/** Statements P: the prompt turn and the order of what belongs to it. */
import { exchange, sentBy } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { chunk, permissionParams, startTurn } from '../support/turn';
import { World } from '../support/world';

describe('a prompt turn', () => {
  let world: World;
  beforeEach(async () => (world = await World.initialized()));
  afterEach(() => world.end());

  test('P1 a thousand updates and the response in one chunk reach the editor in that order', async () => {
    const session = await world.session(world.workspace('own'), 'same');
    const turn = await startTurn(world, session);
    const line = (message: Json): string => JSON.stringify({ jsonrpc: '2.0', ...message });
    // Chunks are passed on several at once, others each by itself, as the last one before the response.
    const update = (n: number): Json =>
      n % 3 === 0 ? { sessionUpdate: 'tool_call_update', toolCallId: `call ${n}` } : chunk(`part ${n}`);
    const updates = (sessionId: string): string[] =>
      Array.from({ length: 1_000 }, (_, n) =>
        line({ method: 'session/update', params: { sessionId, update: update(n) } }),
      );
    const response = line({ id: turn.id, result: { stopReason: 'end_turn' } });

    session.agent.send(`${[...updates('same'), response].join('\n')}\n`);
    await world.editor.response(turn.id);

    expect(world.editor.lines.slice(-1_001).map(String)).toEqual([...updates(session.id), response]);
  });

  test('P2 messages, tool calls, permissions and file requests of a session keep their order', async () => {
    const session = await world.session(world.workspace('own'), 's');
    const path = world.file('own/a.txt', '');
    const { agent } = session;
    const call: Json = { toolCallId: 'c', title: 'Run' };
    const sent: Json[] = [
      { method: 'session/update', params: { update: chunk('before') } },
      { method: 'session/update', params: { update: { sessionUpdate: 'tool_call', ...call } } },
      { id: 0, method: 'session/request_permission', params: permissionParams('s') },
      { method: 'session/update', params: { update: { sessionUpdate: 'tool_call_update', ...call } } },
      { id: 1, method: 'fs/read_text_file', params: { path } },
      { method: 'session/update', params: { update: chunk('after the file') } },
      { id: 2, method: 'fs/write_text_file', params: { path, content: 'x' } },
      { id: 3, method: '_ask', params: {} },
      { method: 'session/update', params: { update: { sessionUpdate: 'plan', entries: [] } } },
    ];

    const lines = sent.map(({ params, ...message }) =>
      JSON.stringify({ jsonrpc: '2.0', ...message, params: { ...(params as Json), sessionId: 's' } }),
    );
    agent.send(`${lines.join('\n')}\n`);

    const received = await sentBy(world, agent);
    const withoutIds = received.map(({ method, params }) => ({ method, params }));
    expect(withoutIds).toEqual(
      sent.map(({ method, params }) => ({
        method,
        params: { ...(params as Json), sessionId: session.id },
      })),
    );
  });

  test('P4 stop reason, usage, message id and unknown fields of the result pass byte for byte', async () => {
    const session = await world.session(world.workspace('own'), 's');
    const turn = await startTurn(world, session);
    const line =
      `{"result": {"usage":{"totalTokens":18446744073709551615,"cost":1.0},"novel":{"b":null,"a":[]},` +
      `"stopReason":"_paused","userMessageId":"m-1","_meta":{"x":-0}} ,"id":${turn.id},"jsonrpc":"2.0"}`;

    session.agent.send(`${line}\n`);
    await world.editor.response(turn.id);

    expect(String(world.editor.lines.at(-1))).toBe(line);
  });

  test('P9 updates outside a turn are delivered', async () => {
    const session = await world.session(world.workspace('own'), 's');
    const commands = { name: 'review', description: 'Reviews', input: { hint: 'what' } };
    const updates: Json[] = [
      { sessionUpdate: 'available_commands_update', availableCommands: [commands] },
      { sessionUpdate: 'session_info_update', title: 'A title', updatedAt: null },
      { sessionUpdate: 'tool_call_update', toolCallId: 'background', status: 'completed' },
    ];

    for (const update of updates) session.agent.update('s', update);
    const beforeTurn = await sentBy(world, session.agent);
    await (await startTurn(world, session)).end();
    for (const update of updates) session.agent.update('s', update);
    const afterTurn = await sentBy(world, session.agent);

    const expected = updates.map((update) => ({
      jsonrpc: '2.0',
      method: 'session/update',
      params: { sessionId: session.id, update },
    }));
    expect(beforeTurn).toEqual(expected);
    expect(afterTurn).toEqual(expected);
  });

  test('P10 an update that precedes the session/new response carries the id that the response carries', async () => {
    const request = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
    const agent = await world.agent();
    const received = await agent.inbox.next('session/new');

    agent.say('fresh', 'welcome');
    const update = await world.editor.next('session/update');
    agent.send({ id: received.id, result: { sessionId: 'fresh' } });
    const response = await world.editor.response(request);

    const { sessionId } = response.result as { sessionId: string };
    expect(sessionId).not.toBe('fresh');
    expect(update.params).toEqual({ sessionId, update: chunk('welcome') });
  });

  test('P10 with two session/new open, the updates of each carry the id of its own response', async () => {
    const cwd = world.workspace('own');
    const asked = [1, 2].map(() => world.ask('session/new', { cwd, mcpServers: [] }));
    const agent = await world.agent();
    const received = [await agent.inbox.next('session/new'), await agent.inbox.next('session/new')];

    agent.say('two', 'from two');
    agent.say('one', 'from one');
    const updates = [await world.editor.next('session/update'), await world.editor.next('session/update')];
    agent.send({ id: received[1]!.id, result: { sessionId: 'two' } });
    agent.send({ id: received[0]!.id, result: { sessionId: 'one' } });
    const [one, two] = [await world.editor.response(asked[0]), await world.editor.response(asked[1])];

    const ids = [two, one].map(({ result }) => (result as { sessionId: string }).sessionId);
    expect(new Set(ids).size).toBe(2);
    expect(updates.map(({ params }) => params)).toEqual([
      { sessionId: ids[0], update: chunk('from two') },
      { sessionId: ids[1], update: chunk('from one') },
    ]);
  });

  test('P10 a session that was spoken of early can be prompted', async () => {
    const cwd = world.workspace('own');
    const request = world.ask('session/new', { cwd, mcpServers: [] });
    const agent = await world.agent();
    const received = await agent.inbox.next('session/new');
    agent.say('fresh', 'welcome');
    agent.send({ id: received.id, result: { sessionId: 'fresh' } });
    const { sessionId } = (await world.editor.response(request)).result as { sessionId: string };

    const prompt = { sessionId, prompt: [{ type: 'text', text: 'hello' }] };
    const asked = await exchange(world, agent, 'session/prompt', prompt, {
      result: { stopReason: 'refusal' },
    });

    expect(asked.request.params).toEqual({ ...prompt, sessionId: 'fresh' });
    expect(asked.response.result).toEqual({ stopReason: 'refusal' });
  });
});

/** Statements J1 to J4: ids of requests, in both directions. */
import { expectNothingLeft, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import type { OpenSession } from '../support/turn';
import { nextLine } from '../support/verbatim';
import { World } from '../support/world';

/** Ids as JSON text, in every form that is legal. */
const idTexts = [
  '0',
  '1',
  '-7',
  '1.0',
  '1e3',
  '9007199254740993',
  'null',
  '"1"',
  '""',
  '"caf\\u00e9 \u2028"',
];

describe('request ids', () => {
  let world: World;
  let a: OpenSession;
  let b: OpenSession;
  beforeAll(async () => {
    world = await World.initialized();
    a = await world.session(world.workspace('a'), 'agents-session');
    b = await world.session(world.workspace('b'), 'agents-session');
  });
  afterAll(() => world.end());
  afterEach(() => expectNothingLeft(world, a.agent, b.agent));

  /** An agent asks the editor something in its session; resolves with the editor's id for it. */
  async function asks({ id: sessionId, agentId, agent }: OpenSession, id: string): Promise<unknown> {
    agent.send(`{"jsonrpc":"2.0","id":${id},"method":"_ask","params":{"sessionId":"${agentId}"}}\n`);
    const request = await world.editor.next('_ask');
    expect(request.params).toEqual({ sessionId });
    return request.id;
  }

  test.each(idTexts)('J1 the response to the editor has the id %s as it was written', async (text) => {
    world.send(`{"jsonrpc":"2.0","id":${text},"method":"_ask","params":{"sessionId":"${a.id}"}}\n`);
    const line = await nextLine(a.agent.inbox);
    const agentsId = /"id":(.*),"method"/s.exec(line)?.[1];
    a.agent.send(`{"jsonrpc":"2.0","id":${String(agentsId)},"result":{}}\n`);

    expect(await nextLine(world.editor)).toBe(`{"jsonrpc":"2.0","id":${text},"result":{}}`);
  });

  test.each(['1.0', '1e3', '9007199254740993', '"\\u0061"'])(
    'J1 the response has the id %s as it was written, also when the agent writes it otherwise',
    async (text) => {
      world.send(`{"jsonrpc":"2.0","id":${text},"method":"_ask","params":{"sessionId":"${a.id}"}}\n`);
      await a.agent.answer('_ask');

      expect(await nextLine(world.editor)).toBe(`{"jsonrpc":"2.0","id":${text},"result":{}}`);
    },
  );

  test.each(idTexts)('J1 the response to an agent has the id %s as it was written', async (text) => {
    const id = await asks(a, text);
    world.send({ id, result: {} });

    expect(await nextLine(a.agent.inbox)).toBe(`{"jsonrpc":"2.0","id":${text},"result":{}}`);
  });

  test.each(['.0', 'e0'])(
    'J1 an agent gets its answer, also when the editor writes the id with %s',
    async (end) => {
      const id = await asks(a, '"asked"');
      world.send(`{"jsonrpc":"2.0","id":${String(id)}${end},"result":{}}\n`);

      expect(await nextLine(a.agent.inbox)).toBe('{"jsonrpc":"2.0","id":"asked","result":{}}');
    },
  );

  test('J2 two agents that both send id 0 at once each get their own answer', async () => {
    const [ofA, ofB] = [await asks(a, '0'), await asks(b, '0')];
    world.send({ id: ofB, result: 'for b' });
    world.send({ id: ofA, result: 'for a' });

    expect(await a.agent.inbox.next(() => true)).toEqual(success(0, 'for a'));
    expect(await b.agent.inbox.next(() => true)).toEqual(success(0, 'for b'));
  });

  test('J3 a request of the editor and one of an agent with the same id do not disturb each other', async () => {
    const id = (await asks(a, '1')) as number;
    world.send({ id, method: '_ask', params: { sessionId: a.id } });
    await a.agent.inbox.next('_ask');
    const ofAgent = await asks(a, String(id));

    a.agent.send({ id, result: 'to the editor' });
    expect(await world.editor.response(id)).toEqual(success(id, 'to the editor'));
    world.send({ id: ofAgent, result: 'to the agent, second' });
    world.send({ id, result: 'to the agent, first' });
    expect(await a.agent.inbox.next(() => true)).toEqual(success(id, 'to the agent, second'));
    expect(await a.agent.inbox.next(() => true)).toEqual(success(1, 'to the agent, first'));
  });

  test('J4 no id that is open at the editor is given again, whoever asks and whatever is answered meanwhile', async () => {
    const open = new Set<unknown>();
    for (let round = 0; round < 20; round++) {
      const [ofA, ofB] = [await asks(a, String(round)), await asks(b, String(round))];
      expect([ofA, ofB].filter((id) => open.has(id))).toEqual([]);
      open.add(ofA).add(ofB);
      if (round % 3 !== 0) continue;
      world.send({ id: ofA, result: {} });
      await a.agent.inbox.response(round);
      open.delete(ofA);
    }

    for (const id of open) world.send({ id, result: {} });
    const answers = await sentTo(world, a.agent, b.agent);
    expect(answers).toHaveLength(open.size);
    expect(answers.filter(({ result }) => JSON.stringify(result) !== '{}')).toEqual([]);
  });

  test('J4 an id that the editor still has open is refused with -32600, and the first request goes on', async () => {
    const ask: Json = { id: 'twice', method: '_ask', params: { sessionId: a.id } };
    world.send(ask);
    world.send({ ...ask, params: { sessionId: b.id } });

    expect(await world.editor.next(() => true)).toEqual(failure('twice', -32600));
    expect(await a.agent.inbox.next(() => true)).toMatchObject({ id: 'twice' });
    a.agent.send({ id: 'twice', result: 1 });
    expect(await world.editor.next(() => true)).toEqual(success('twice', 1));
  });

  test('J4 an id can be used again when it was answered', async () => {
    for (const result of [1, 2]) {
      world.send({ id: 'again', method: '_ask', params: { sessionId: a.id } });
      await a.agent.answer('_ask', { result });
      expect(await world.editor.next(() => true)).toEqual(success('again', result));
    }
  });
});

/** Statements E: questions of agents to the user. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endAgent, endAgents, exchange, sentBy, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { success } from '../support/messages';
import { askEditor, openFresh, openTwo, type OpenSession } from '../support/turn';
import { toAgent, toEditor } from '../support/verbatim';
import { World } from '../support/world';

const method = 'elicitation/create';

/** A question by URL, in the scope of a session or of a request. */
const byUrl = (scope: Json, elicitationId: unknown): Json => ({
  mode: 'url',
  message: 'Sign in',
  url: `https://example.org/?id=${String(elicitationId)}`,
  elicitationId,
  ...scope,
});

let world: World;

describe('of a proxy of its own, an elicitation', () => {
  afterEach(() => world.end());

  test('E2 about a request that the editor does not know is cancelled', async () => {
    world = await World.initialized();
    await exchange(world, await world.agent(), 'authenticate', { methodId: 'key' });
    world.ask('session/new', { cwd: world.workspace('b'), mcpServers: [] });
    const agent = await world.agent(world.workspace('b'));
    const { id: repeated } = await agent.inbox.next('authenticate');

    for (const [id, requestId] of [repeated, 'nobody'].entries()) {
      agent.send({ id, method, params: byUrl({ requestId }, 'e') });
      expect(await agent.inbox.response(id)).toEqual(success(id, { action: 'cancel' }));
    }
    expect(await sentBy(world, agent)).toEqual([]);
  });

  test('E4 the URL is unchanged, not fetched and not logged', async () => {
    let visits = 0;
    const server = createServer(() => visits++).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=se%63ret&id=same&sessionId=s#s`;
    const { world: own, first, second } = await openTwo({ env: { CAI_LOG_LEVEL: 'debug' } }, 's');
    world = own;
    const params = byUrl({ sessionId: 's' }, 'same');
    await askEditor(world, first.agent, { id: 0, method, params });

    const received = await askEditor(world, second.agent, { id: 0, method, params: { ...params, url } });
    world.send({ id: received.id, result: { action: 'accept' } });
    await second.agent.inbox.response(0);
    second.agent.send({ method: 'elicitation/complete', params: { elicitationId: 'same' } });
    await sentBy(world, second.agent);
    const said = await world.lastWords();
    server.close();

    expect((received.params as Json).url).toBe(url);
    expect(visits).toBe(0);
    expect(said).toContain('from editor');
    expect(said).not.toContain('token=');
  });

  test.each([
    ['nothing', {}, ['form', 'url', '_voice', undefined]],
    ['null', { elicitation: { form: null } }, ['form', 'url']],
    ['forms alone', { elicitation: { form: {} } }, ['url', '_voice', 'constructor', 7]],
    ['URLs alone', { elicitation: { url: {} } }, ['form']],
  ])('E1 is refused where the editor offers %s', async (_, capabilities, modes) => {
    world = await World.initialized({}, capabilities);
    const { agent } = await world.session(world.workspace('own'), 's');

    for (const mode of modes) {
      agent.send({ id: `for ${String(mode)}`, method, params: { ...byUrl({ sessionId: 's' }, 'e'), mode } });

      expect(await agent.inbox.response(`for ${String(mode)}`)).toMatchObject({ error: { code: -32602 } });
    }
    expect(await sentBy(world, agent)).toEqual([]);
  });

  test('E1 is forwarded where the editor offers it, also an unknown one', async () => {
    world = await World.initialized({}, { elicitation: { form: {}, _voice: {} } });
    const { agent, id } = await world.session(world.workspace('own'), 's');

    for (const mode of ['form', '_voice']) {
      const params = { sessionId: 's', mode, message: 'What?' };

      const asked = await askEditor(world, agent, { id: 0, method, params });
      world.send({ id: asked.id, result: { action: 'decline' } });

      expect(asked.params).toEqual({ ...params, sessionId: id });
      expect(await agent.inbox.response(0)).toMatchObject({ result: { action: 'decline' } });
    }
  });
});

describe('an elicitation', () => {
  let first: OpenSession;
  let second: OpenSession;
  beforeAll(async () => void (world = await World.initialized()));
  beforeEach(async () => void ([first, second] = [await openFresh(world, 's'), await openFresh(world, 's')]));
  afterEach(() => endAgents(world, first.agent, second.agent));
  afterAll(() => world.end());

  /** Lets an agent ask by URL in the scope of its session; resolves with the editor's ids. */
  async function asked({ agent }: OpenSession, id: unknown, elicitationId: string): Promise<Json> {
    const request = { id, method, params: byUrl({ sessionId: 's' }, elicitationId) };
    const received = await askEditor(world, agent, request);
    return { id: received.id, elicitationId: (received.params as Json).elicitationId };
  }

  /** Lets an agent say that one of its elicitations is complete. */
  function complete({ agent }: OpenSession, elicitationId: string): void {
    agent.send({ method: 'elicitation/complete', params: { elicitationId } });
  }

  const completed = (elicitationId: unknown): Json => ({
    jsonrpc: '2.0',
    method: 'elicitation/complete',
    params: { elicitationId },
  });

  test('E2 in the scope of a session carries its id on the editor side', async () => {
    const params = { ...byUrl({ sessionId: 's' }, 'e'), toolCallId: 's' };

    const received = await askEditor(world, second.agent, { id: 1, method, params });

    expect(received.params).toEqual({ ...params, sessionId: second.id });
  });

  test('E2 in the scope of a prompt names that', async () => {
    const id = world.ask('session/prompt', { sessionId: first.id, prompt: [] });
    const received = await first.agent.inbox.next('session/prompt');
    const params = { mode: 'form', message: 'What?', requestedSchema: { type: 'object' } };

    const request = { id: 3, method, params: { ...params, requestId: received.id } };

    expect((await askEditor(world, first.agent, request)).params).toEqual({ ...params, requestId: id });
  });

  test('E3 the same id of two agents is two ids, and completion carries the one of its own', async () => {
    const ofFirst = await asked(first, 0, 'same');
    const ofSecond = await asked(second, 0, 'same');
    for (const { id } of [ofFirst, ofSecond]) world.send({ id, result: { action: 'accept' } });
    await Promise.all([first.agent.inbox.response(0), second.agent.inbox.response(0)]);

    complete(second, 'same');
    const bySecond = await sentBy(world, second.agent);
    complete(first, 'same');
    const byFirst = await sentBy(world, first.agent);

    expect(ofFirst.elicitationId).not.toBe(ofSecond.elicitationId);
    expect(bySecond).toEqual([completed(ofSecond.elicitationId)]);
    expect(byFirst).toEqual([completed(ofFirst.elicitationId)]);
  });

  test('E3 the completion of an elicitation that was declined, completed or never asked is dropped', async () => {
    const declined = await asked(first, 0, 'declined');
    world.send({ id: declined.id, result: { action: 'decline' } });
    await first.agent.inbox.response(0);
    const accepted = await asked(first, 1, 'accepted');
    world.send({ id: accepted.id, result: { action: 'accept' } });
    await first.agent.inbox.response(1);

    for (const id of ['declined', 'accepted', 'accepted', 'unknown']) complete(first, id);
    complete(second, 'accepted');

    expect(await sentBy(world, first.agent)).toEqual([completed(accepted.elicitationId)]);
    expect(await sentBy(world, second.agent)).toEqual([]);
  });

  test('E3 the completion of an elicitation passes though an earlier one of its id is declined later', async () => {
    const earlier = await asked(first, 0, 'again');
    const later = await asked(first, 1, 'again');
    world.send({ id: later.id, result: { action: 'accept' } });
    world.send({ id: earlier.id, result: { action: 'decline' } });
    await Promise.all([first.agent.inbox.response(0), first.agent.inbox.response(1)]);

    complete(first, 'again');

    expect(await sentBy(world, first.agent)).toEqual([completed(later.elicitationId)]);
  });

  test('E6 an elicitation is answered to the agent that asked', async () => {
    await asked(first, 0, 'e');
    const ofSecond = await asked(second, 0, 'e');

    world.send({ id: ofSecond.id, result: { action: 'accept', content: {} } });

    expect(await second.agent.inbox.response(0)).toMatchObject({ result: { action: 'accept' } });
    expect(await sentTo(world, first.agent)).toEqual([]);
  });

  test('E6 the id of an elicitation that was accepted is free when its agent is gone', async () => {
    const { id } = await asked(first, 0, 'e');
    world.send({ id, result: { action: 'accept' } });
    await first.agent.inbox.response(0);
    await endAgent(world, first.agent);

    expect(await asked(second, 0, 'e')).toMatchObject({ elicitationId: 'e' });
  });

  test('E6 an elicitation is taken back when its agent is gone, and a late answer goes nowhere', async () => {
    const { id } = await asked(first, 0, 'e');
    first.agent.order({ exit: 1 });
    const cancel = await world.editor.next('$/cancel_request');

    world.send({ id, result: { action: 'accept' } });
    const fromSecond = await asked(second, 0, 'e');
    complete(second, 'e');

    expect(cancel).toEqual({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: id } });
    expect(fromSecond.elicitationId).toBe('e');
    expect(await sentBy(world, second.agent)).toEqual([completed('e')]);
    expect(await sentTo(world, second.agent)).toEqual([]);
  });
});

describe('what an elicitation holds', () => {
  let session: OpenSession;
  let other: OpenSession;
  beforeAll(async () => ({ world, first: session, second: other } = await openTwo({}, 'agent-session')));
  afterAll(() => world.end());

  test.each([['"a"'], ['70'], ['9007199254740993']])(
    'E2 in the scope of request %s names it as the editor did',
    async (id) => {
      const { agent } = other;
      world.send(`{"jsonrpc":"2.0","id":${id},"method":"authenticate","params":{"methodId":"key"}}\n`);
      await session.agent.inbox.next('authenticate');
      const received = await agent.inbox.next('authenticate');

      agent.send({ id: 3, method, params: byUrl({ requestId: received.id }, 'e') });
      await world.editor.next(method);

      expect(String(world.editor.lines.at(-1))).toContain(`"requestId":${id}}`);
    },
  );

  test('E5 the schema of a form passes byte for byte', async () => {
    const line = (id: unknown): string =>
      `{"jsonrpc":"2.0","id":${String(id)},"method":"${method}","params":{"requestedSchema":{"type":"object","required":["z","a"],` +
      `"properties":{"z":{"type":"_color","default":1.0},"10":{"type":"string"},"2":{"type":"array","items":{"enum":["b","a"]}},` +
      `"a":{"type":"number","maximum":18446744073709551615}}},"mode":"form","message":"?","sessionId":"SESSION"}}`;

    const received = await toEditor(world, session, line(0));

    expect(received).toBe(line((JSON.parse(received) as Json).id));
  });

  test.each([
    '{"action":"accept","content":{"z":1.0,"10":[],"2":null,"a":18446744073709551615}}',
    '{"content":null,"action":"accept"}',
    '{"action":"decline","_meta":{"x":-0}}',
    '{"action":"cancel"}',
    '{"action":"_later","until":"noon"}',
    '{"action":7}',
    '{}',
    'null',
  ])('E5 the answer %s passes as it is', async (result) => {
    const params = byUrl({ sessionId: session.agentId }, 'e');
    const asked = await askEditor(world, session.agent, { id: 5, method, params });
    const line = (id: unknown): string => `{"jsonrpc":"2.0","result":${result},"id":${String(id)}}`;

    expect(await toAgent(world, session, line(asked.id))).toBe(line(5));
  });
});

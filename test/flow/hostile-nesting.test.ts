/** An agent that nests values deeper than they can be written again: it costs the others nothing. */
import { endAgent, exchange, sentBy, startCall } from '../support/dialogue';
import { failure } from '../support/messages';
import { startTurn, use, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
const authMethods = `[{"id":"a","x":${deep},"_meta":{"terminal-auth":{"command":"sh"}}},{"id":"b"}]`;
const demand = `{"code":-32000,"message":"Authentication required","data":{"authMethods":${authMethods}}}`;
const demanded = { code: -32000, message: 'Authentication required', data: { authMethods: [{ id: 'b' }] } };

describe('values that are nested too deeply', () => {
  let world: World;
  let hostile: OpenSession;
  let calm: OpenSession;
  beforeEach(async () => {
    world = await World.initialized({ config: '[restart]\nfirst_delay = "0s"\n' });
    hostile = await world.session(world.workspace('own'), 'hostile');
    calm = await world.session(world.workspace('calm'), 'calm');
  });
  afterEach(() => world.end());

  /** The other agent's turn goes on as ever. */
  async function expectOthersServed(): Promise<void> {
    const turn = await startTurn(world, calm);
    expect(await turn.end()).toMatchObject({ result: { stopReason: 'end_turn' } });
  }

  const answer = (id: unknown, error: string): string =>
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${error}}\n`;

  /** So many prompts that wait for their session, and the agent's request by which it is to be restored. */
  async function restoring(count: number) {
    await use(world, hostile);
    await endAgent(world, hostile.agent);
    const prompt = [{ type: 'text', text: 'go on' }];
    const ids = Array.from({ length: count }, () =>
      world.ask('session/prompt', { sessionId: hostile.id, prompt }),
    );
    const agent = await world.agent(hostile.agent.cwd);
    return { agent, ids, request: await agent.inbox.next('session/resume') };
  }

  test('are neither id nor value of an option', async () => {
    const { agent } = hostile;
    const options = [`"id":${deep},"currentValue":"on"`, `"id":"a","currentValue":${deep}`];
    const configOptions = options.map((members) => `{${members},"category":"mode"}`).join(',');
    const update = `{"sessionUpdate":"config_option_update","configOptions":[${configOptions}]}`;

    agent.send(
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"hostile","update":${update}}}\n`,
    );
    expect(await sentBy(world, agent)).toHaveLength(1);

    const outcome = { result: {} };
    const params = { sessionId: hostile.id, modeId: 'm' };
    const { response } = await exchange(world, agent, 'session/set_mode', params, outcome);
    expect(response).toHaveProperty('result', {});
    await expectOthersServed();
  });

  test('cost a demand to sign in only the method that has them', async () => {
    const { agent } = hostile;
    const call = await startCall(world, agent, 'session/new', { cwd: agent.cwd, mcpServers: [] });

    agent.send(answer(call.received.id, demand));

    expect(await world.editor.response(call.id)).toMatchObject({ error: demanded });
    await expectOthersServed();
  });

  test('leave no call without an answer that waits for a session to be restored', async () => {
    const { agent, ids, request } = await restoring(2);

    agent.send(answer(request.id, demand));

    for (const id of ids) expect(await world.editor.response(id)).toMatchObject({ error: demanded });
    await expectOthersServed();
  });

  test('are no reason to keep a call waiting for a session that is restored', async () => {
    const {
      agent,
      ids: [id],
      request,
    } = await restoring(1);

    agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":{"configOptions":[${deep}]}}\n`);

    await agent.answer('session/prompt', { result: { stopReason: 'end_turn' } });
    expect(await world.editor.response(id)).toMatchObject({ result: { stopReason: 'end_turn' } });
    await expectOthersServed();
  });

  test('are no reason why a session was not restored', async () => {
    const {
      agent,
      ids: [id],
      request,
    } = await restoring(1);

    agent.send(answer(request.id, `{"code":-32603,"message":${deep}}`));

    const response = await world.editor.response(id);
    expect(response).toEqual(failure(id, -32603));
    expect(response).toHaveProperty('error.message', expect.stringContaining('no reason given'));
  });
});

describe('a line of an agent over which the proxy itself fails', () => {
  let world: World;
  afterEach(() => world.end());

  test('costs that agent alone, and what is open there fails once', async () => {
    // Stands for a bug: some text cannot be parsed.
    const bug = `const { parse } = JSON;
      JSON.parse = (text, ...more) => {
        if (String(text).includes('poison')) throw new RangeError('out of range');
        return parse(text, ...more);
      };`;
    const env = (of: World): NodeJS.ProcessEnv => ({
      NODE_OPTIONS: `--require "${of.file('bug.cjs', bug)}"`,
    });
    world = await World.initialized({ env });
    const hostile = await world.session(world.workspace('own'), 'hostile');
    const calm = await world.session(world.workspace('calm'), 'calm');
    const params = { sessionId: hostile.id, configId: 'c', value: 'v' };
    const first = await startCall(world, hostile.agent, 'session/set_config_option', params);
    const second = (await startTurn(world, hostile)).id;

    hostile.agent.send(`{"jsonrpc":"2.0","id":${first.id},"result":{"configOptions":"poison"}}\n`.repeat(3));

    for (const id of [first.id, second]) {
      const response = await world.editor.response(id);
      expect(response).toEqual(failure(id, -32603));
      expect(response).toHaveProperty('error.message', expect.stringContaining('could not be served'));
    }
    await hostile.agent.sawEof;
    const turn = await startTurn(world, calm);
    expect(await turn.end()).toMatchObject({ result: { stopReason: 'end_turn' } });
    expect(world.editor.takeAll().filter(({ id }) => id === first.id || id === second)).toEqual([]);
    const said = await world.lastWords();
    expect(said).toContain('internal error');
    expect(said).not.toContain('poison');
  });
});

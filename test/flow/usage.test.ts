/** What is written down of turns, and what `cai usage` says of it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { UsageRecord } from '../../src/acp/usage/usage';
import { endAgent, leave } from '../support/dialogue';
import { startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const tokens = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0, thought: 0, total: 0 };

describe('usage', () => {
  let world: World;
  let session: OpenSession;
  afterEach(() => world.end());

  async function open(options = {}, result = {}): Promise<void> {
    world = await World.initialized(options);
    session = await world.session(world.workspace('own'), 's1', undefined, result);
  }

  const folderOf = ({ folder }: World): string => join(folder, 'home/.local/state/containai/usage');

  /** All that was written down for this user. */
  function records(): UsageRecord[] {
    const folder = folderOf(world);
    const text = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    return text
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as UsageRecord);
  }

  const tool = (id: string, status: string | undefined, kind = 'tool_call_update'): void =>
    session.agent.update('s1', { sessionUpdate: kind, toolCallId: id, ...(status && { status }) });
  const cost = (amount: number, model?: string): void =>
    session.agent.update('s1', {
      sessionUpdate: 'usage_update',
      used: 1,
      size: 2,
      cost: { amount, currency: 'USD' },
      ...(model && { _meta: { '_claude/model': model } }),
    });

  test('knows the model of a session that was restored', async () => {
    await open({}, { models: { currentModelId: 'm1', availableModels: [] } });
    await (await startTurn(world, session)).end({ stopReason: 'end_turn' });
    await endAgent(world, session.agent);
    const prompt = world.ask('session/prompt', { sessionId: session.id, prompt: [] });
    const agent = await world.agent(session.agent.cwd);
    await agent.answer('session/resume');
    await agent.answer('session/prompt', { result: { stopReason: 'end_turn' } });
    await world.editor.response(prompt);
    await leave(world);

    expect(records().map(({ models }) => models.map(({ model }) => model))).toEqual([['m1'], ['m1']]);
  });

  test('has a record of each turn: tokens, cost, tool calls and times', async () => {
    await open({}, { models: { currentModelId: 'm1', availableModels: [] } });
    const turn = await startTurn(world, session);
    tool('t1', 'pending', 'tool_call');
    tool('t1', 'completed');
    tool('t1', 'completed');
    tool('t2', undefined, 'tool_call');
    tool('t2', 'in_progress');
    tool('t2', 'failed');
    tool('t3', 'completed');
    tool('t4', 'pending', 'tool_call');
    cost(0.5);
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 18, cachedReadTokens: 3 };
    await turn.end({ stopReason: 'end_turn', usage });
    await leave(world);

    const [record, ...more] = records();
    expect(more).toEqual([]);
    const spent = { ...tokens, input: 10, output: 5, cachedRead: 3, total: 18 };
    expect(record).toMatchObject({
      session: session.id,
      agent: 'puppet',
      root: world.workspace('own'),
      turns: 1,
      stop: 'end_turn',
      tokens: spent,
      models: [{ model: 'm1', tokens: spent }],
      cost: { amount: 0.5, currency: 'USD' },
      tools: 4,
      failedTools: 1,
      timedTools: 2,
    });
    expect(record!.durationMs).toBeGreaterThanOrEqual(record!.toolMs / 2);
    expect(Date.now() - Date.parse(record!.at)).toBeLessThan(60_000);
    const file = join(folderOf(world), readdirSync(folderOf(world))[0]!);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('counts of a session’s cost what the turn has added, and takes a new count at its word', async () => {
    await open();
    for (const amount of [0.5, 0.75, 0.25]) {
      const turn = await startTurn(world, session);
      cost(amount, 'm2');
      await turn.end();
    }
    cost(1);
    await leave(world);

    expect(records().map((record) => [record.turns, record.cost?.amount, record.models[0]?.model])).toEqual([
      [1, 0.5, 'm2'],
      [1, 0.25, 'm2'],
      [1, 0.25, 'm2'],
      [0, 0.75, undefined],
    ]);
  });

  test('goes on in another process where it was, and does not count what a load tells again', async () => {
    await open();
    const turn = await startTurn(world, session);
    cost(2);
    await turn.end();
    await leave(world);
    const { folder } = world;
    const later = await World.initialized({ folder });
    const request = later.ask('session/load', {
      sessionId: session.id,
      cwd: later.workspace('own'),
      mcpServers: [],
    });
    session = { ...session, agent: await later.agent() };
    const { id } = await session.agent.inbox.next('session/load');
    tool('old', 'completed', 'tool_call');
    session.agent.send({ id, result: {} });
    await later.editor.response(request);

    const next = await startTurn(later, session);
    cost(2.5);
    await next.end();
    await leave(later);
    await later.end();

    expect(records().map((record) => [record.cost?.amount, record.tools])).toEqual([
      [2, 0],
      [0.5, 0],
    ]);
  });

  test('has a record of a turn that its agent did not end, or ended with an error', async () => {
    await open();
    const failing = await startTurn(world, session);
    session.agent.send({ id: failing.received.id, error: { code: 1, message: 'no' } });
    await world.editor.response(failing.id);
    const killed = await startTurn(world, session);
    session.agent.order({ kill: 'SIGKILL' });
    await world.editor.response(killed.id);
    await leave(world);

    expect(records().map(({ turns, stop }) => [turns, stop])).toEqual([
      [1, 'error'],
      [1, 'ended'],
    ]);
  });

  test('has a record of a turn after which the proxy is ended at once', async () => {
    await open();
    void session.agent.sawEof.then(() => session.agent.order({ exit: 0 }));
    await (await startTurn(world, session)).end();
    world.process.kill('SIGTERM');
    await world.exited();

    expect(records()).toMatchObject([{ turns: 1, stop: 'end_turn' }]);
  });

  test('counts no more tool calls than are followed, and none with a long id', async () => {
    await open();
    const turn = await startTurn(world, session);
    tool('x'.repeat(2_000), 'in_progress');
    for (let n = 0; n < 1_500; n++) tool(`t${n}`, 'in_progress');
    await turn.end();
    await leave(world);

    expect(records()).toMatchObject([{ tools: 1_000 }]);
  });

  test('is not kept with persist = false', async () => {
    await open({ config: '[sessions]\npersist = false' });
    await (await startTurn(world, session)).end();
    await leave(world);

    expect(existsSync(folderOf(world))).toBe(false);
  });
});

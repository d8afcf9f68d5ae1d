/** Statements S: forked sessions, and the settings of a session. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { exchange, sentTo, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import { openFresh, openWorld, startTurn, type OpenSession } from '../support/turn';
import { nextLine, toAgent } from '../support/verbatim';
import type { World } from '../support/world';

describe('an open session', () => {
  let world: World;
  let session: OpenSession;

  beforeAll(async () => ({ world, session } = await openWorld()));
  afterAll(() => world.end());

  describe('when it is forked', () => {
    let count: number;
    beforeEach(async () => {
      session = await openFresh(world);
      count = world.agents.length;
    });
    test.each([
      ['without a folder', (): Json => ({})],
      ['in its own folder', (): Json => ({ cwd: session.agent.cwd, mcpServers: [] })],
      ['in another folder of its workspace', (): Json => ({ cwd: sub(), additionalDirectories: [sub()] })],
    ])('S17 %s: the new session is one of the same agent', async (_, place) => {
      const { id, agent } = session;
      const params = { sessionId: id, ...place() };

      const result = { sessionId: 'f1', modes: null };
      const { request, response } = await exchange(world, agent, 'session/fork', params, { result });

      expect(request.params).toEqual({ ...params, sessionId: 's1' });
      const { sessionId } = response.result as { sessionId: string };
      expect(response).toEqual(success(response.id, { ...result, sessionId }));
      expect([id, 'f1']).not.toContain(sessionId);
      for (const each of [session, { id: sessionId, agentId: 'f1', agent }]) {
        const turn = await startTurn(world, each);
        expect(turn.received.params).toMatchObject({ sessionId: each.agentId });
        agent.say(each.agentId, 'x');
        expect(await world.editor.next('session/update')).toMatchObject({ params: { sessionId: each.id } });
        await turn.end();
      }
      expect(world.agents).toHaveLength(count);
    });

    test('S17 what the agent says of it before it answers has its id', async () => {
      const { id, agent } = session;
      const fork = await startCall(world, agent, 'session/fork', { sessionId: id });

      agent.say('f1', 'early');
      agent.send({ id: fork.received.id, result: { sessionId: 'f1' } });

      const update = await world.editor.next('session/update');
      const { sessionId } = update.params as { sessionId: string };
      expect(await world.editor.response(fork.id)).toEqual(success(fork.id, { sessionId }));
    });

    test('S17 into another workspace is refused', async () => {
      const { id, agent } = session;

      const fork = world.ask('session/fork', { sessionId: id, cwd: world.workspace('b'), mcpServers: [] });

      expect(await world.editor.response(fork)).toEqual(failure(fork, -32602));
      expect(await sentTo(world, agent)).toEqual([]);
      expect(world.agents).toHaveLength(count);
    });

    test('S17 the agent’s refusal is the answer', async () => {
      const error = { code: 3, message: 'no', data: null };
      const params = { sessionId: session.id };
      const { response } = await exchange(world, session.agent, 'session/fork', params, { error });

      expect(response.error).toEqual(error);
    });

    function sub(): string {
      const path = join(session.agent.cwd, 'sub');
      mkdirSync(path, { recursive: true });
      return path;
    }
  });

  test.each([
    ['session/set_mode', '{"modeId":"ask","sessionId":"SESSION","n":1.0}', '{}'],
    ['session/set_mode', '{"sessionId":"SESSION","modeId":null}', 'null'],
    [
      'session/set_config_option',
      '{"sessionId":"SESSION","configId":"model","value":"big","_meta":{"b":18446744073709551615}}',
      '{ "configOptions":[{"id":"z","currentValue":"b"},{"id":"a","currentValue":true,"options":[1.0]}]}',
    ],
    [
      'session/set_config_option',
      '{"sessionId":"SESSION","configId":"web","type":"boolean","value":true}',
      '{}',
    ],
    ['session/set_model', '{"sessionId":"SESSION","modelId":"m"}', '{"x":{}}'],
    ['session/set_title', '{"title":"a\\u00e9","sessionId":"SESSION"}', '{}'],
    ['session/archive', '{"sessionId":"SESSION"}', '{}'],
    ['session/unarchive', '{"sessionId":"SESSION"}', '{"_meta":{}}'],
    ['_session/goal', '{"goal":[{}],"sessionId":"SESSION"}', '[1.0]'],
  ])('S16 %s reaches its agent as it is, and the answer the editor: %s', async (method, params, result) => {
    const call = `{"jsonrpc":"2.0","id":"x","method":"${method}","params":${params}}`;
    const answer = `{"jsonrpc":"2.0","id":"x","result":${result}}`;

    const received = await toAgent(world, session, call);
    session.agent.send(`${answer}\n`);

    expect(received).toBe(call);
    expect(await nextLine(world.editor)).toBe(answer);
  });
});

/**
 * An afternoon with Zed: it starts agents in a folder that is no project, offers terminals, shows its
 * sessions side by side, and ends its agents with SIGKILL.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../support/inbox';
import { success } from '../support/messages';
import { untilGone } from '../support/processes';
import { chunk, permissionParams, startTurn, type OpenSession } from '../support/turn';
import { fullAgent, World } from '../support/world';
import { zed } from '../support/zed';

/** An agent whose sign-in Zed would run on the host. */
const agentHello: Json = {
  ...fullAgent,
  authMethods: [
    {
      id: 'login',
      name: 'Log in',
      _meta: {
        'terminal-auth': { command: '/usr/bin/node', args: ['/agent', '--login'], label: 'Log in' },
        x: 1,
      },
    },
    { id: 'key', name: 'API key' },
  ],
};

describe('Zed', () => {
  let world: World;
  let temporary: string;
  beforeEach(() => (temporary = mkdtempSync(join(tmpdir(), 'cai-zed-'))));
  afterEach(async () => {
    await world.end();
    rmSync(temporary, { recursive: true });
  });

  test('works in two projects from a folder that is neither, and leaves nothing when it kills the proxy', async () => {
    world = await World.start({ cwd: '/', agentHello, env: { TMPDIR: temporary } });

    // It learns what the agent can do, and nothing that would run on the host.
    const hello = await world.request('initialize', zed);
    const authMethods = [
      { id: 'login', name: 'Log in', _meta: { x: 1 } },
      { id: 'key', name: 'API key' },
    ];
    expect(hello).toEqual(success(1, { ...agentHello, authMethods }));
    const first = await world.agent();
    expect(first.initialize!.params).toEqual({
      ...zed,
      clientCapabilities: {
        fs: { readTextFile: true, writeTextFile: true },
        terminal: false,
        _meta: { terminal_output: true, 'terminal-auth': false },
      },
    });
    expect(readdirSync(first.cwd)).toEqual([]);

    // Two projects, each with an agent of its own; both agents call their session the same.
    const modes = { currentModeId: 'ask', availableModes: [{ id: 'ask', name: 'Ask' }] };
    const one = await world.session(world.workspace('one'), 'session-1', undefined, { modes });
    const two = await world.session(world.workspace('two'), 'session-1', undefined, { modes });
    expect([one.agent.cwd, two.agent.cwd]).toEqual([world.workspace('one'), world.workspace('two')]);
    one.agent.update('session-1', { sessionUpdate: 'available_commands_update', availableCommands: [] });
    expect(await world.editor.next('session/update')).toHaveProperty('params.sessionId', one.id);

    // A turn in each, at once: the one reads a file that is open in the editor and asks before it acts,
    // the other is cancelled.
    const file = world.file('one/src/main.rs', 'on disk');
    const link = { type: 'resource_link', uri: `file://${file}`, name: 'main.rs' };
    const turn = await startTurn(world, one, [{ type: 'text', text: 'Explain' }, link]);
    const stuck = await startTurn(world, two);
    expect(turn.received.params).toEqual({
      sessionId: 'session-1',
      prompt: [{ type: 'text', text: 'Explain' }, link],
    });
    await readsFile(one, file);
    await runsTool(one);
    world.send({ method: 'session/cancel', params: { sessionId: two.id } });
    expect(await two.agent.inbox.next(() => true)).toHaveProperty('params', { sessionId: 'session-1' });
    expect(await stuck.end({ stopReason: 'cancelled' })).toEqual(
      success(stuck.id, { stopReason: 'cancelled' }),
    );
    expect(await turn.end()).toEqual(success(turn.id, { stopReason: 'end_turn' }));
    expect(world.editor.takeAll()).toEqual([]);

    // It does not say goodbye.
    const last = await startTurn(world, one);
    world.process.kill('SIGKILL');
    for (const agent of world.agents) void agent.sawEof.then(() => agent.order({ exit: 0 }));
    await untilGone(world.process.pid!, ...world.agents.map(({ pid }) => pid));
    await world.exited();
    expect(world.stderr).toBe('');
    expect(world.agents).toHaveLength(3);
    await expect(world.editor.response(last.id)).rejects.toThrow('has closed its stdout');
    expect(readdirSync(temporary)).toEqual([]);
  });

  /** The agent reads a file of its project and gets what the editor has of it. */
  async function readsFile({ id, agentId, agent }: OpenSession, path: string): Promise<void> {
    agent.send({ id: 0, method: 'fs/read_text_file', params: { sessionId: agentId, path, limit: 10 } });
    const request = await world.editor.next('fs/read_text_file');
    expect(request.params).toEqual({ sessionId: id, path, limit: 10 });
    world.send({ id: request.id, result: { content: 'not saved yet\r\n' } });
    expect(await agent.inbox.next(() => true)).toEqual(success(0, { content: 'not saved yet\r\n' }));
  }

  /** The agent tries the editor's terminal, then runs its own and shows it; the user allows that. */
  async function runsTool({ id, agentId, agent }: OpenSession): Promise<void> {
    agent.send({ id: 1, method: 'terminal/create', params: { sessionId: agentId, command: 'rm' } });
    expect(await agent.inbox.response(1)).toHaveProperty('error.code', -32601);
    agent.send({ id: 2, method: 'session/request_permission', params: permissionParams(agentId) });
    const request = await world.editor.next('session/request_permission');
    expect(request.params).toEqual(permissionParams(id));
    world.send({ id: request.id, result: { outcome: { outcome: 'selected', optionId: 'yes' } } });
    await agent.inbox.response(2);
    const updates: Json[] = [
      {
        sessionUpdate: 'tool_call',
        toolCallId: 'call-1',
        _meta: { terminal_info: { terminal_id: 't', cwd: agent.cwd } },
      },
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'call-1',
        _meta: { terminal_output: { data: 'out\r\n' } },
      },
      { sessionUpdate: 'tool_call_update', toolCallId: 'call-1', _meta: { terminal_exit: { exit_code: 0 } } },
      chunk('Done.'),
    ];
    for (const update of updates) agent.update(agentId, update);
    for (const update of updates) {
      expect((await world.editor.next('session/update')).params).toEqual({ sessionId: id, update });
    }
  }
});

import type { Json } from '../../support/inbox';
import { failure, success } from '../../support/messages';
import { EditorHere } from './editor';
import { ScriptedServer, type ServedConnection, type ScriptedServerOptions } from './scripted-server';

const capabilities = { loadSession: true, sessionCapabilities: { resume: {} } };
const cwd = '/home/me/src';
const mcpServers = [{ name: 'one', command: '/bin/one', args: [], env: [{ name: 'KEY', value: '1' }] }];
const hello = { protocolVersion: 1, clientCapabilities: { elicitation: { url: {} }, terminal: true } };
/** What a server is told of it. */
const told = { protocolVersion: 1, clientCapabilities: { elicitation: { url: {} }, terminal: false } };

let server: ScriptedServer;
let editor: EditorHere;
let connection: ServedConnection;

afterEach(async () => {
  await Promise.all([editor.end(), server.close()]);
});

/** An editor and a server that know each other. */
async function start(
  agentCapabilities: Json = capabilities,
  options: ScriptedServerOptions = {},
  isTrusted = false,
): Promise<void> {
  server = new ScriptedServer(options);
  editor = new EditorHere(`ws://127.0.0.1:${await server.listen()}`, '', isTrusted);
  connection = await server.connection();
  await served(editor.request('initialize', hello), 'initialize', { protocolVersion: 1, agentCapabilities });
}

/** The server answers the request of that method; resolves with what the editor then gets. */
async function served(answer: Promise<Json>, method: string, result: Json): Promise<Json> {
  connection.answer(await connection.inbox.next(method), result);
  return await answer;
}

async function open(sessionId: string): Promise<void> {
  await served(editor.request('session/new', { cwd, mcpServers }), 'session/new', { sessionId });
}

/** The server is another one: resolves when it has been told what the one before knew. */
async function restart(agentCapabilities: Json = capabilities): Promise<void> {
  const count = server.begun.length;
  server.restart();
  connection = await server.connection(count + 1);
  const again = await connection.inbox.next('initialize');
  expect(again.params).toEqual(told);
  connection.answer(again, { protocolVersion: 1, agentCapabilities });
}

/** All that the editor was sent before what the server sends now. */
async function sentToEditor(): Promise<Json[]> {
  connection.send({ method: '_mark' });
  await editor.inbox.next('_mark');
  return editor.inbox.takeAll();
}

function update(sessionId: string, text: string): Json {
  return {
    jsonrpc: '2.0',
    method: 'session/update',
    params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
  };
}

describe('a server that is started anew in the middle of a turn', () => {
  test('fails what was under way, and the session goes on', async () => {
    await start();
    await open('s1');
    await open('s2');
    const prompt = editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    const other = editor.ask('session/list');
    await connection.inbox.next('session/list');
    connection.send({ id: 1, method: 'session/request_permission', params: { sessionId: 's1' } });
    await editor.inbox.next('session/request_permission');

    await restart();

    // Only the session with the turn is opened again at once.
    const resume = await connection.inbox.next('session/resume');
    expect(resume.params).toEqual({ sessionId: 's1', cwd, mcpServers });
    connection.answer(resume, {});
    const messages = await sentToEditor();
    expect(messages).toEqual([
      failure(prompt, -32603),
      failure(other, -32603),
      { jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: 1 } },
    ]);
    expect((messages[0]!.error as Json).message).toContain('session goes on');

    const again = editor.request('session/prompt', { sessionId: 's1', prompt: [] });
    expect(await served(again, 'session/prompt', { stopReason: 'end_turn' })).toMatchObject({
      result: { stopReason: 'end_turn' },
    });
    expect(connection.inbox.takeAll()).toEqual([]);
  });

  test('may use the ids of the one before', async () => {
    await start();
    await open('s1');
    const params = { sessionId: 's1' };
    connection.send({ id: 1, method: 'session/request_permission', params });
    await editor.inbox.next('session/request_permission');
    await restart();
    await editor.inbox.next('$/cancel_request');

    connection.send({ id: 1, method: 'session/request_permission', params });
    const asked = await editor.inbox.next('session/request_permission');
    expect(asked).toMatchObject({ params });
    expect(asked.id).not.toBe(1);
    // The server cancels it by the id that it knows.
    connection.send({ method: '$/cancel_request', params: { requestId: 1 } });
    expect((await editor.inbox.next('$/cancel_request')).params).toEqual({ requestId: asked.id });
    editor.send({ id: 1, result: { outcome: { outcome: 'cancelled' } } });
    editor.send({ id: asked.id, result: { outcome: { outcome: 'selected', optionId: 'yes' } } });

    expect(await connection.inbox.response(1)).toEqual(
      success(1, { outcome: { outcome: 'selected', optionId: 'yes' } }),
    );
    // The answer to the earlier one was for nobody. From now on the id is as good as any.
    expect(connection.inbox.takeAll()).toEqual([]);
    connection.send({ id: 1, method: 'session/request_permission', params });
    expect((await editor.inbox.next('session/request_permission')).id).toBe(1);
  });

  test('opens a session again when it is used, before what the editor then sends', async () => {
    await start();
    await open('s1');
    await restart();

    const first = editor.ask('session/set_mode', { sessionId: 's1', modeId: 'plan' });
    const second = editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    // It follows the request that waits.
    editor.send({ method: '$/cancel_request', params: { requestId: second } });
    editor.ask('_other');

    await connection.inbox.next('_other');
    const [resume, ...rest] = connection.inbox.takeAll();
    expect([resume!.method, rest]).toEqual(['session/resume', []]);
    connection.answer(resume!, {});
    await connection.inbox.next('$/cancel_request');
    expect(connection.inbox.takeAll()).toMatchObject([{ id: first }, { id: second }]);
  });

  test('tells the past of a session only to us', async () => {
    await start({ loadSession: true });
    await open('s1');
    await restart({ loadSession: true });
    editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    const load = await connection.inbox.next('session/load');
    expect(load.params).toEqual({ sessionId: 's1', cwd, mcpServers });
    connection.send(update('s1', 'past'));
    connection.send(update('s9', 'of another session'));
    connection.answer(load, {
      modes: { currentModeId: 'code', availableModes: [] },
      configOptions: [{ id: 'a' }],
    });
    await connection.inbox.next('session/prompt');
    connection.send(update('s1', 'present'));

    expect(await sentToEditor()).toEqual([
      update('s9', 'of another session'),
      // What the agent has forgotten of it.
      {
        jsonrpc: '2.0',
        method: 'session/update',
        params: { sessionId: 's1', update: { sessionUpdate: 'current_mode_update', currentModeId: 'code' } },
      },
      {
        jsonrpc: '2.0',
        method: 'session/update',
        params: {
          sessionId: 's1',
          update: { sessionUpdate: 'config_option_update', configOptions: [{ id: 'a' }] },
        },
      },
      update('s1', 'present'),
    ]);
  });

  test('may say more of a session than can be told', async () => {
    await start();
    await open('s1');
    await restart();
    const answer = editor.request('session/prompt', { sessionId: 's1', prompt: [] });
    const { id } = await connection.inbox.next('session/resume');
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);

    connection.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"configOptions":${deep}}}`);

    await served(answer, 'session/prompt', { stopReason: 'end_turn' });
  });

  test('shows what an agent says while it resumes, which is no past', async () => {
    await start();
    await open('s1');
    await restart();
    editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    const resume = await connection.inbox.next('session/resume');
    connection.send(update('s1', 'hello'));
    connection.answer(resume, {});

    expect(await sentToEditor()).toEqual([update('s1', 'hello')]);
  });

  test('says at each call that a session cannot be opened again', async () => {
    await start();
    await open('s1');
    await restart();
    for (const [message, reason] of [
      ['gone', 'gone'],
      [{ toString: 1 }, 'the agent has failed, and does not say why'],
    ] as const) {
      const answer = editor.request('session/prompt', { sessionId: 's1', prompt: [] });
      const { id } = await connection.inbox.next('session/resume');
      connection.send({ id, error: { code: -32002, message } });

      const { error } = await answer;
      expect(error).toMatchObject({ code: -32603, data: { sessionId: 's1' } });
      expect((error as Json).message).toContain(`could not be opened again: ${reason}. `);
    }
    expect(connection.inbox.takeAll()).toEqual([]);
  });

  test('gets the editor’s own load behind ours, with all that it tells', async () => {
    await start({ loadSession: true });
    await open('s1');
    editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    await connection.inbox.next('session/prompt');
    await restart({ loadSession: true });
    const ours = await connection.inbox.next('session/load');

    const params = { sessionId: 's1', cwd: '/elsewhere', mcpServers: [] };
    const load = editor.request('session/load', params);
    editor.ask('_other');
    await connection.inbox.next('_other');
    expect(connection.inbox.takeAll()).toEqual([]);
    connection.send(update('s1', 'past'));
    connection.answer(ours, {});
    const theirs = await connection.inbox.next('session/load');
    expect(theirs.params).toEqual(params);
    connection.send(update('s1', 'past'));
    connection.answer(theirs, {});
    await load;

    const said = (await sentToEditor()).filter(({ method }) => method === 'session/update');
    expect(said).toEqual([update('s1', 'past')]);
  });

  test('gets the editor’s own load also if it has refused ours', async () => {
    await start({ loadSession: true });
    await open('s1');
    await restart({ loadSession: true });
    const prompt = editor.request('session/prompt', { sessionId: 's1', prompt: [] });
    const load = editor.request('session/load', { sessionId: 's1', cwd: '/elsewhere', mcpServers: [] });
    const { id } = await connection.inbox.next('session/load');
    // What is sent behind the load is there: so is the load.
    editor.ask('_other');
    await connection.inbox.next('_other');
    connection.send({ id, error: { code: -32002, message: 'gone' } });

    expect(await prompt).toHaveProperty('error');
    expect(await served(load, 'session/load', {})).toHaveProperty('result');
  });

  test('gets the editor’s own load as it is, which opens the session', async () => {
    await start();
    await open('s1');
    await restart();

    const load = editor.request('session/load', { sessionId: 's1', cwd: '/elsewhere', mcpServers: [] });
    connection.answer(await connection.inbox.next('session/load'), {});
    await load;
    editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    await connection.inbox.next('session/prompt');
    await restart();
    expect((await connection.inbox.next('session/resume')).params).toEqual({
      sessionId: 's1',
      cwd: '/elsewhere',
      mcpServers: [],
    });
  });

  test('does not get sessions that the editor has ended', async () => {
    await start();
    await open('s1');
    await served(editor.request('session/close', { sessionId: 's1' }), 'session/close', {});
    await restart();

    editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    await connection.inbox.next('session/prompt');
    expect(connection.inbox.takeAll()).toEqual([]);
  });

  test('opens a fork by its own id', async () => {
    await start();
    await open('s1');
    await served(editor.request('session/fork', { sessionId: 's1', cwd, mcpServers: [] }), 'session/fork', {
      sessionId: 's2',
    });
    await restart();

    editor.ask('session/prompt', { sessionId: 's2', prompt: [] });
    expect((await connection.inbox.next('session/resume')).params).toEqual({
      sessionId: 's2',
      cwd,
      mcpServers: [],
    });
  });

  test('gets sign-ins again, and initialize under its own id if nobody has answered it', async () => {
    server = new ScriptedServer();
    editor = new EditorHere(`ws://127.0.0.1:${await server.listen()}`);
    connection = await server.connection();
    const answer = editor.request('initialize', hello);
    const first = await connection.inbox.next('initialize');
    server.restart();
    connection = await server.connection(2);
    const second = await connection.inbox.next('initialize');
    expect(second).toEqual(first);
    connection.answer(second, { protocolVersion: 1 });
    expect(await answer).toEqual(success(first.id, { protocolVersion: 1 }));
    for (let times = 0; times < 2; times++)
      await served(editor.request('authenticate', { methodId: 'key' }), 'authenticate', {});

    await restart();
    const signIn = await connection.inbox.next('authenticate');
    expect(signIn.params).toEqual({ methodId: 'key' });
    connection.answer(signIn, {});
    expect(await sentToEditor()).toEqual([]);
    editor.ask('_other');
    await connection.inbox.next('_other');
    expect(connection.inbox.takeAll()).toEqual([]);

    await served(editor.request('logout'), 'logout', {});
    await restart();
    editor.ask('_last');
    await connection.inbox.next('_last');
    expect(connection.inbox.takeAll()).toEqual([]);
  });

  test('may end again while sessions are opened', async () => {
    await start();
    await open('s1');
    await restart();
    const prompt = editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    await connection.inbox.next('session/resume');
    await restart();
    connection.answer(await connection.inbox.next('session/resume'), {});

    // It never reached a server, so it did not fail.
    expect((await connection.inbox.next('session/prompt')).id).toBe(prompt);
    expect(await sentToEditor()).toEqual([]);
  });
});

describe('a server whose connections end with their sockets', () => {
  test('is told all again after each', async () => {
    await start(capabilities, { isPlain: true });
    await open('s1');
    const prompt = editor.ask('session/prompt', { sessionId: 's1', prompt: [] });
    await connection.inbox.next('session/prompt');
    connection.cut();

    expect(await editor.inbox.response(prompt)).toEqual(failure(prompt, -32603));
    connection = await server.connection(2);
    expect(connection.requests[0]!.headers).not.toHaveProperty('acp-connection-id');
    connection.answer(await connection.inbox.next('initialize'), { agentCapabilities: capabilities });
    connection.answer(await connection.inbox.next('session/resume'), {});
    const again = editor.request('session/prompt', { sessionId: 's1', prompt: [] });
    expect(await served(again, 'session/prompt', { stopReason: 'end_turn' })).toHaveProperty('result');
  });
});

describe('a line', () => {
  test('that no frame can carry is answered here, and all others pass as they are', async () => {
    await start();
    const odd = '{"jsonrpc":"2.0",  "method":"_odd","params":{"text":"\\u00e9 é \u2028"}}';
    editor.input.write(Buffer.from([0x7b, 0xff, 0x7d, 10]));
    editor.input.write(`${odd}\r\n\n`);

    expect(await editor.inbox.next(({ id }) => id === null)).toEqual(failure(null, -32700));
    await connection.inbox.next('_odd');
    expect(connection.inbox.lines.at(-1)!.toString()).toBe(odd);
  });

  test('of the server is one line, and JSON', async () => {
    await start();
    connection.send('no JSON');
    connection.send(
      JSON.stringify({ jsonrpc: '2.0', method: '_pretty', params: { a: [1, 2] } }, undefined, 2),
    );

    expect(await editor.inbox.next('_pretty')).toHaveProperty('params', { a: [1, 2] });
    expect(await sentToEditor()).toEqual([]);
  });
});

test('an over-long line of the editor is refused here', async () => {
  server = new ScriptedServer();
  const config = '[acp]\nmax_line_from_editor = "1MiB"';
  editor = new EditorHere(`ws://127.0.0.1:${await server.listen()}`, config);
  connection = await server.connection();
  const long = 'x'.repeat(2 ** 20);
  const id = editor.ask('_long', { long });
  editor.send({ id: 7, result: { long } });

  expect(await editor.inbox.response(id)).toEqual(failure(id, -32600));
  expect(await connection.inbox.response(7)).toEqual(failure(7, -32603));
});

describe('what would act on the machine of the editor', () => {
  const everything = {
    fs: { readTextFile: true, writeTextFile: true },
    terminal: true,
    auth: { terminal: true },
    _meta: { 'terminal-auth': true, other: true },
  };
  const nothing = {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    auth: { terminal: false },
    _meta: { 'terminal-auth': false, other: true },
  };
  const authMethods = [
    { id: 'key', name: 'Key' },
    { id: 'login', name: 'Sign in', type: 'terminal', args: ['login'] },
    { id: 'run', name: 'Run', _meta: { 'terminal-auth': { command: '/bin/sh', args: [] } } },
  ];
  const harmlessMethods = [authMethods[0], { id: 'run', name: 'Run', _meta: {} }];

  /** What the server is told of an editor that offers everything, and that is told of the ways to sign in. */
  async function introduced(): Promise<unknown[]> {
    const answer = editor.request('initialize', { protocolVersion: 1, clientCapabilities: everything });
    const { params, id } = await connection.inbox.next('initialize');
    connection.answer({ id }, { protocolVersion: 1, agentCapabilities: {}, authMethods });
    const { result } = (await answer) as { readonly result: Json };
    return [(params as Json).clientCapabilities, result.authMethods];
  }

  test('is neither offered to a server nor offered by it', async () => {
    await start();

    expect(await introduced()).toEqual([nothing, harmlessMethods]);
  });

  test('is no part of an error either', async () => {
    await start();

    const asked = editor.request('session/new', { cwd, mcpServers });
    const { id } = await connection.inbox.next('session/new');
    connection.send({ id, error: { code: -32000, message: 'm', data: { authMethods } } });

    expect(((await asked).error as Json).data).toEqual({ authMethods: harmlessMethods });
  });

  test('is refused to a server', async () => {
    await start();

    for (const [method, code] of [
      ['fs/read_text_file', -32601],
      ['fs/write_text_file', -32601],
      ['terminal/create', -32601],
      ['_zed.dev/fs/write', -32601],
      ['_x/run_command', -32601],
      ['elicitation/create', -32602],
    ] as const) {
      const params = { sessionId: 's', mode: 'url', url: 'vscode://x' };
      connection.send({ id: method, method, params });
      connection.send({ method, params });

      expect((await connection.inbox.response(method)).error).toMatchObject({ code });
    }
    expect(await sentToEditor()).toEqual([]);
  });

  test('is refused to a server that takes no answers until too many wait for it', async () => {
    server = new ScriptedServer();
    editor = new EditorHere(`ws://127.0.0.1:${await server.listen()}`, '[acp]\nqueue_to_agent = "1KiB"');
    connection = await server.connection();
    connection.setPaused(true);
    for (let id = 1; id <= 100; id++) connection.send({ id, method: 'fs/read_text_file', params: {} });
    await sentToEditor();

    connection.setPaused(false);
    editor.send({ method: '_end' });
    await connection.inbox.next('_end');
    expect(connection.inbox.takeAll().length).toBeLessThan(20);
  });

  test('does not pass in what two parsers could read differently, and whoever waits for it is told', async () => {
    await start();
    const asked = editor.ask('session/list');
    await connection.inbox.next('session/list');

    connection.send(`{"jsonrpc":"2.0","id":1,"method":"session/update","method":"terminal/create"}`);
    connection.send(`{"jsonrpc":"2.0","id":${asked},"result":{"authMethods":[],"authMethods":[]}}`);

    expect((await connection.inbox.response(1)).error).toMatchObject({ code: -32600 });
    expect(await sentToEditor()).toEqual([failure(asked, -32603)]);
  });

  test('is passed on for a server that is trusted', async () => {
    await start(capabilities, {}, true);
    expect(await introduced()).toEqual([everything, authMethods]);

    connection.send({ id: 'a', method: 'fs/read_text_file', params: { sessionId: 's', path: '/x' } });
    editor.send({ id: (await editor.inbox.next('fs/read_text_file')).id, result: { content: 'c' } });

    expect(await connection.inbox.response('a')).toEqual(success('a', { content: 'c' }));
  });
});

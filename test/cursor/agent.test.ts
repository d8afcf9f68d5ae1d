/** The adapter for Cursor's command line, as an editor meets it: a real process over the stand-in. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { runCli } from '../support/cli';
import { hastened } from '../support/hastened';
import { untilGone } from '../support/processes';
import { newFolder } from '../support/temp-folder';
import { caiCursor, cursorAgent, Editor, Place, type EditorOptions } from './editor';
import {
  zInitializeResponse,
  zListSessionsResponse,
  zNewSessionResponse,
  zPromptResponse,
  zSessionUpdate,
} from '../../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js';

const editors: Editor[] = [];

async function open(place = new Place(), options: EditorOptions = {}): Promise<Editor> {
  const editor = await Editor.open(place, options);
  editors.push(editor);
  return editor;
}

/** Also what is awaited between two starts runs out sooner. */
const hasty = { ...hastened, CAI_HASTEN_SLEEPS: '1' };

const kept = new Map<NodeJS.ProcessEnv | undefined, Editor>();

/** An adapter that is started once, with that environment, for the tests that want nothing else; it has no past. */
async function usual(env?: NodeJS.ProcessEnv): Promise<Editor> {
  const editor = kept.get(env) ?? (await Editor.open(undefined, env && { env }));
  kept.set(env, editor);
  rmSync(join(editor.place.standIn, 'starts.ndjson'), { force: true });
  editor.updates.length = 0;
  editor.stderr = '';
  return editor;
}

/** Every update that any test has seen is one by the schema of ACP. */
function expectUpdates({ updates }: Editor): void {
  for (const update of updates) expect(zSessionUpdate.safeParse(update).error).toBeUndefined();
}

afterEach(async () => {
  for (const editor of kept.values()) expectUpdates(editor);
  for (const editor of editors.splice(0)) {
    await editor.close();
    expectUpdates(editor);
  }
});
afterAll(() => Promise.all([...kept.values()].map((editor) => editor.close())));

const callsIn = (updates: readonly SessionUpdate[]) =>
  updates.flatMap((update) =>
    update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update' ? [update] : [],
  );

describe('a turn', () => {
  test('has thoughts, text once, an end and its tokens, all by the schema', async () => {
    const editor = await usual();
    const session = await editor.session();

    const answer = await editor.prompt(session.sessionId, 'play hello');

    expect(editor.text('agent_thought_chunk')).toBe('They greet me.');
    expect(editor.text()).toBe('Hello there.');
    expect(answer).toEqual({
      stopReason: 'end_turn',
      usage: {
        inputTokens: 100,
        outputTokens: 20,
        cachedReadTokens: 300,
        cachedWriteTokens: 4,
        totalTokens: 120,
      },
    });
    expect(zInitializeResponse.safeParse(editor.hello).error).toBeUndefined();
    expect(zNewSessionResponse.safeParse(session).error).toBeUndefined();
    expect(zPromptResponse.safeParse(answer).error).toBeUndefined();
  });

  test('tells of tools what they are, what came of them, and how long they took', async () => {
    const editor = await usual();
    const { sessionId } = await editor.session();
    const { cwd } = editor.place;

    await editor.prompt(sessionId, 'play tools');

    const calls = callsIn(editor.updates);
    const of = (id: string) => calls.filter(({ toolCallId }) => toolCallId === id);
    expect(of('call_read\nfc_1')).toEqual([
      expect.objectContaining({
        ...{ sessionUpdate: 'tool_call', title: `Read ${cwd}/notes.txt`, kind: 'read', status: 'pending' },
        ...{ locations: [{ path: `${cwd}/notes.txt`, line: 3 }], _meta: { cursor: { startTime: 2_000 } } },
        rawInput: { path: `${cwd}/notes.txt`, offset: 3 },
      }),
      expect.objectContaining({ sessionUpdate: 'tool_call_update', status: 'in_progress' }),
      expect.objectContaining({
        ...{ sessionUpdate: 'tool_call_update', status: 'completed' },
        rawOutput: { success: { content: 'one\n', path: `${cwd}/notes.txt`, totalLines: 1 } },
        _meta: { cursor: { startTime: 2_000, endTime: 2_250, durationMs: 250 } },
      }),
    ]);
    const shell = of('call_shell');
    expect(shell[0]).toMatchObject({ title: 'npm test', kind: 'execute' });
    expect(shell.at(-1)).toMatchObject({
      status: 'failed',
      content: [{ content: { text: '````\nExit code: 3\n1 test failed\n\n```\n````' } }],
      _meta: { cursor: { exitCode: 3, durationMs: 937 } },
    });
    expect(of('call_edit').at(-1)).toMatchObject({
      content: [{ type: 'diff', path: `${cwd}/notes.txt`, oldText: 'one\n', newText: 'two\n' }],
      _meta: { cursor: { startTime: 5_000, endTime: 5_040, durationMs: 40 } },
    });
    expect(of('call_write').at(-1)).toMatchObject({
      content: [{ type: 'diff', path: `${cwd}/new.txt`, oldText: null, newText: 'new\n' }],
    });
    expect(of('call_delete')).toEqual([
      expect.objectContaining({
        ...{ sessionUpdate: 'tool_call', kind: 'delete', status: 'completed' },
        content: [{ type: 'diff', path: `${cwd}/old.txt`, oldText: 'old\n', newText: '' }],
      }),
    ]);
    expect(of('call_grep').at(-1)).toMatchObject({
      status: 'failed',
      content: [{ content: { text: 'no ripgrep' } }],
    });
    expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan')).toEqual([
      {
        sessionUpdate: 'plan',
        entries: [
          { content: 'Look', priority: 'medium', status: 'in_progress' },
          { content: 'Edit', priority: 'medium', status: 'pending' },
        ],
      },
    ]);
    expect(editor.text()).toBe('I look.Done.');
  });

  test('goes on past lines and tools that nobody knows', async () => {
    const editor = await usual();
    const { sessionId } = await editor.session();

    expect(await editor.prompt(sessionId, 'play odd')).toEqual({ stopReason: 'end_turn' });

    expect(editor.text()).toBe('As text.');
    const states = callsIn(editor.updates).map(({ toolCallId, title, status }) => [
      toolCallId.replace(/ [0-9a-f-]{36}$/, ''),
      title,
      status,
    ]);
    const begun = (id: string, title: string) => [
      [id, title, 'pending'],
      [id, undefined, 'in_progress'],
    ];
    expect(states).toEqual([
      ...begun('call_odd', 'someDay'),
      ...begun('call_function', 'look_up'),
      ...begun('unnamed', 'tool'),
      ['call_odd', undefined, 'failed'],
      ...begun('unnamed', 'tool'),
      // Their ends never came.
      ...['call_function', 'unnamed', 'unnamed'].map((id) => [id, undefined, 'failed']),
    ]);
    // What has no place in ACP is said where the adapter writes its log.
    await editor.says('A new version of this program is there.');
    await editor.says('"some_day"');
  });

  test('takes text, links and files into the prompt, and refuses images', async () => {
    const editor = await usual();
    const { sessionId } = await editor.session();
    const uri = 'file:///src/a%20b.ts';

    await editor.prompt(sessionId, [
      { type: 'text', text: 'Compare' },
      { type: 'resource_link', uri, name: 'a b.ts' },
      { type: 'resource', resource: { uri: 'https://example.org/x', text: 'a ``` b' } },
    ]);
    const data = 'x'.repeat(33 * 2 ** 20);
    const refused = editor.prompt(sessionId, [{ type: 'image', data, mimeType: 'image/png' }]);

    await expect(refused).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('"image"') as string,
    });
    expect(editor.place.prompts.map(({ prompt }) => prompt)).toEqual([
      'Compare\n\na b.ts: @/src/a b.ts\n\nhttps://example.org/x:\n````\na ``` b\n````',
    ]);
    expect(editor.hello.agentCapabilities?.promptCapabilities).toEqual({ embeddedContext: true });
  });

  test('ends with its result, even if the program does not', async () => {
    const editor = await usual(hasty);
    const { sessionId } = await editor.session();

    expect(await editor.prompt(sessionId, 'stay')).toMatchObject({ stopReason: 'end_turn' });

    await untilGone(editor.place.prompts[0]!.pid);
  });

  test('is the only one of its session', async () => {
    const editor = await usual();
    const { sessionId } = await editor.session();
    const first = editor.prompt(sessionId, 'wait');
    await editor.update(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk');

    await expect(editor.prompt(sessionId, 'another')).rejects.toMatchObject({ code: -32600 });

    await editor.connection.agent.notify('session/cancel', { sessionId });
    await first;
  });
});

describe('output without measure', () => {
  test('arrives', async () => {
    const editor = await usual();
    const { sessionId } = await editor.session();

    const answer = await editor.prompt(sessionId, 'much 8');

    expect(answer.stopReason).toBe('end_turn');
    const lengths = editor.updates.map((update) => JSON.stringify(update).length);
    expect(lengths.filter((length) => length > 1_000_000)).toHaveLength(8);
  });

  test('in one line is left out, and the turn goes on', async () => {
    const editor = await usual();
    const { sessionId } = await editor.session();

    await editor.prompt(sessionId, 'long 70');

    expect(editor.text()).toBe('Hello there.');
    await editor.says('a line of more than 64 MiB was left out');
  });
});

describe('the settings of a session', () => {
  test('are its mode and model, which each turn is started with', async () => {
    const editor = await open(undefined, { args: ['--acp', '--model', 'of-mine', '--trust'] });
    const { sessionId, modes, configOptions } = await editor.session();
    expect(modes?.availableModes.map(({ id }) => id)).toEqual(['agent', 'plan', 'ask']);
    expect(configOptions).toMatchObject([{ id: 'model', category: 'model', currentValue: 'of-mine' }]);
    await editor.prompt(sessionId, 'one');

    await editor.connection.agent.request('session/set_mode', { sessionId, modeId: 'plan' });
    const answer = await editor.connection.agent.request('session/set_config_option', {
      ...{ sessionId, configId: 'model', value: 'some-model-2' },
    });
    await editor.prompt(sessionId, 'two');

    expect(answer.configOptions).toMatchObject([
      {
        currentValue: 'some-model-2',
        options: ['default', 'auto', 'some-model-2'].map((value) => ({ value })),
      },
    ]);
    const usual = ['-p', '--output-format', 'stream-json', '--stream-partial-output'];
    const [one, two] = editor.place.prompts;
    expect(one?.args).toEqual([...usual, '--model', 'of-mine', '--trust']);
    expect(two?.args.slice(6)).toEqual(['--model', 'some-model-2', '--mode', 'plan', '--trust']);
    expect(one?.cwd).toBe(editor.place.cwd);
  });

  test.each([
    ['a mode', 'session/set_mode', { modeId: 'yolo' }],
    ['an option', 'session/set_config_option', { configId: 'color', value: 'red' }],
    ['a model that is an argument', 'session/set_config_option', { configId: 'model', value: '--force' }],
  ])('have no place for %s that is none', async (_what, method, params) => {
    const editor = await usual();
    const { sessionId } = await editor.session();

    const asked = editor.connection.agent.request(method, { sessionId, ...params });

    await expect(asked).rejects.toMatchObject({ code: -32602 });
  });
});

describe('a session of an earlier process', () => {
  let past: { place: Place; sessionId: string } | undefined;

  /** A session with two turns, whose process has ended; a copy of what the first test has made. */
  async function ended(): Promise<{ place: Place; sessionId: string }> {
    past ??= await made();
    const place = Object.assign(new Place(), { cwd: past.place.cwd });
    cpSync(past.place.folder, place.folder, { recursive: true });
    return { place, sessionId: past.sessionId };
  }

  async function made(): Promise<{ place: Place; sessionId: string }> {
    const editor = await open();
    const { sessionId } = await editor.session();
    await editor.session();
    await editor.connection.agent.request('session/set_mode', { sessionId, modeId: 'ask' });
    await editor.prompt(sessionId, 'play hello');
    await editor.prompt(sessionId, 'again');
    expect(await editor.close()).toBe(0);
    return { place: editor.place, sessionId };
  }

  test('is loaded with all its past, and goes on in its chat', async () => {
    const { place, sessionId } = await ended();
    const editor = await open(place);

    const loaded = await editor.connection.agent.request('session/load', {
      ...{ sessionId, cwd: place.cwd, mcpServers: [] },
    });

    expect(loaded.modes?.currentModeId).toBe('ask');
    expect(editor.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      ...['user_message_chunk', 'agent_thought_chunk', 'agent_message_chunk'],
      ...['user_message_chunk', 'agent_message_chunk'],
    ]);
    expect(editor.text('user_message_chunk')).toBe('play helloagain');
    expect(editor.text()).toBe('Hello there.Prompt 2 of this chat.');
    await editor.prompt(sessionId, 'more');
    expect(editor.text()).toMatch(/Prompt 3 of this chat.$/);
  });

  test('is resumed without it, and listed by its first words', async () => {
    const { place, sessionId } = await ended();
    const editor = await open(place);
    const { agent } = editor.connection;

    const list = await agent.request('session/list', {});
    await agent.request('session/resume', { sessionId, cwd: place.cwd, mcpServers: [] });

    expect(zListSessionsResponse.safeParse(list).error).toBeUndefined();
    // The other one never had a turn.
    expect(list.sessions).toEqual([
      expect.objectContaining({ sessionId, cwd: place.cwd, title: 'play hello' }),
    ]);
    expect(await agent.request('session/list', { cwd: '/elsewhere' })).toEqual({ sessions: [] });
    expect(editor.updates).toEqual([]);
    await editor.prompt(sessionId, 'more');
    expect(editor.text()).toBe('Prompt 3 of this chat.');
  });

  test('is opened in its own folder only, and not after it was deleted', async () => {
    const { place, sessionId } = await ended();
    const { agent } = (await open(place)).connection;
    const load = async (cwd: string) =>
      await agent.request('session/load', { sessionId, cwd, mcpServers: [] });

    await expect(load('/elsewhere')).rejects.toMatchObject({ code: -32602 });
    await agent.request('session/delete', { sessionId });

    await expect(load(place.cwd)).rejects.toMatchObject({ code: -32002 });
  });

  test('is in files that only the user can read', async () => {
    const { place } = await ended();

    const modes = readdirSync(place.sessions).map(
      (name) => statSync(join(place.sessions, name)).mode & 0o777,
    );

    expect(modes).toEqual(Array.from({ length: 5 }, () => 0o600));
    expect(statSync(place.sessions).mode & 0o777).toBe(0o700);
  });

  test('is not found by a path', async () => {
    const { place } = await ended();
    writeFileSync(
      join(place.folder, 'state/outside.json'),
      JSON.stringify({ id: '../../outside', cwd: place.cwd }),
    );
    const { agent } = (await open(place)).connection;
    const sessionId = '../../outside';

    const loaded = agent.request('session/load', { sessionId, cwd: place.cwd, mcpServers: [] });
    const deleted = agent.request('session/delete', { sessionId });

    await expect(loaded).rejects.toMatchObject({ code: -32002 });
    await deleted;
    expect(existsSync(join(place.folder, 'state/outside.json'))).toBe(true);
  });
});

describe('cancelling', () => {
  /** A turn that waits, with a process below it that ignores SIGTERM. */
  async function waiting(): Promise<{
    editor: Editor;
    sessionId: string;
    turn: Promise<unknown>;
    child: number;
  }> {
    const editor = await open();
    const { sessionId } = await editor.session();
    const turn = editor.prompt(sessionId, 'wait');
    turn.catch(() => undefined);
    await editor.update(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk');
    const file = join(editor.place.standIn, 'child');
    while (!existsSync(file) || readFileSync(file, 'utf8') === '')
      await new Promise((resolve) => setImmediate(resolve));
    return { editor, sessionId, turn, child: Number(readFileSync(file, 'utf8')) };
  }

  test('ends the program with all below it, after everything that it has said was told', async () => {
    const { editor, sessionId, turn, child } = await waiting();

    await editor.connection.agent.notify('session/cancel', { sessionId });

    expect(await turn).toEqual({ stopReason: 'cancelled' });
    expect(editor.text()).toBe('This takes long. Last words.');
    await untilGone(editor.place.prompts[0]!.pid, child);
    // The chat is known, and goes on.
    await editor.prompt(sessionId, 'more');
    expect(editor.text()).toMatch(/Prompt 2 of this chat.$/);
  });

  test.each<[string, (editor: Editor) => void]>([
    ['the end of the editor', (editor) => editor.process.stdin.end()],
    ['SIGTERM', (editor) => editor.process.kill('SIGTERM')],
  ])('%s does the same', async (_what, act) => {
    const { editor, child } = await waiting();

    act(editor);

    await untilGone(editor.process.pid!, editor.place.prompts[0]!.pid, child);
  });

  test('closing the session does the same', async () => {
    const { editor, sessionId, turn, child } = await waiting();

    await editor.connection.agent.request('session/close', { sessionId });

    expect(await turn).toEqual({ stopReason: 'cancelled' });
    await untilGone(child);
    await expect(editor.prompt(sessionId, 'more')).rejects.toMatchObject({ code: -32002 });
  });
});

describe('a start that fails', () => {
  test.each([
    ['too many requests', 'HTTP 429'],
    ['a time-out', 'request timed out'],
    ['a connection that is refused', 'connect ECONNREFUSED 127.0.0.1:443'],
    ['one after the chat has begun', 'HTTP 429', 'early'],
  ])('with %s is repeated', async (_what, words, when = 'fail') => {
    const editor = await usual(hasty);
    const { sessionId } = await editor.session();

    const answer = await editor.prompt(sessionId, `${when} 3 ${words}`);

    expect(answer.stopReason).toBe('end_turn');
    expect(editor.text()).toBe('Hello there.');
    expect(editor.place.prompts).toHaveLength(4);
    expect(editor.stderr.match(/again in \d s/g)).toEqual(['again in 1 s', 'again in 2 s', 'again in 4 s']);
  });

  test.each([
    ['three times, and no more', 'fail 9 HTTP 429', 4, /4 times in a row.*HTTP 429\nSend the prompt again/s],
    [
      'once for any other reason',
      'fail 9 a bug',
      1,
      /ended with status 1.*: a bug\n.*cursor-agent -p hello/s,
    ],
    [
      'once with a model that there is not',
      'fail 9 Cannot use this model: x',
      1,
      /Cannot use this model: x\n/,
    ],
    ['once where output has come', 'late 9 connect ETIMEDOUT', 1, /ETIMEDOUT/],
    [
      'once where it has said nothing',
      'exit 7',
      1,
      /has ended with status 7 and has not finished the turn\n/,
    ],
    [
      'once where the service wants more than a minute',
      'fail 9 429 Retry-After: 61',
      1,
      /Send the prompt again in a while/,
    ],
  ])('is tried %s, and told', async (_what, prompt, starts, message) => {
    const editor = await usual(hasty);
    const { sessionId } = await editor.session();

    const answer = editor.prompt(sessionId, prompt);

    await expect(answer).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(message) as string,
    });
    expect(editor.place.prompts).toHaveLength(starts);
  });

  test('is repeated no sooner than the service says', async () => {
    const editor = await usual(hasty);
    const { sessionId } = await editor.session();

    await editor.prompt(sessionId, 'fail 1 {"error":{"code":429,"retry_after":"7"}}');

    expect(editor.stderr.match(/again in \d s/g)).toEqual(['again in 7 s']);
  });

  test('of a chat that is gone is tried once more in a new one, and the thread says so', async () => {
    const editor = await usual(hasty);
    const { sessionId } = await editor.session();
    await editor.prompt(sessionId, 'play hello');

    await editor.prompt(sessionId, 'resumed Error: Chat 1 not found');

    const tries = editor.place.prompts.slice(1);
    expect(tries.map(({ args }) => args.includes('--resume'))).toEqual([true, false]);
    expect(editor.text()).toMatch(/^Hello there\.cai: Cursor's chat .* a new chat,.*\n\nHello there\.$/s);
    // The next turn goes on in the new one.
    await editor.prompt(sessionId, 'more');
    expect(editor.text()).toMatch(/Prompt 2 of this chat\.$/);
  });

  test.each([
    ['that cannot be reached is told', 'resumed read ECONNRESET', [true, true, true, true]],
    ['whose service wants a long rest is told', 'resumed 429 Retry-After: 61', [true]],
    ['is told where a new one fails, too,', 'early 9 Error: Chat 1 not found', [true, false]],
  ])('of a chat %s, and the chat stays', async (_what, words, resumes) => {
    const editor = await usual(hasty);
    const { sessionId } = await editor.session();
    await editor.prompt(sessionId, 'play hello');

    await expect(editor.prompt(sessionId, words)).rejects.toMatchObject({ code: -32603 });

    const tries = editor.place.prompts.slice(1);
    expect(tries.map(({ args }) => args.includes('--resume'))).toEqual(resumes);
    await editor.prompt(sessionId, 'more');
    const known = 2 + resumes.filter(Boolean).length;
    expect(editor.text()).toMatch(new RegExp(`Prompt ${known} of this chat\\.$`));
  });

  test('of a chat for another reason is told, and the chat stays', async () => {
    const editor = await usual(hasty);
    const { sessionId } = await editor.session();
    await editor.prompt(sessionId, 'play hello');

    await expect(editor.prompt(sessionId, 'resumed a bug')).rejects.toThrow(': a bug');

    await editor.prompt(sessionId, 'more');
    expect(editor.text()).toMatch(/Prompt 3 of this chat\.$/);
  });

  test('because the folder of the session is gone says that', async () => {
    const editor = await open();
    const { sessionId } = await editor.session();
    rmSync(editor.place.cwd, { recursive: true });

    await expect(editor.prompt(sessionId, 'hello')).rejects.toThrow('folder of this session does not exist');
    await expect(editor.session()).rejects.toMatchObject({ code: -32602 });
  });

  test('is not repeated once the turn is cancelled', async () => {
    const editor = await open();
    const { sessionId } = await editor.session();
    const turn = editor.prompt(sessionId, 'fail 9 HTTP 429');
    await editor.says('again in');

    await editor.connection.agent.notify('session/cancel', { sessionId });

    expect(await turn).toEqual({ stopReason: 'cancelled' });
    expect(editor.place.prompts).toHaveLength(1);
  });

  test('says what to do where the program is missing', async () => {
    const editor = await open(undefined, { env: { CURSOR_AGENT_EXECUTABLE: '/nowhere/cursor-agent' } });
    const { sessionId } = await editor.session();

    await expect(editor.prompt(sessionId, 'hello')).rejects.toMatchObject({
      message: expect.stringMatching(
        /^\/nowhere\/cursor-agent cannot be started.*CURSOR_AGENT_EXECUTABLE$/,
      ) as string,
    });
  });

  test('names no program in the folder of the session', async () => {
    const place = new Place();
    writeFileSync(join(place.cwd, 'planted'), `#!/bin/sh\ntouch ${place.folder}/pwned\n`, { mode: 0o755 });
    const editor = await open(place, { env: { CURSOR_AGENT_EXECUTABLE: './planted' } });
    const { sessionId } = await editor.session();

    await expect(editor.prompt(sessionId, 'hello')).rejects.toThrow('cannot be started');

    expect(existsSync(join(place.folder, 'pwned'))).toBe(false);
  });

  test('is an error, too, where a result says so', async () => {
    const editor = await usual();
    const { sessionId } = await editor.session();

    await expect(editor.prompt(sessionId, 'play refused')).rejects.toThrow(
      'You have reached the limit of your plan',
    );
  });
});

describe('signing in', () => {
  /** A place where nobody is signed in. */
  async function signedOut(options: EditorOptions = {}): Promise<Editor> {
    const editor = await open(undefined, options);
    await editor.connection.agent.request('logout', {});
    return editor;
  }

  test('is asked for when a session is opened, and done by the program', async () => {
    const editor = await signedOut();
    const { agent } = editor.connection;
    expect(await agent.request('_cursor/status', {})).toMatchObject({ isHealthy: true, isSignedIn: false });
    await expect(editor.session()).rejects.toMatchObject({ code: -32000 });

    await agent.request('authenticate', { methodId: 'cursor_login' });

    await editor.prompt((await editor.session()).sessionId, 'play hello');
    expect(editor.text()).toBe('Hello there.');
  });

  test('is asked for in a turn', async () => {
    const editor = await open();
    const { sessionId } = await editor.session();
    await editor.connection.agent.request('logout', {});

    await expect(editor.prompt(sessionId, 'hello')).rejects.toMatchObject({
      ...{ code: -32000, message: expect.stringContaining('cursor-agent login') as string },
    });
    expect(editor.place.prompts).toHaveLength(1);
  });

  test('is done by a key in the environment', async () => {
    const without = await signedOut();
    const methodId = 'cursor-api-key';
    await expect(without.connection.agent.request('authenticate', { methodId })).rejects.toMatchObject({
      code: -32000,
    });
    const editor = await open(without.place, { env: { CURSOR_API_KEY: 'key' } });

    await editor.connection.agent.request('authenticate', { methodId });

    await editor.session();
  });

  test('is offered on a terminal to an editor that has one, and works there', async () => {
    const editor = await signedOut({ capabilities: { auth: { terminal: true } } });
    expect(editor.hello.authMethods).toMatchObject([
      { id: 'cursor_login', type: 'terminal', args: ['login'] },
      {},
    ]);

    const { standIn, folder } = editor.place;
    const env = { CURSOR_STAND_IN: standIn, CURSOR_AGENT_EXECUTABLE: cursorAgent, HOME: folder };
    const run = await runCli(['--acp', 'login'], { program: caiCursor, env });

    expect(run).toEqual({ status: 0, stdout: 'Signed in\n', stderr: '' });
    await editor.session();
  });
});

describe('the calls beyond ACP', () => {
  test('_cursor/usage sums up the turns of each session', async () => {
    const editor = await open();
    const { sessionId } = await editor.session();
    for (const prompt of ['play hello', 'play hello', 'play tools']) await editor.prompt(sessionId, prompt);

    const { agent } = editor.connection;
    expect(await agent.request('_cursor/usage', { sessionId })).toMatchObject({
      sessions: [
        expect.objectContaining({
          ...{ sessionId, cwd: editor.place.cwd, turns: 3, toolCalls: 7, durationMs: 8468 },
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
          ...{
            inputTokens: 200,
            outputTokens: 40,
            cachedReadTokens: 600,
            cachedWriteTokens: 8,
            totalTokens: 240,
          },
        }),
      ],
    });
    expect(await agent.request('_cursor/usage')).toMatchObject({ sessions: [{ turns: 3 }] });
    await expect(agent.request('_cursor/usage', { sessionId: 'x' })).rejects.toMatchObject({ code: -32002 });
  });

  test('_cursor/status and _cursor/models say what the program does', async () => {
    const { agent } = (await usual()).connection;

    expect(await agent.request('_cursor/status', {})).toMatchObject({
      about: { cliVersion: '2026.10.01-stand-in', subscriptionTier: 'Pro' },
      status: { isAuthenticated: true },
      hasKey: false,
    });
    expect(await agent.request('_cursor/models', {})).toEqual({
      models: [
        { id: 'auto', name: 'Auto (default)' },
        { id: 'some-model-2', name: 'Some Model 2' },
      ],
    });
  });

  test('any other is answered with -32601', async () => {
    const { agent } = (await usual()).connection;

    await expect(agent.request('_cursor/nothing', {})).rejects.toMatchObject({ code: -32601 });
  });
});

test('MCP servers of the editor are left out, and that is said', async () => {
  const editor = await open();
  const mcpServers = [{ name: 'files', command: '/bin/true', args: [], env: [] }];

  await editor.connection.agent.request('session/new', { cwd: newFolder(), mcpServers });

  expect(editor.stderr).toContain('1 MCP servers of the editor are left out');
});

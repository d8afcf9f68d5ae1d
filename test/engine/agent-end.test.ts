import { cpSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Json } from '../support/inbox';
import { Editor } from './editor';
import {
  childrenOf,
  containerOf,
  measured,
  processesIn,
  untilOnly,
  untilRuns,
  type InnerProcess,
} from './inside';
import { modelConfig, modelEnv, provideImages, startModel } from './model';
import { buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace } from './support';

/** What an agent may take to be gone. */
const goneMs = 10_000;
/** In sessions of their own, and orphans: what plain signals to groups do not reach. */
const tools = '[[shell (setsid setsid sleep 600 &); setsid sleep 601 & sleep 602]]';
const endTurn = { result: { stopReason: 'end_turn' } };

let cai: Cai;
let workspace: string;
let container: string;
/** What runs besides the agent. */
let before: InnerProcess[];
let editor: Editor;
let session: string;

beforeAll(() => provideImages('claude'), buildTimeoutMs);

describe('claude, in the middle of a tool, is gone from the container with all that it started', () => {
  let answer: Promise<Json>;

  beforeAll(async () => {
    cai = new Cai(modelConfig);
    workspace = newWorkspace();
    await startModel(cai, workspace, 'claude');
  });

  beforeEach(async () => {
    await openSession();
    answer = editor.prompt(session, tools);
    // Nobody is left to be told where the proxy is killed.
    answer.catch(() => undefined);
    for (const seconds of [600, 601, 602]) await untilRuns(container, `sleep ${seconds}`);
  });

  test('when the proxy is killed', async () => {
    editor.proxy.child.kill('SIGKILL');

    await untilGone('claude, proxy killed');
  });

  test('when cai exec is killed; the prompt gets one answer, and the session goes on with the next', async () => {
    const [exec, ...more] = childrenOf(editor.proxy.pid);
    expect(more).toEqual([]);
    process.kill(exec!, 'SIGKILL');

    const [{ result }] = await Promise.all([
      measured('claude, cai exec killed, error', () => answer),
      untilGone('claude, cai exec killed'),
    ]);
    const { error, result: ended } = result as { error?: Json; result?: Json };
    // Its last word, which can come through before it is gone.
    if (ended !== undefined) expect(ended).toMatchObject({ stopReason: 'cancelled' });
    else expect(error).toMatchObject({ code: -32603 });
    expect(await editor.prompt(session, 'go on')).toMatchObject(endTurn);
    expect(editor.said(session)).toContain('Echo: go on');
    expect(editor.messages.filter((each) => each.error !== undefined)).toHaveLength(
      error === undefined ? 0 : 1,
    );
  });

  test('when the editor closes its end', async () => {
    editor.proxy.child.stdin.end();

    await untilGone('claude, end of input');
    expect(await editor.proxy.ends()).toMatchObject({ status: 0 });
  });
});

describe('an agent', () => {
  beforeAll(async () => {
    cai = new Cai('[agents.claude]\ncommand = ["node", "mock-acp-server", "--acp"]\n');
    workspace = newWorkspace();
    cpSync(resolve(__dirname, '../../fixtures/mock-acp-server'), join(workspace, 'mock-acp-server'));
    await cai.start(['exec', '--workspace', workspace, '--agent', 'claude', '--', 'true']).succeeds();
  });

  test('reads and writes past `cai exec`, which sees nothing of it', async () => {
    await openSession();
    const [exec] = childrenOf(editor.proxy.pid);
    const readBytes = () => Number(/^rchar: (\d+)/.exec(readFileSync(`/proc/${exec}/io`, 'utf8'))![1]);
    expect(await editor.prompt(session, 'go on')).toMatchObject(endTurn);
    const before = readBytes();

    const text = 'x'.repeat(1e6);
    editor.notify('_passed', { sessionId: session, text });
    expect(await editor.prompt(session, text)).toMatchObject(endTurn);

    expect(editor.said(session)).toContain(text);
    expect(readBytes() - before).toBeLessThan(100_000);
    editor.proxy.child.stdin.end();
    await untilGone('mock, end of input');
  });
});

describe('an agent that neither reads nor heeds signals, with 16 MB waiting for it, is gone', () => {
  beforeEach(async () => {
    await openSession();
    expect(await editor.prompt(session, 'deaf')).toMatchObject(endTurn);
    const text = 'x'.repeat(1e6);
    for (let count = 0; count < 16; count++) editor.notify('_waiting', { sessionId: session, text });
    await untilTaken();
  });

  test('when the proxy is killed', async () => {
    editor.proxy.child.kill('SIGKILL');

    await untilGone('deaf, proxy killed');
  });

  test('when cai exec is killed', async () => {
    const answer = editor.prompt(session, 'say more');
    await untilTaken();
    process.kill(childrenOf(editor.proxy.pid)[0]!, 'SIGKILL');

    await untilGone('deaf, cai exec killed');
    expect(await answer).toMatchObject({ error: { code: -32603 } });
  });

  test('when the editor closes its end', async () => {
    editor.proxy.child.stdin.end();

    await untilGone('deaf, end of input');
    expect(await editor.proxy.ends()).toMatchObject({ status: 0 });
  });
});

async function openSession(): Promise<void> {
  container = await containerOf(workspace, 'claude');
  before = await processesIn(container);
  editor = await Editor.open(cai, 'claude', { cwd: workspace, env: modelEnv });
  session = await editor.newSession(workspace);
}

/** The proxy has taken all that was sent so far: it answers this itself, and in its turn. */
async function untilTaken(): Promise<void> {
  expect(await editor.prompt('no-such-session', '')).toMatchObject({ error: { code: -32002 } });
}

/** The container itself stays, with what else runs there. */
async function untilGone(what: string): Promise<void> {
  await measured(what, () => untilOnly(container, before, goneMs));
  expect(await docker('inspect', '--format', '{{.State.Status}}', container)).toBe('running');
}

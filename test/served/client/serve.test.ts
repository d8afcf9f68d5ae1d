/** `cai connect` and `cai serve`, as they are: an agent in a process of its own behind both. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cai, userWith } from '../../support/cli';
import { hastened } from '../../support/hastened';
import type { Json } from '../../support/inbox';
import { failure } from '../../support/messages';
import { CuttingProxy } from './cutting-proxy';
import { Editor } from './editor';

const mock = resolve('fixtures/mock-acp-server');
const agent = `[agents.mock]\ncommand = ["${process.execPath}", "${mock}", "--acp"]\n`;

let server: ChildProcessWithoutNullStreams;
let proxy: CuttingProxy;
let editor: Editor;
let cwd: string;
let env: NodeJS.ProcessEnv;

afterEach(async () => {
  proxy.close();
  editor.process.kill('SIGKILL');
  await editor.ended();
  await stop();
});

/** A user's server, and an editor of the same user behind a way that stays. */
async function start(): Promise<void> {
  proxy = new CuttingProxy(0, () => undefined);
  const place = `127.0.0.1:${await proxy.listen()}`;
  const user = userWith(`${agent}[serve]\nhosts = ["${place}"]\n`);
  const home = user.cwd!;
  cwd = join(home, 'work');
  mkdirSync(cwd);
  env = { PATH: process.env.PATH, ...user.env, ...hastened };
  await serve();
  const state = { XDG_STATE_HOME: join(home, '.local/state') };
  editor = new Editor([`ws://${place}`], { ...state, ...hastened, CAI_LOG_LEVEL: 'silent' });
}

async function serve(): Promise<void> {
  const args = ['serve', '--listen', '127.0.0.1:0', '--agent', 'mock'];
  server = spawn(process.execPath, [cai, ...args], { cwd, env });
  server.stderr.resume();
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  proxy.port = Number(/127\.0\.0\.1:(\d+)/.exec(line.toString())![1]);
}

async function stop(): Promise<void> {
  server.kill('SIGTERM');
  await once(server, 'close');
}

function prompt(sessionId: unknown, text: string): Json {
  return { sessionId, prompt: [{ type: 'text', text }] };
}

async function open(): Promise<unknown> {
  await editor.request('initialize', { protocolVersion: 1 });
  const { result } = await editor.request('session/new', { cwd, mcpServers: [] });
  return (result as Json).sessionId;
}

test('a server that is started anew ends the turn with an error, and serves the next session', async () => {
  await start();
  const sessionId = await open();
  const turn = editor.ask('session/prompt', prompt(sessionId, 'say one; wait'));
  await editor.inbox.next('session/update');
  await stop();
  await serve();

  const ended = await editor.inbox.response(turn);
  expect(ended).toEqual(failure(turn, -32603));
  // This agent cannot load sessions.
  expect((ended.error as Json).message).toContain('cannot open the session again: start a new one');
  expect(await editor.request('session/prompt', prompt(sessionId, 'two'))).toMatchObject({
    error: { code: -32603 },
  });
  const { result } = await editor.request('session/new', { cwd, mcpServers: [] });
  const next = await editor.request('session/prompt', prompt((result as Json).sessionId, 'three'));
  expect(next).toMatchObject({ result: { stopReason: 'end_turn' } });
});

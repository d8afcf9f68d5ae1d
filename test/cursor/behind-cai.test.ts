/** `cai --acp cursor`, whose agent is the adapter over the stand-in, with Zed's capabilities. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientCapabilities } from '@agentclientprotocol/sdk';
import { cai } from '../support/cli';
import { untilGone } from '../support/processes';
import { zed } from '../support/zed';
import { caiCursor, Editor, Place } from './editor';
import { zSessionUpdate } from '../../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js';

let editor: Editor;
afterEach(async () => {
  await editor.close();
  for (const update of editor.updates) expect(zSessionUpdate.safeParse(update).error).toBeUndefined();
});

async function open(place = new Place()): Promise<void> {
  const folder = join(place.folder, '.config/containai');
  mkdirSync(folder, { recursive: true });
  const command = JSON.stringify([process.execPath, caiCursor]);
  writeFileSync(join(folder, 'config.toml'), `[agents.cursor]\ncommand = ${command}\n`);
  editor = await Editor.open(place, {
    ...{ program: cai, args: ['--acp', 'cursor', '--trust'] },
    env: { CAI_ACP_DIRECT_SPAWN: '1' },
    capabilities: zed.clientCapabilities as ClientCapabilities,
  });
}

/** The adapter that has started the last turn. */
const adapterPid = (): number => {
  const { pid } = editor.place.prompts.at(-1)!;
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
};

test('a turn has its tools and its tokens, and a cancelled one ends', async () => {
  await open();
  const { sessionId } = await editor.session();

  const answer = await editor.prompt(sessionId, 'play hello');
  await editor.prompt(sessionId, 'play tools');
  const turn = editor.prompt(sessionId, 'wait');
  await editor.update((update) => JSON.stringify(update).includes('This takes long.'));
  await editor.connection.agent.notify('session/cancel', { sessionId });

  expect(answer).toMatchObject({ stopReason: 'end_turn', usage: { totalTokens: 120 } });
  expect(editor.updates.some((update) => 'title' in update && update.title === 'npm test')).toBe(true);
  expect(await turn).toEqual({ stopReason: 'cancelled' });
  expect(editor.text()).toMatch(/Last words\.$/);
  expect(editor.place.prompts[0]!.args).toContain('--trust');
});

test('a session goes on in its chat after the adapter was killed, and after a restart of all', async () => {
  await open();
  const { place } = editor;
  const { sessionId } = await editor.session();
  await editor.prompt(sessionId, 'one');
  const lost = editor.prompt(sessionId, 'wait');
  await editor.update((update) => JSON.stringify(update).includes('This takes long.'));
  const pid = adapterPid();
  process.kill(pid, 'SIGKILL');
  await expect(lost).rejects.toMatchObject({ code: -32603 });
  await untilGone(pid);
  // What it had started ends when it next writes, which the stand-in does not.
  process.kill(-editor.place.prompts.at(-1)!.pid, 'SIGKILL');

  await editor.prompt(sessionId, 'three');

  expect(editor.text()).toMatch(/Prompt 3 of this chat\.$/);
  await editor.close();
  await open(place);
  await editor.connection.agent.request('session/load', { sessionId, cwd: place.cwd, mcpServers: [] });
  expect(editor.text('user_message_chunk')).toBe('onewaitthree');
  await editor.prompt(sessionId, 'four');
  expect(editor.text()).toMatch(/Prompt 4 of this chat\.$/);
});

test('what is beyond ACP passes through', async () => {
  await open();
  const { sessionId } = await editor.session();
  await editor.prompt(sessionId, 'play hello');

  const { agent } = editor.connection;
  expect(await agent.request('_cursor/models', {})).toMatchObject({ models: [{ id: 'auto' }, {}] });
  expect(await agent.request('_cursor/usage', {})).toMatchObject({ sessions: [{ turns: 1 }] });
});

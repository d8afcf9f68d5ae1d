/** What agents are set to in a container, where they would not work as they are; with the real ones. */
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { killIfThere } from '../agents/leftovers';
import type { Json } from '../support/inbox';
import { Editor } from './editor';
import { ageSessions } from './gemini';
import { containerOf, processesIn } from './inside';
import { isNightly, tried } from '../support/nightly';
import { modelConfig, modelEnv, provideImages, startModel } from './model';
import { buildTimeoutMs, Place } from './place';
import { Cai, newWorkspace } from './support';

const endTurn = { result: { stopReason: 'end_turn' } };

let cai: Cai;
let workspace: string;
beforeAll(() => provideImages(...tried(['codex'], ['gemini'])), buildTimeoutMs);
beforeEach(() => {
  cai = new Cai(modelConfig);
  workspace = newWorkspace();
});

describe('codex', () => {
  const asked = (editor: Editor): unknown[] =>
    editor.messages
      .filter(({ method }) => method === 'session/request_permission')
      .map(({ params }) => params);

  test('runs commands in the mode that it begins with, and asks before one that it takes for dangerous', async () => {
    await startModel(cai, workspace, 'codex');
    const editor = await Editor.open(cai, 'codex', { cwd: workspace, env: modelEnv });
    const session = await editor.newSession(workspace);

    expect(await editor.prompt(session, '[[shell touch made]] [[shell rm -rf made-before]]')).toMatchObject(endTurn); // prettier-ignore

    expect(existsSync(`${workspace}/made`)).toBe(true);
    expect(asked(editor)).toMatchObject([{ toolCall: { title: 'rm -rf made-before', kind: 'execute' } }]);
  });

  test('lets the user choose another mode for good', async () => {
    await startModel(cai, workspace, 'codex');
    const place = new Place(cai, workspace, ['--agent', 'codex']);
    const choice = `sed -i '1i default_permissions = ":read-only"' ~/.codex/config.toml`;
    await place.prints(['sh', '-c', choice]);
    const editor = await Editor.open(cai, 'codex', { cwd: workspace, env: modelEnv });

    const { result } = await editor.request('session/new', { cwd: workspace, mcpServers: [] });

    expect((result as { modes: Json }).modes).not.toHaveProperty('currentModeId', 'permission-profile:container'); // prettier-ignore
  });
});

// coming-back.test.ts has Gemini go on with a session in another process once.
if (isNightly)
  describe('gemini', () => {
    test('goes on with a session each time that its agent was killed', async () => {
      await startModel(cai, workspace, 'gemini');
      const editor = await Editor.open(cai, 'gemini', { cwd: workspace, env: modelEnv });
      const session = await editor.newSession(workspace);
      expect(await editor.prompt(session, 'one')).toMatchObject(endTurn);
      await killAgent('gemini');
      await ageSessions(cai, workspace);

      for (const text of ['two', 'three', 'four']) {
        await killAgent('gemini');
        const answer = await editor.prompt(session, text);
        // The first may come before the agent's end is known.
        expect(answer.error === undefined ? answer : await editor.prompt(session, text)).toMatchObject(
          endTurn,
        );
      }

      expect(editor.said(session)).toBe('Echo: oneEcho: twoEcho: threeEcho: four');
      expect(editor.said(session, 'user_message_chunk')).toBe('');
    });
  });

/** Kills what runs as that program in the container; resolves when it is gone. */
async function killAgent(name: string): Promise<void> {
  const container = await containerOf(workspace, name);
  const agents = async () =>
    (await processesIn(container)).filter(({ command }) => command.includes(`bin/${name}`));
  for (const { pid } of await agents()) killIfThere(pid);
  while ((await agents()).length > 0) await pause(20);
}

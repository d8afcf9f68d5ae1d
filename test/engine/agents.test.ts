import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, chownSync } from 'node:fs';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { agentAnswers, agentParams, badLines } from '../agents/transcript';
import type { Transcript } from '../agents/transcript';
import { acpx, provideClients, twoWorkspaces } from './clients';
import { Editor } from './editor';
import { containerOf } from './inside';
import { modelConfig, modelEnv, modelPort, startModel } from './model';
import { Cai, docker, newWorkspace, ownFile, user } from './support';

const prompt = '[[read note.txt]] [[write note.txt by the agent]] [[shell touch made-by-shell]]';

describe('an agent in a container, driven by acpx', () => {
  let cai: Cai;

  beforeAll(provideClients);
  beforeEach(() => (cai = new Cai(modelConfig)));

  test('claude reads, writes and runs a command, and the editor sees paths of this machine', async () => {
    const workspace = await workspaceWithModel(cai, 'claude');

    const { client, transcript } = acpx(cai, 'claude', workspace, 'exec', prompt);
    await client.succeeds();

    expectOneTurn(transcript(), workspace);
    expect(agentParams(transcript(), 'session/request_permission')).toMatchObject([
      { toolCall: { name: 'Write', locations: [{ path: `${workspace}/note.txt` }] } },
      { toolCall: { name: 'Bash', title: 'touch made-by-shell' } },
    ]);
    expectEffects(workspace);
    await expect(reach(modelPort)).rejects.toThrow('ECONNREFUSED');
  });

  test('gemini does so through the editor, in a folder that is named by a link', async () => {
    const workspace = await workspaceWithModel(cai, 'gemini');
    const link = `${workspace}-link`;
    symlinkSync(workspace, link);

    const { client, transcript } = acpx(cai, 'gemini', link, 'exec', prompt);
    await client.succeeds();

    expectOneTurn(transcript(), link);
    expect(agentParams(transcript(), 'fs/read_text_file')[0]).toMatchObject({ path: `${link}/note.txt` });
    expect(agentParams(transcript(), 'fs/write_text_file')).toMatchObject([{ path: `${link}/note.txt` }]);
    expectEffects(workspace);
  });

  test('claude and gemini do so in a folder whose path the image needs for itself', async () => {
    const workspace = realpathSync(mkdtempSync('/dev/shm/cai-engine-'));
    chownSync(workspace, user.uid, user.gid);
    for (const agent of ['claude', 'gemini']) {
    ownFile(`${workspace}/note.txt`, 'on disk\n');
    await startModel(cai, workspace, agent);
    expect(await docker('inspect', '--format', '{{.Config.WorkingDir}}', await containerOf(workspace, agent))).toBe('/home/agent/workspace');

    const { client, transcript } = acpx(cai, agent, workspace, 'exec', prompt);
    await client.succeeds();

    expectOneTurn(transcript(), workspace);
    expectEffects(workspace);
    rmSync(`${workspace}/made-by-shell`);
    }
    for (const agent of ['claude', 'gemini']) await docker('rm', '-f', await containerOf(workspace, agent));
    rmSync(workspace, {recursive: true});
  });
});

/** A workspace with a file, and its container with the fake model. */
async function workspaceWithModel(cai: Cai, agent: string): Promise<string> {
  const workspace = newWorkspace();
  ownFile(`${workspace}/note.txt`, 'on disk\n');
  await startModel(cai, workspace, agent);
  return workspace;
}

function expectOneTurn(transcript: Transcript, folder: string): void {
  expect(badLines(transcript)).toEqual([]);
  expect(agentAnswers(transcript, 'session/prompt')).toMatchObject([{ result: { stopReason: 'end_turn' } }]);
  const fromAgent = transcript.filter(({ from }) => from === 'agent').map(({ message }) => message);
  for (const m of fromAgent) if (JSON.stringify(m).includes('/home/agent') || (folder.endsWith('-link')&&JSON.stringify(m).match(/workspace-\d+(?!-link)(?![\d])/))) console.log(JSON.stringify(m));
  console.log(pathsIn(fromAgent));
}

/** By whom everything was made is the user here, whatever that is inside. */
function expectEffects(workspace: string): void {
  expect(readFileSync(`${workspace}/note.txt`, 'utf8')).toBe('by the agent\n');
  for (const name of ['note.txt', 'made-by-shell'])
    expect(statSync(join(workspace, name))).toMatchObject({ uid: user.uid, gid: user.gid });
}

/** Every absolute path that stands anywhere in the messages. */
function pathsIn(messages: unknown): string[] {
  return [...new Set(JSON.stringify(messages).match(/(?<![\w.:/-])\/[\w./-]+/g) ?? [])];
}

async function reach(port: number): Promise<void> {
  const socket = createConnection(port, '127.0.0.1');
  await once(socket, 'connect').finally(() => socket.destroy());
}

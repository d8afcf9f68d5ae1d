import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { connect } from 'node:net';
import { join } from 'node:path';
import { agentAnswers, agentParams, badLines, type Transcript } from '../agents/transcript';
import { acpx, provideClients, twoWorkspaces } from './clients';
import { Editor } from './editor';
import { containerOf } from './inside';
import { isNightly } from '../support/nightly';
import { modelConfig, modelEnv, modelPort, provideImages, startModel } from './model';
import { buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace, user } from './support';

const prompt = '[[read note.txt]] [[write note.txt by the agent]] [[shell touch made-by-shell]]';
const endTurn = { result: { stopReason: 'end_turn' } };

let cai: Cai;
beforeAll(() => provideImages('claude', 'gemini'), buildTimeoutMs);
beforeEach(() => (cai = new Cai(modelConfig)));

describe('an agent in a container, driven by acpx', () => {
  beforeAll(provideClients, buildTimeoutMs);

  test('claude reads, writes and runs a command; every path that the editor sees is one of this machine', async () => {
    const workspace = await workspaceWithModel('claude');

    const { client, transcript } = acpx(cai, 'claude', workspace, 'exec', prompt);
    await client.succeeds();

    expectOneTurn(transcript());
    expect(agentParams(transcript(), 'session/request_permission')).toMatchObject([
      { toolCall: { name: 'Write', locations: [{ path: `${workspace}/note.txt` }] } },
      { toolCall: { name: 'Bash', title: 'touch made-by-shell' } },
    ]);
    expectEffects(workspace);
    expectHostPaths(pathsIn(transcript()));
    // The model is where only the agent can reach it.
    await expect(reach(modelPort)).rejects.toThrow('ECONNREFUSED');
  });

  // The next one has other paths inside, too.
  if (isNightly)
    test('gemini does so in a folder that is named by a link', async () => {
      const workspace = await workspaceWithModel('gemini');
      const link = `${workspace}-link`;
      symlinkSync(workspace, link);

      const { client, transcript } = acpx(cai, 'gemini', link, 'exec', prompt);
      await client.succeeds();

      expectOneTurn(transcript());
      expectEffects(workspace);
      expectHostPaths(pathsIn(transcript()));
    });

  test('gemini does so on the disk in a folder whose path the image needs for itself, and asks the editor for no file', async () => {
    const workspace = realpathSync(mkdtempSync('/dev/shm/cai-engine-'));
    chownSync(workspace, user.uid, user.gid);
    try {
      await prepare(workspace, 'gemini');

      const { client, transcript } = acpx(cai, 'gemini', workspace, 'exec', prompt);
      await client.succeeds();

      expectOneTurn(transcript());
      expect(JSON.stringify(transcript())).not.toContain('"method":"fs/');
      expectEffects(workspace);
      // What a tool was given and what is said are the agent's own words.
      expectHostPaths(pathsIn(transcript(), ['rawInput', 'rawOutput', 'text']));
      expect(pathsIn(transcript())).toContain('/home/agent/workspace');
    } finally {
      await docker('rm', '--force', await containerOf(workspace, 'gemini'));
      rmSync(workspace, { recursive: true });
    }
  });
});

// data-volume.test.ts has two agents in one folder, without a turn.
if (isNightly)
  test('claude and gemini work in one folder at the same time', async () => {
    const workspace = await workspaceWithModel('claude');
    await startModel(cai, workspace, 'gemini');
    const turn = async (agent: string, other: string): Promise<unknown> => {
      const editor = await Editor.open(cai, agent, { cwd: workspace, env: modelEnv });
      const session = await editor.newSession(workspace);
      // Neither can end before both have begun.
      const answer = await editor.prompt(
        session,
        `[[shell touch ${agent}; until test -e ${other}; do sleep 0.1; done]]`,
      );
      return { answer, said: editor.said(session) };
    };

    const turns = await Promise.all([turn('claude', 'gemini'), turn('gemini', 'claude')]);

    const done = { answer: endTurn, said: expect.stringContaining('Result:') as unknown };
    expect(turns).toMatchObject([done, done]);
    expect(await containerOf(workspace, 'claude')).not.toBe(await containerOf(workspace, 'gemini'));
  });

describe('two workspaces on one editor connection', () => {
  beforeAll(provideClients, buildTimeoutMs);

  test('turns overlap in two containers, and neither has the folder of the other', async () => {
    const [a, b] = [await workspaceWithModel('claude'), await workspaceWithModel('claude')];

    const { client } = twoWorkspaces(cai, 'claude', a, b);
    const { stdout } = await client.succeeds();

    expect(JSON.parse(stdout.toString())).toMatchObject({
      // Asked in a container without a workspace, for the client was started in none.
      agentInfo: { title: 'Claude Agent' },
      stopReasons: {
        written: ['end_turn', 'end_turn'],
        meanwhile: 'end_turn',
        cancelled: 'cancelled',
        afterwards: 'end_turn',
      },
      unknownSessions: [],
      a: { permissions: [{ path: `${a}/note.txt`, newText: 'from a\n' }] },
      b: { permissions: [{ path: `${b}/note.txt`, newText: 'from b\n' }] },
    });
    expect(readFileSync(`${a}/note.txt`, 'utf8')).toBe('from a\n');
    expect(readFileSync(`${b}/note.txt`, 'utf8')).toBe('from b\n');
    // Parts of a workspace are mounted once more, to be read-only.
    expect((await foldersIn(a)).filter((path) => !path.startsWith(`${a}/`))).toEqual([a]);
    expect((await foldersIn(b)).filter((path) => !path.startsWith(`${b}/`))).toEqual([b]);
  });
});

/** A workspace with a file, and its container with the fake model. */
async function workspaceWithModel(agent: string): Promise<string> {
  const workspace = newWorkspace();
  await prepare(workspace, agent);
  return workspace;
}

async function prepare(workspace: string, agent: string): Promise<void> {
  const note = join(workspace, 'note.txt');
  writeFileSync(note, 'on disk\n');
  chownSync(note, user.uid, user.gid);
  await startModel(cai, workspace, agent);
}

function expectOneTurn(transcript: Transcript): void {
  expect(badLines(transcript)).toEqual([]);
  expect(agentAnswers(transcript, 'session/prompt')).toMatchObject([endTurn]);
}

/** Whoever made them inside, here they are the user's. */
function expectEffects(workspace: string): void {
  expect(readFileSync(`${workspace}/note.txt`, 'utf8')).toBe('by the agent\n');
  for (const name of ['note.txt', 'made-by-shell'])
    expect(statSync(join(workspace, name))).toMatchObject({ uid: user.uid, gid: user.gid });
}

/** Absolute paths of more than one name that stand anywhere in the agent's messages, but for some keys. */
function pathsIn(transcript: Transcript, besides: readonly string[] = []): string[] {
  const messages = transcript.flatMap(({ from, message }) => (from === 'agent' ? [message] : []));
  const text = JSON.stringify(messages, (key, value: unknown) => (besides.includes(key) ? undefined : value));
  return [...new Set(text.match(/(?<![\w.:/-])(\/[\w.-]+){2,}/g))];
}

function expectHostPaths(paths: readonly string[]): void {
  expect(paths.length).toBeGreaterThan(0);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
}

/** The folders of this machine that the container of a workspace has. */
async function foldersIn(workspace: string): Promise<string[]> {
  const format = '{{range .Mounts}}{{if eq .Type "bind"}}{{println .Source}}{{end}}{{end}}';
  const container = await containerOf(workspace, 'claude');
  return (await docker('inspect', '--format', format, container)).split('\n');
}

async function reach(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect').finally(() => socket.destroy());
}

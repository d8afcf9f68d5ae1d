/**
 * Coming back to a session of each agent after `cai` was started anew: what the agents offer, and what comes of
 * it. The table that this prints is the one of docs/agents.md.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { catalog } from '../../src/agent/catalog';
import type { Json } from '../support/inbox';
import { Editor } from './editor';
import { ageSessions } from './gemini';
import { modelConfig, modelEnv, modelPort, provideImages, startModel } from './model';
import { buildTimeoutMs, Place } from './place';
import { tried } from '../support/nightly';
import { patienceMs } from '../support/patience';
import { Cai, newWorkspace } from './support';

const agents = ['claude', 'codex', 'opencode', 'gemini'] as const;
/** Codex and opencode offer what Claude does, and opencode less. */
const triedAgents = tried(['claude', 'gemini'] as const, ['codex', 'opencode'] as const);
const model = `http://127.0.0.1:${modelPort}/v1`;
const words = 'remember this';

const openCodeConfig = JSON.stringify({
  model: 'fake/fake-model',
  small_model: 'fake/fake-model',
  autoupdate: false,
  provider: {
    fake: {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: model, apiKey: 'fake-key' },
      models: { 'fake-model': {} },
    },
  },
});

/** `yes`; `no`: the agent does not offer it; else what comes of it. */
type Cell = string;

const columns = ['list', 'title', 'load', 'resume', 'fork', 'close', 'delete'] as const;
type Row = Readonly<Record<(typeof columns)[number], Cell>>;

/**
 * What each agent is known to do. Of one that lists nothing, editors are not offered a list; `cai sessions` has its
 * sessions all the same.
 */
const expected: Readonly<Record<(typeof agents)[number], Row>> = {
  claude: { list: 'yes', title: 'yes', load: 'yes', resume: 'yes', fork: 'yes', close: 'yes', delete: 'yes' },
  codex: { list: 'yes', title: 'yes', load: 'yes', resume: 'yes', fork: 'yes', close: 'yes', delete: 'yes' },
  opencode: {
    list: 'yes',
    title: 'yes',
    load: 'yes',
    resume: 'yes',
    fork: 'yes',
    close: 'yes',
    delete: 'no',
  },
  gemini: { list: 'no', title: 'no', load: 'yes', resume: 'no', fork: 'no', close: 'no', delete: 'no' },
};

let cai: Cai;
beforeAll(() => provideImages(...triedAgents), buildTimeoutMs);
beforeEach(() => (cai = new Cai(modelConfig)));

const found = new Map<string, Row>();

test.each(triedAgents)('%s', async (agent) => {
  const workspace = newWorkspace();
  await prepare(workspace, agent);
  const first = await Editor.open(cai, agent, { cwd: workspace, env: modelEnv });
  const sessionId = await first.newSession(workspace);
  expect(await first.prompt(sessionId, words)).toMatchObject({ result: { stopReason: 'end_turn' } });
  const byAgent = await rowIn(first, sessionId, {});
  await leave(first);
  if (agent === 'gemini') await ageSessions(cai, workspace);

  // Started in a folder that is no workspace: nothing runs that could be asked.
  const second = await Editor.open(cai, agent, { env: modelEnv });
  const offered = await capabilitiesOf(second);
  const byTable = await rowIn(second, sessionId, {});
  const inFolder = await rowIn(second, sessionId, { cwd: workspace });
  const { open, ...row } = await comeBack(second, offered, sessionId, workspace);
  if (open !== undefined) {
    expect(await second.prompt(sessionId, 'and this')).toMatchObject({ result: { stopReason: 'end_turn' } });
    expect(second.said(sessionId)).toContain('Echo: and this');
  }
  const others = await endings(second, offered, sessionId, workspace);
  await leave(second);

  // What no agent was asked for is all the same what the agent has said of it, and has the same id.
  const known = { sessionId, cwd: workspace, updatedAt: expect.any(String) as string };
  expect(byTable).toEqual(byAgent === undefined ? undefined : expect.objectContaining(known));
  expect(inFolder).toEqual(byTable);
  const title = typeof byTable?.title === 'string' && byTable.title !== '' ? 'yes' : 'no';
  found.set(agent, { list: byAgent === undefined ? 'no' : 'yes', title, ...row, ...others });
  expect(found.get(agent)).toEqual(expected[agent]);
});

test('sessions of workspaces that share no data are in one list, and go on where they began', async () => {
  const workspaces = [newWorkspace(), newWorkspace()];
  const first = await Editor.open(cai, 'claude', { env: modelEnv });
  const known: { sessionId: string; cwd: string }[] = [];
  for (const cwd of workspaces) {
    await prepare(cwd, 'claude');
    const sessionId = await first.newSession(cwd);
    expect(await first.prompt(sessionId, words)).toMatchObject({ result: { stopReason: 'end_turn' } });
    known.push({ sessionId, cwd });
  }
  await leave(first);
  const ids = known.map(({ sessionId }) => sessionId).sort();

  const second = await Editor.open(cai, 'claude', { env: modelEnv });
  expect(await listedBy(second)).toEqual(ids);
  for (const { sessionId, cwd } of known) {
    const { load } = await comeBack(second, { load: true }, sessionId, cwd);
    expect(load).toBe('yes');
    // The agent that runs by now knows its own session alone.
    expect(await listedBy(second)).toEqual(ids);
  }
  await leave(second);
  const { stdout } = await cai.run(['sessions']);
  for (const { cwd } of known) expect(stdout.toString()).toContain(cwd);
});

test('the table of what each supports is the one of the documentation', () => {
  process.stderr.write(`\n${tableOf(Object.fromEntries(found))}\n`);

  const page = readFileSync(resolve(__dirname, '../../docs/agents.md'), 'utf8');
  const plain = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-+/g, '-');
  expect(plain(page)).toContain(plain(tableOf(expected)));
});

/** Starts the model in the container, with what makes the agent ask it. */
async function prepare(workspace: string, agent: string): Promise<void> {
  const place = new Place(cai, workspace, ['--agent', agent]);
  const script = 'mkdir -p ~/.config/opencode; echo "$1" > ~/.config/opencode/opencode.json';
  await place.prints(['sh', '-c', script, 'sh', openCodeConfig]);
  await startModel(cai, workspace, agent);
}

async function leave(editor: Editor): Promise<void> {
  editor.proxy.child.stdin.end();
  await editor.proxy.succeeds();
}

/** What the agent offers; `initialize` gives the same answer again. */
async function capabilitiesOf(editor: Editor): Promise<Json> {
  const { result } = await editor.initialize();
  const { agentCapabilities } = result as { agentCapabilities: Json };
  return {
    load: agentCapabilities.loadSession,
    ...(agentCapabilities.sessionCapabilities as Json | undefined),
  };
}

/** The session's row in the first page of a list. */
async function rowIn(editor: Editor, sessionId: string, params: Json): Promise<Json | undefined> {
  const { result } = await editor.request('session/list', params);
  const rows = (result as { sessions: Json[] } | undefined)?.sessions ?? [];
  return rows.find((row) => row.sessionId === sessionId);
}

/** Ids of all sessions on all pages of a list, sorted. */
async function listedBy(editor: Editor): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: unknown = undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { result } = await editor.request('session/list', isFirst ? {} : { cursor });
    const { sessions, nextCursor } = result as { sessions: { sessionId: string }[]; nextCursor?: string };
    ids.push(...sessions.map(({ sessionId }) => sessionId));
    cursor = nextCursor;
  }
  return ids.sort();
}

/** Resumes and loads the session; `open` is set if it is open then. */
async function comeBack(
  editor: Editor,
  offered: Json,
  sessionId: string,
  cwd: string,
): Promise<Pick<Row, 'load' | 'resume'> & { readonly open: true | undefined }> {
  const params = { sessionId, cwd, mcpServers: [] };
  const resume = offered.resume ? outcome(await editor.request('session/resume', params)) : 'no';
  // What was said is not said again.
  expect(editor.said(sessionId)).toBe('');
  const loaded = offered.load ? outcome(await editor.request('session/load', params)) : 'no';
  // Gemini goes on telling of the past after its answer.
  const isWhole = loaded === 'yes' && (await hasCome(() => editor.said(sessionId, 'user_message_chunk')));
  const load = loaded === 'yes' && !isWhole ? 'fails' : loaded;
  return { load, resume, open: [load, resume].includes('yes') ? true : undefined };
}

/** Whether what was said comes again; `said` tells what has come so far. */
async function hasCome(said: () => string): Promise<boolean> {
  const deadline = Date.now() + patienceMs;
  while (!said().includes(words) && Date.now() < deadline) await pause(20);
  return said().includes(words);
}

/** Forks the session, closes it, and deletes the fork. */
async function endings(
  editor: Editor,
  offered: Json,
  sessionId: string,
  cwd: string,
): Promise<Pick<Row, 'fork' | 'close' | 'delete'>> {
  const of = async (name: string, params: Json): Promise<[Cell, Json]> => {
    if (!offered[name]) return ['no', {}];
    const response = await editor.request(`session/${name}`, params);
    return [outcome(response), response];
  };
  const [fork, forked] = await of('fork', { sessionId, cwd, mcpServers: [] });
  const [close] = await of('close', { sessionId });
  const fresh = (forked.result as Json | undefined)?.sessionId;
  const [gone] = await of('delete', { sessionId: fresh ?? sessionId });
  return { fork, close, delete: gone };
}

function outcome({ error }: Json): Cell {
  if (error === undefined) return 'yes';
  process.stderr.write(`${JSON.stringify(error).slice(0, 500)}\n`);
  return 'fails';
}

/** As Markdown. */
function tableOf(rows: Readonly<Record<string, Row>>): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const bodies = Object.entries(rows).map(([agent, row]) => {
    return line([catalog[agent]!.displayName, ...columns.map((column) => row[column])]);
  });
  return [line(['Agent', ...columns]), line(['-', ...columns.map(() => '-')]), ...bodies].join('\n');
}

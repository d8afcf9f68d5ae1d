/** `worktrees.per_session`: each session of a repository has a worktree and a branch of its own. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { endAgent, leave, sentTo } from '../support/dialogue';
import { git } from '../support/git';
import type { Json } from '../support/inbox';
import type { Puppet } from '../support/puppet';
import { startTurn, type OpenSession } from '../support/turn';
import type { World } from '../support/world';
import { newFolder } from '../support/temp-folder';
import { Worlds } from '../support/worlds';

const config = '[worktrees]\nper_session = true\ncopy = [".env"]\n[restart]\nfirst_delay = "0s"\n';
const worlds = new Worlds();
const repository = join(worlds.folder, 'shop');
let world: World;

/** What the repository is in each test. */
const usual = newFolder();
beforeAll(() => {
  mkdirSync(join(usual, 'lib'));
  git(usual, 'init', '-q', '-b', 'main');
  writeFileSync(join(usual, 'file'), 'one\n');
  writeFileSync(join(usual, 'lib/part'), 'part\n');
  writeFileSync(join(usual, '.gitignore'), '.env\n');
  writeFileSync(join(usual, '.env'), 'KEY=1\n');
  git(usual, 'add', '-A');
  git(usual, 'commit', '-q', '-m', 'one');
});

beforeEach(async () => {
  cpSync(usual, repository, { recursive: true });
  world = await worlds.begin({ config });
});
afterEach(() => worlds.end());

/** The next agent that serves a session: not the one that answers `initialize`, where the proxy is. */
async function nextAgent(): Promise<Puppet> {
  const agent = await world.agent();
  return agent.cwd === join(worlds.folder, 'own') ? await world.agent() : agent;
}

interface Opened extends OpenSession {
  /** The params of `session/new` as the agent got them. */
  readonly params: Json;
  /** What the editor is told of the worktree. */
  readonly told: string;
}

async function open(agentId: string, cwd = repository, more: Json = {}): Promise<Opened> {
  const asked = world.ask('session/new', { cwd, mcpServers: [], ...more });
  const agent = await nextAgent();
  const { params } = await agent.answer('session/new', { result: { sessionId: agentId } });
  const { result } = await world.editor.response(asked);
  const { params: note } = await world.editor.next('session/update');
  const { id } = { id: (result as { sessionId: string }).sessionId };
  return { id, agentId, agent, params: params as Json, told: JSON.stringify(note) };
}

const branches = (): string[] => git(repository, 'branch', '--format=%(refname:short)').trim().split('\n');
const listed = async (params: Json = {}): Promise<Json[]> => {
  const { result } = await world.request('session/list', params);
  return (result as { sessions: Json[] }).sessions;
};
/** Closes a session; resolves once its worktree has been looked at, which the end of the proxy waits for. */
async function close({ id, agent }: OpenSession): Promise<void> {
  const asked = world.ask('session/close', { sessionId: id });
  await agent.answer('session/close', { result: {} });
  await world.editor.response(asked);
}

test('no session is opened in the repository itself because git is slow to tell of it', async () => {
  const head = join(repository, '.git/HEAD');
  rmSync(head);
  execFileSync('mkfifo', [head]);

  const answers = await Promise.all(
    [repository, join(repository, 'lib')].map((cwd) => world.request('session/new', { cwd, mcpServers: [] })),
  );
  for (const { error } of answers)
    expect(error).toMatchObject({
      message: expect.stringContaining('git did not answer within 2 s') as string,
    });
});

test('two sessions of one repository work in two folders, on two branches', async () => {
  writeFileSync(join(repository, 'file'), 'not committed\n');
  const [one, two] = [await open('s1'), await open('s2')];

  const folders = [one, two].map(({ agent }) => agent.cwd);
  expect(new Set([...folders, repository]).size).toBe(3);
  expect([one, two].map(({ params }) => params.cwd)).toEqual(folders);
  writeFileSync(join(folders[0]!, 'file'), 'of one\n');
  expect(readFileSync(join(folders[1]!, 'file'), 'utf8')).toBe('one\n');
  expect(readFileSync(join(repository, 'file'), 'utf8')).toBe('not committed\n');
  expect(readFileSync(join(folders[1]!, '.env'), 'utf8')).toBe('KEY=1\n');
  const branch = git(folders[0]!, 'branch', '--show-current').trim();
  expect(branch).toMatch(/^cai\/[\da-f]{8}$/);
  expect(one.told).toContain(`This session works on the branch \`${branch}\``);
  expect(one.told).toContain(`What is not committed in \`${repository}\` is not in it.`);
  expect(branches()).toHaveLength(3);
  expect(await leave(world)).toBe(0);
  // The first has a change, the second has none.
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, false]);
  expect(branches()).toEqual([branch, 'main']);
});

test('what the editor names in the repository is the same place in the worktree; the agent names the worktree', async () => {
  const { agent, params, id } = await open('s1', join(repository, 'lib'), {
    additionalDirectories: [join(repository, 'lib')],
  });
  const lib = join(agent.cwd, 'lib');

  expect(params).toMatchObject({ cwd: lib, additionalDirectories: [lib] });
  const link = { type: 'resource_link', name: 'part', uri: `file://${repository}/lib/part` };
  const turn = await startTurn(world, { id, agentId: 's1', agent }, [link]);
  expect(turn.received).toHaveProperty('params.prompt.0.uri', `file://${lib}/part`);
  const path = join(lib, 'part');
  agent.send({ id: 'r', method: 'fs/read_text_file', params: { sessionId: 's1', path } });
  const asked = await world.answer('fs/read_text_file', { result: { content: 'part' } });
  expect(asked.params).toMatchObject({ sessionId: id, path });
  agent.send({ id: 'w', method: 'fs/write_text_file', params: { sessionId: 's1', path: join(repository, 'file'), content: '' } }); // prettier-ignore
  expect(await agent.inbox.response('w')).toHaveProperty('error.code', -32602);
  await turn.end();
});

test('a closed session leaves nothing, if nothing has changed, and has its worktree again when it is loaded', async () => {
  const one = await open('s1');
  await (await startTurn(world, one)).end();
  const folder = one.agent.cwd;
  const branch = git(folder, 'branch', '--show-current').trim();
  void one.agent.sawEof.then(() => one.agent.order({ exit: 0 }));
  await close(one);
  await one.agent.sawEof;
  // The load waits for the removal that is under way.
  const asked = world.ask('session/load', { sessionId: one.id, cwd: repository, mcpServers: [] });
  const agent = await nextAgent();
  const { params } = await agent.answer('session/load', { result: {} });
  expect(await world.editor.response(asked)).toHaveProperty('result');
  expect(params).toMatchObject({ sessionId: 's1', cwd: folder });
  expect(git(folder, 'branch', '--show-current').trim()).toBe(branch);
  expect(await leave(world)).toBe(0);
  expect(existsSync(folder)).toBe(false);
  expect(branches()).toEqual(['main']);
});

test('commits stay, as a branch, and a later proxy lists, loads and forks the session', async () => {
  const one = await open('s1');
  await (await startTurn(world, one)).end();
  const { cwd: folder } = one.agent;
  writeFileSync(join(folder, 'file'), 'two\n');
  git(folder, 'commit', '-q', '-a', '-m', 'two');
  const row = { sessionId: one.id, cwd: repository };
  const asked = world.ask('session/list', { cwd: repository });
  const { params } = await one.agent.answer('session/list', {
    result: { sessions: [{ sessionId: 's1', cwd: folder }] },
  });
  expect(params).toMatchObject({ cwd: folder });
  expect(await world.editor.response(asked)).toHaveProperty('result.sessions', [row]);
  expect(await leave(world)).toBe(0);

  world = await worlds.begin({ config });
  expect(await listed({ cwd: repository })).toMatchObject([row]);
  void (await world.agent()).answer('session/list', { result: { sessions: [] } });
  expect(await listed()).toMatchObject([row]);
  const loaded = world.ask('session/resume', { sessionId: one.id, cwd: repository, mcpServers: [] });
  const agent = await world.agent(folder);
  await agent.answer('session/resume', { result: {} });
  await world.editor.response(loaded);
  for (const cwd of [undefined, repository]) {
    const forked = world.ask('session/fork', { sessionId: one.id, cwd, mcpServers: [] });
    await agent.answer('session/fork', { result: { sessionId: `fork-of-${cwd ?? 'it'}` } });
    expect(await world.editor.response(forked)).toHaveProperty('result.sessionId');
  }
  expect(await leave(world)).toBe(0);
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('two\n');
});

test('a row that an agent has nested too deeply is listed as it is', async () => {
  const { agent, id } = await open('s1');
  const asked = world.ask('session/list', { cwd: repository });
  const request = await agent.inbox.next('session/list');
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const row = `{"sessionId":"s1","cwd":${JSON.stringify(agent.cwd)},"title":${deep}}`;

  agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":{"sessions":[${row}]}}\n`);

  const { result } = await world.editor.response(asked);
  expect((result as { sessions?: Json[] } | undefined)?.sessions?.map(({ sessionId }) => sessionId)).toEqual([
    id,
  ]);
});

test('a session whose agent ends goes on in its worktree', async () => {
  const one = await open('s1');
  await (await startTurn(world, one)).end();
  await endAgent(world, one.agent);
  const prompt = world.ask('session/prompt', { sessionId: one.id, prompt: [] });
  const agent = await world.agent(one.agent.cwd);
  const { params } = await agent.answer('session/resume', { result: {} });
  expect(params).toMatchObject({ cwd: one.agent.cwd });
  await agent.answer('session/prompt', { result: { stopReason: 'end_turn' } });
  expect(await world.editor.response(prompt)).toHaveProperty('result.stopReason', 'end_turn');
});

test('a session that its agent refuses leaves nothing', async () => {
  const asked = world.ask('session/new', { cwd: repository, mcpServers: [] });
  const agent = await nextAgent();
  await agent.answer('session/new', { error: { code: -32000, message: 'sign in' } });
  expect(await world.editor.response(asked)).toHaveProperty('error.code', -32000);
  expect(await leave(world)).toBe(0);
  expect(existsSync(agent.cwd)).toBe(false);
  expect(branches()).toEqual(['main']);
});

describe('there is no worktree', () => {
  /** Opens a session; resolves with where its agent is. */
  async function placeOf(cwd: string): Promise<string> {
    const asked = world.ask('session/new', { cwd, mcpServers: [] });
    const agent = await nextAgent();
    await agent.answer('session/new', { result: { sessionId: 's' } });
    await world.editor.response(asked);
    return agent.cwd;
  }

  test('for a folder without git', async () => {
    const plain = join(worlds.folder, 'plain');
    mkdirSync(plain);
    expect(await placeOf(plain)).toBe(plain);
  });

  test('of a worktree that we have made', async () => {
    const { agent } = await open('s1');
    const asked = world.ask('session/new', { cwd: agent.cwd, mcpServers: [] });
    await agent.answer('session/new', { result: { sessionId: 's2' } });
    expect(await world.editor.response(asked)).toHaveProperty('result.sessionId');
  });

  test('because a repository says so', async () => {
    const other = await worlds.begin({ config: '' });
    mkdirSync(join(repository, '.containai'));
    writeFileSync(join(repository, '.containai/config.toml'), '[worktrees]\nper_session = true\n');
    world = other;
    expect(await placeOf(repository)).toBe(repository);
    expect(await sentTo(world)).toEqual([]);
  });
});

describe('session/new fails', () => {
  const failure = async (cwd: string): Promise<string> => {
    const { error } = await world.request('session/new', { cwd, mcpServers: [] });
    return (error as { message: string }).message;
  };

  test('without a commit, and where the folder is not committed', async () => {
    const empty = join(worlds.folder, 'empty');
    mkdirSync(empty);
    git(empty, 'init', '-q');
    expect(await failure(empty)).toContain('has no commit that a worktree could begin at: commit something');
    mkdirSync(join(repository, 'new'));
    expect(await failure(join(repository, 'new'))).toContain('is no folder of the commit');
    expect(await leave(world)).toBe(0);
    expect(branches()).toEqual(['main']);
  });

  test('for a repository whose git folder an agent has swapped', async () => {
    const other = join(worlds.folder, 'other');
    mkdirSync(other);
    git(other, 'clone', '-q', repository, '.');
    writeFileSync(join(repository, '.git/commondir'), join(other, '.git'));
    expect(await failure(repository)).toContain('its .git leads to a git folder that is not its own');
    expect(git(other, 'branch', '--format=%(refname:short)')).toBe('main\n');
  });
});

test('a folder is found through a link, too', async () => {
  const link = join(worlds.folder, 'link');
  symlinkSync(join(repository, 'lib'), link);
  const { params, agent } = await open('s1', link);
  expect(params.cwd).toBe(join(realpathSync(agent.cwd), 'lib'));
});

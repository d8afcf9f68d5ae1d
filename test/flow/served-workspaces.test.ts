/** Somebody who came in by `cai serve` and may use some folders only, next to the user, whose state they share. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { leave, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { startTurn, type OpenSession } from '../support/turn';
import { World, type WorldOptions } from '../support/world';
import { Worlds } from '../support/worlds';

const worlds = new Worlds();
const { folder } = worlds;
/** What they may use, a repository below it, and one of the user's beside it. */
const allowed = join(folder, 'allowed');
const shop = join(allowed, 'shop');
const secret = join(folder, 'secret');
/** A session of the user in `secret`; their proxy has ended. */
let foreign: OpenSession;
let theirs: World;

const nowhere = expect.stringContaining('is no folder here, or no workspace that you may use') as string;

beforeEach(async () => {
  foreign = await worlds.after('the usual', async (owners) => {
    owners.repository('allowed/shop');
    return await used(owners, owners.repository('secret'), 'foreign-session-of-the-user');
  });
});
afterEach(() => worlds.end());

/** A session with a turn, which lists show. */
async function used(world: World, cwd: string, agentId: string): Promise<OpenSession> {
  const session = await world.session(cwd, agentId);
  await (await startTurn(world, session)).end();
  return session;
}

async function comeIn(workspaces: readonly string[] = [allowed], config = ''): Promise<World> {
  return (theirs = await worlds.begin({ env: { CAI_SERVE_WORKSPACES: JSON.stringify(workspaces) }, config }));
}

/** What a proxy says that does not start. */
async function failingStart(options: WorldOptions): Promise<string> {
  const world = await World.start({ ...options, folder });
  const status = await world.exited();
  await world.end();
  expect(status).toBe(2);
  return world.stderr;
}

/** The error of a call, and that no agent was started for it. */
async function refusal(method: string, params: Json): Promise<unknown> {
  const count = theirs.agents.length;
  const response = await theirs.request(method, params);
  expect(response.result).toBeUndefined();
  expect(theirs.agents).toHaveLength(count);
  return response.error;
}

async function listed(params: Json = {}): Promise<string[]> {
  const { result } = await theirs.request('session/list', params);
  return (result as { sessions: { sessionId: string }[] }).sessions.map(({ sessionId }) => sessionId);
}

describe('a workspace', () => {
  test('is opened where it lies in an allowed folder, also through a link', async () => {
    mkdirSync(join(shop, 'sub'));
    symlinkSync(shop, join(folder, 'link'));
    await comeIn();

    expect((await theirs.session(join(shop, 'sub'), 'one')).agent.cwd).toBe(shop);
    const again = theirs.ask('session/new', { cwd: join(folder, 'link'), mcpServers: [] });
    const agent = theirs.agents.find(({ cwd }) => cwd === shop)!;
    const call = await agent.inbox.next('session/new');
    agent.send({ id: call.id, result: { sessionId: 'two' } });
    expect(await theirs.editor.response(again)).toHaveProperty('result.sessionId');
    expect(await leave(theirs)).toBe(0);
  });

  const places: readonly [string, () => string][] = [
    ['the folder of somebody else', () => secret],
    ['a way up', () => join(shop, '..') + '/../secret'],
    ['a way up that is spelled below it', () => `${shop}/../../secret`],
    ['the folder above', () => folder],
    ['the whole machine', () => '/'],
    ['the home folder', () => join(folder, 'home')],
    ['a name that only begins alike', () => `${allowed}-not`],
    ['nothing that is there', () => join(folder, 'not-there')],
    ['nothing that is there, spelled below it', () => join(shop, 'not-there')],
    ['a link that leads out', () => join(shop, 'out')],
    ['a folder behind a link that leads out', () => join(shop, 'out/sub')],
    ['a link that leads nowhere', () => join(shop, 'dangling')],
    ['a file', () => join(shop, '.git/HEAD')],
    ['our own state', () => join(folder, 'home/.local/state/containai')],
  ];

  test('is refused in the same words, whatever else is named', async () => {
    mkdirSync(join(secret, 'sub'));
    mkdirSync(`${allowed}-not`);
    symlinkSync(secret, join(shop, 'out'));
    symlinkSync(join(secret, 'not-there'), join(shop, 'dangling'));
    await comeIn();

    for (const [what, cwd] of places) {
      const opened = await refusal('session/new', { cwd: cwd(), mcpServers: [] });
      const list = await refusal('session/list', { cwd: cwd() });
      const error = { code: -32602, message: nowhere };
      expect({ what, opened, list }).toMatchObject({ what, opened: error, list: { message: nowhere } });
    }
  });

  test('is refused where the repository begins above the allowed folder', async () => {
    const inner = join(folder, 'outer/part');
    mkdirSync(inner, { recursive: true });
    execFileSync('git', ['init', '--quiet', join(folder, 'outer')]);
    await comeIn([inner]);

    expect(await refusal('session/new', { cwd: inner, mcpServers: [] })).toMatchObject({ message: nowhere });
  });

  test('is refused where the repository of a linked worktree is elsewhere', async () => {
    const outer = join(folder, 'outer');
    mkdirSync(outer);
    const inner = join(folder, 'linked');
    const author = ['-c', 'user.name=t', '-c', 'user.email=t@example.org'];
    const git = (...args: string[]) => execFileSync('git', ['-C', outer, ...args], { stdio: 'ignore' });
    git('init');
    git(...author, 'commit', '--allow-empty', '-m', 'first');
    git('worktree', 'add', inner);
    await comeIn([inner]);

    expect(await refusal('session/new', { cwd: inner, mcpServers: [] })).toMatchObject({ message: nowhere });
  });

  test('is refused once an allowed folder is a link to elsewhere', async () => {
    await comeIn();
    renameSync(shop, `${shop}-old`);
    symlinkSync(secret, shop);

    expect(await refusal('session/new', { cwd: shop, mcpServers: [] })).toMatchObject({ message: nowhere });
  });

  test('has no further directories elsewhere', async () => {
    symlinkSync(secret, join(shop, 'out'));
    await comeIn();

    for (const each of [secret, `${shop}/../../secret`, '/etc', join(folder, 'home')])
      expect(
        await refusal('session/new', { cwd: shop, mcpServers: [], additionalDirectories: [each] }),
      ).toMatchObject({ message: expect.stringContaining('additionalDirectories') as string });
    const out = { cwd: shop, mcpServers: [], additionalDirectories: [join(shop, 'out')] };
    expect(await refusal('session/new', out)).toMatchObject({ code: -32602 });
  });

  test('is any where nothing is limited, and none for a limit that cannot be read', async () => {
    const owners = await worlds.begin();
    expect((await owners.session(secret, 'two')).agent.cwd).toBe(secret);

    await comeIn([]);
    expect(await refusal('session/new', { cwd: shop, mcpServers: [] })).toMatchObject({ message: nowhere });
    // What else cannot be read: test/system/host.test.ts.
    expect(await failingStart({ env: { CAI_SERVE_WORKSPACES: '["relative"]' } })).toContain(
      'a JSON list of absolute paths',
    );
  });
});

describe("somebody else's session", () => {
  const at = (cwd: string) => ({ sessionId: foreign.id, cwd, mcpServers: [] });

  const calls: readonly [string, () => Json][] = [
    ['session/load', () => at(secret)],
    ['session/resume', () => at(secret)],
    ['session/load', () => ({ ...at(shop), sessionId: foreign.agentId })],
    ['session/resume', () => ({ ...at(shop), sessionId: foreign.agentId })],
    ['session/fork', () => at(shop)],
    ['session/fork', () => ({ sessionId: foreign.id })],
    ['session/fork', () => ({ sessionId: foreign.agentId, cwd: shop })],
    ['session/prompt', () => ({ sessionId: foreign.id, prompt: [] })],
    ['session/set_mode', () => ({ sessionId: foreign.id, modeId: 'm' })],
    ['session/close', () => ({ sessionId: foreign.id })],
    ['session/archive', () => ({ sessionId: foreign.id })],
    ['session/set_title', () => ({ sessionId: foreign.id, title: 't' })],
  ];

  test('is reached by no call', async () => {
    await comeIn();
    const { agent } = await theirs.session(shop, 'own');

    for (const [method, params] of calls) {
      const [error, sent] = [await refusal(method, params()), await sentTo(theirs, agent)];
      expect({ method, error, sent }).toEqual({ method, error: expect.any(Object) as object, sent: [] });
    }
  });

  test.each(['session/load', 'session/resume'])(
    '%s does not reach it by an agent that has it',
    async (method) => {
      await comeIn();
      const { agent } = await theirs.session(shop, 'own');
      const load = theirs.ask(method, at(shop));
      const list = await agent.inbox.next('session/list');
      const rows = [secret, shop].map((cwd) => ({ sessionId: foreign.agentId, cwd }));
      agent.send({ id: list.id, result: { sessions: rows } });

      expect(await theirs.editor.response(load)).toHaveProperty('error');
      expect(await sentTo(theirs, agent)).toEqual([]);
    },
  );

  test('session/delete leaves it', async () => {
    await comeIn();

    await theirs.request('session/delete', { sessionId: foreign.id });
    await theirs.request('session/delete', { sessionId: foreign.agentId });

    expect(theirs.agents).toHaveLength(0);
    const owners = await worlds.begin();
    void (await owners.agent()).answer('session/list', { result: { sessions: [] } });
    const { result } = await owners.request('session/list', {});
    expect(result).toMatchObject({ sessions: [{ sessionId: foreign.id }] });
  });

  test('is not listed, while one of their folder is', async () => {
    const shared = await used(await worlds.begin(), shop, 'session-in-the-shop-of-both');
    await comeIn();

    expect(await listed()).toEqual([shared.id]);
    expect(await listed({ cwd: shop })).toEqual([shared.id]);
  });

  test('is not listed either when an agent tells of it', async () => {
    await comeIn();
    const { id, agent } = await theirs.session(shop, 'own');
    const list = theirs.ask('session/list', {});
    const call = await agent.inbox.next('session/list');
    const rows = [
      { sessionId: 'own', cwd: shop },
      { sessionId: foreign.agentId, cwd: secret },
      { sessionId: 'other', cwd: join(folder, 'elsewhere') },
      { sessionId: 'third', cwd: '/' },
    ];
    agent.send({ id: call.id, result: { sessions: rows } });

    expect(await theirs.editor.response(list)).toMatchObject({ result: { sessions: [{ sessionId: id }] } });
    const load = { sessionId: 'other', cwd: shop, mcpServers: [] };
    expect(await refusal('session/load', load)).toBeDefined();
  });

  test('is theirs once it is of their folder', async () => {
    const shared = await used(await worlds.begin(), shop, 'session-in-the-shop-of-both');
    await leave(worlds.first);
    await comeIn();

    const load = theirs.ask('session/load', { sessionId: shared.id, cwd: shop, mcpServers: [] });
    const agent = await theirs.agent(shop);
    const call = await agent.inbox.next('session/load');
    expect(call.params).toMatchObject({ sessionId: shared.agentId });
    agent.send({ id: call.id, result: {} });
    expect(await theirs.editor.response(load)).toHaveProperty('result');
  });
});

describe('what else reaches further', () => {
  test('signing out is refused', async () => {
    await comeIn();

    expect(await refusal('logout', {})).toMatchObject({
      code: -32601,
      message: expect.stringContaining('everybody') as string,
    });
  });

  test('sessions of all folders at one place end the connection', async () => {
    const env = { CAI_SERVE_WORKSPACES: JSON.stringify([allowed]) };

    expect(await failingStart({ env, config: '[agent]\ndata = "shared"' })).toContain('the sessions of all');
  });

  test('agents do not get the variable', async () => {
    await comeIn();
    const { agent } = await theirs.session(shop, 'own');

    const names = agent.hello!.env.join();
    expect(names).toContain('CAI_PUPPET_SOCKET');
    expect(names).not.toContain('CAI_SERVE');
  });
});

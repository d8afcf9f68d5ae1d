/** Folders of sessions that somebody swaps: what a session may touch is decided when it is opened, and never again. */
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '../support/cli';
import { endAgent, exchange, sentBy } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { askEditor, use, type OpenSession } from '../support/turn';
import { World } from '../support/world';

let world: World;
let root: string;
beforeEach(async () => {
  world = await World.initialized({
    // With a place of its own inside, as in a container; agents see no other folder.
    env: (made) => ({ CAI_ACP_WORKSPACE_MOUNT: join(made.folder, 'project') }),
    config: '[restart]\nfirst_delay = "0s"\n',
  });
  root = world.workspace('project');
  world.file('project/app/file', 'its own');
  world.file('project/lib/file', 'its own');
  world.file('outside/file', 'of the user');
});
afterEach(() => world.end());

/** Opens a session below the workspace's root. */
async function open(cwd: string, additionalDirectories: readonly string[] = []): Promise<OpenSession> {
  const params = { cwd, additionalDirectories, mcpServers: [] };
  const asked = world.ask('session/new', params);
  const agent = await world.agent(root);
  await agent.answer('session/new', { result: { sessionId: 's' } });
  const { result } = await world.editor.response(asked);
  return { id: (result as { sessionId: string }).sessionId, agentId: 's', agent };
}

async function refusalOf(cwd: string, additionalDirectories: readonly string[] = []): Promise<unknown> {
  const { error } = await world.request('session/new', { cwd, additionalDirectories, mcpServers: [] });
  return error;
}

let lastId = 0;
const methods = ['fs/read_text_file', 'fs/write_text_file'];

async function expectServed({ agent }: OpenSession, path: string, spelled = path): Promise<void> {
  for (const method of methods) {
    const request = { id: ++lastId, method, params: { sessionId: 's', path, content: '' } };
    const asked = await askEditor(world, agent, request);
    world.send({ id: asked.id, result: null });
    expect(asked.params).toMatchObject({ path: spelled });
    await agent.inbox.response(lastId);
  }
}

async function expectRefused({ agent }: OpenSession, path: string, message: string): Promise<void> {
  for (const method of methods) {
    const params: Json = { sessionId: 's', path, content: '' };
    agent.send({ id: ++lastId, method, params });
    expect(await agent.inbox.response(lastId)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining(message) as string },
    });
    expect(await sentBy(world, agent)).toEqual([]);
  }
}

/** What an agent can do in its workspace: a folder away, a link to somewhere in its place. */
function swap(folder: string, target: string): void {
  renameSync(folder, `${folder}-was`);
  symlinkSync(target, folder);
}

const another = 'is no longer the folder';

describe('a folder that is swapped during its session', () => {
  test.each([
    ['for a link to somewhere outside', () => join(world.folder, 'outside')],
    ['for a link to the whole machine', () => '/'],
    ['for a link to itself, which could be changed again', () => 'app-was'],
  ])('is served no more, if it is the cwd, %s', async (_, target) => {
    const session = await open(join(root, 'app'));
    await expectServed(session, join(root, 'app/file'));
    swap(join(root, 'app'), target());

    await expectRefused(session, join(root, 'app/file'), another);
    await expectRefused(session, join(root, 'app/new'), another);
    expect(world.stderr).toContain('a folder of a session was replaced');
  });

  test('is served no more if it is an additional directory; the others are', async () => {
    const session = await open(join(root, 'app'), [join(root, 'lib')]);
    await expectServed(session, join(root, 'lib/file'));
    swap(join(root, 'lib'), join(world.folder, 'outside'));

    await expectRefused(session, join(root, 'lib/file'), another);
    await expectServed(session, join(root, 'app/file'));
  });

  test('is served no more to a session that goes on from it', async () => {
    const session = await open(join(root, 'app'));
    swap(join(root, 'app'), join(world.folder, 'outside'));
    const params = { sessionId: session.id };

    const { response } = await exchange(world, session.agent, 'session/fork', params, {
      result: { sessionId: 'fork' },
    });

    expect(response).toHaveProperty('result');
    await expectRefused(session, join(root, 'app/file'), another);
  });

  test('is not opened again when its agent has ended', async () => {
    const session = await open(join(root, 'app'));
    await use(world, session);
    await endAgent(world, session.agent);
    renameSync(join(root, 'app'), join(root, 'app-was'));
    mkdirSync(join(root, 'app'));

    const { error } = await world.request('session/prompt', { sessionId: session.id, prompt: [] });

    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(another) as string });
  });
});

describe('a folder that was swapped before its session', () => {
  test.each([
    ['outside', () => join(world.folder, 'outside')],
    ['inside', () => 'app'],
  ])('is no additional directory, where the link leads %s', async (_, target) => {
    swap(join(root, 'lib'), target());

    expect(await refusalOf(join(root, 'app'), [join(root, 'lib')])).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/lib" leads through the link .* where an agent can make links: .* name "/) as string, // prettier-ignore
    });
  });

  test('is one where the link is in no folder of an agent', async () => {
    symlinkSync(root, join(world.folder, 'link'));
    const spelled = join(world.folder, 'link/app');

    const session = await open(spelled);

    await expectServed(session, join(root, 'app/file'), join(spelled, 'file'));
    rmSync(join(world.folder, 'link'));
    symlinkSync('outside', join(world.folder, 'link'));
    await expectRefused(session, join(root, 'app/file'), another);
  });

  test('that is not there as an additional directory is none, also when it comes', async () => {
    const session = await open(join(root, 'app'), [join(root, 'later')]);
    world.file('project/later/file', '');

    await expectRefused(session, join(root, 'later/file'), "outside the session's folders");
  });
});

describe('the configuration of a repository', () => {
  test('gives agents its mounts once it is trusted', async () => {
    const outside = join(world.folder, 'outside');
    world.file('project/.containai/config.toml', `[[mounts]]\npath = "${outside}"\n`);
    expect(await refusalOf(root, [outside])).toHaveProperty('code', -32602);
    const env = { HOME: join(world.folder, 'home'), PATH: process.env.PATH };
    expect((await runCli(['trust', '--yes', root], { env })).status).toBe(0);

    const session = await open(root, [outside]);

    await expectServed(session, join(outside, 'file'));
  });
});

describe('a workspace that was replaced by another folder', () => {
  test('gets another agent than the one that has the old folder', async () => {
    const { agent } = await open(root);
    renameSync(root, `${root}-was`);
    world.workspace('project');

    const asked = world.ask('session/new', { cwd: root, mcpServers: [] });
    const next = await world.agent(root);
    await next.answer('session/new', { result: { sessionId: 'new' } });

    expect(next).not.toBe(agent);
    expect(await world.editor.response(asked)).toHaveProperty('result.sessionId');
  });
});

/** A workspace that became wider since a folder was first used: by a stranger, or by the agent. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '../support/cli';
import { endAgent, exchange, leave } from '../support/dialogue';
import { success } from '../support/messages';
import type { OpenSession } from '../support/turn';
import { World } from '../support/world';

let world: World;
afterEach(() => world.end());

const refusal = (cwd: string, recorded: string, root: string): unknown => ({
  code: -32602,
  message: expect.stringMatching(
    `^"${cwd}" belonged to the workspace "${recorded}" and now leads to "${root}".*: cai trust "${cwd}"$`,
  ) as string,
});

describe('a session in a folder whose workspace has grown', () => {
  const open = (cwd: string) => world.request('session/new', { cwd, mcpServers: [] });

  test('is refused until the user trusts the wider one', async () => {
    world = await World.initialized();
    const outer = join(world.folder, 'outer');
    const cwd = join(outer, 'sub');
    mkdirSync(cwd, { recursive: true });
    await world.session(cwd, 'one');
    world.repository('outer');

    expect(await open(cwd)).toMatchObject({ error: refusal(cwd, cwd, outer) });

    const trust = await runCli(['trust', '--yes', cwd], { env: { HOME: join(world.folder, 'home') } });
    expect(trust).toMatchObject({ status: 0, stderr: '' });
    expect((await world.session(cwd, 'two')).agent.cwd).toBe(outer);
    expect(await leave(world)).toBe(0);
  });
});

describe('where a repository within another is one no longer', () => {
  let outer: string;
  let repository: string;
  let session: OpenSession;

  /** A session ran in the inner one; its agent runs on if `isRunning`. */
  async function begin(isRunning: boolean, config = ''): Promise<void> {
    world = await World.initialized({ config });
    outer = world.repository('outer');
    repository = world.repository('outer/repo');
    session = await world.session(repository, 's1');
    if (isRunning) {
      const params = { sessionId: session.id };
      await exchange(world, session.agent, 'session/close', params);
    } else {
      await endAgent(world, session.agent);
    }
    rmSync(join(repository, '.git'), { recursive: true });
  }

  /** No agent has the outer one. */
  const expectNoneStarted = (): void => {
    expect(world.agents.map(({ cwd }) => cwd)).toEqual([world.workspace('own'), repository]);
  };

  test('session/archive of the session is refused', async () => {
    const method = 'session/archive';
    await begin(false);

    const { error } = await world.request(method, { sessionId: session.id, title: 'x' });

    const message = expect.stringContaining(
      `${method}: "${repository}", the workspace of the session,`,
    ) as string;
    expect(error).toEqual({ code: -32602, message });
    expectNoneStarted();
  });

  test('session/delete forgets the session, and reaches no agent', async () => {
    await begin(false);

    const deleted = await world.request('session/delete', { sessionId: session.id });
    const { error } = await world.request('session/archive', { sessionId: session.id });

    expect(deleted).toEqual(success(deleted.id, {}));
    expect(error).toMatchObject({ code: -32002 });
    expectNoneStarted();
  });

  test('session/delete reaches the session’s own agent while that runs', async () => {
    await begin(true);

    const params = { sessionId: session.id };
    const { request } = await exchange(world, session.agent, 'session/delete', params);

    expect(request.params).toEqual({ sessionId: 's1' });
    expectNoneStarted();
  });

  test('what names the folder is refused until the user trusts the wider one', async () => {
    await begin(false);

    const response = await world.request('_session/list/subscribe', { cwd: repository });

    expect(response).toMatchObject({ error: refusal(repository, repository, outer) });
    expectNoneStarted();
  });

  test('so is a list for which an agent would be started', async () => {
    await begin(false, '[sessions]\npersist = false');

    const response = await world.request('session/list', { cwd: repository });

    expect(response).toMatchObject({ error: refusal(repository, repository, outer) });
    expectNoneStarted();
  });

  test('a list from memory is not, and starts none', async () => {
    await begin(false);

    expect((await world.request('session/list', { cwd: repository })).result).toEqual({ sessions: [] });
    expectNoneStarted();
  });
});

test('a session that an agent lists in a folder of its choice has no agent started there', async () => {
  world = await World.initialized();
  const { agent } = await world.session(world.workspace('own'), 'one');
  const chosen = world.workspace('chosen');
  const result = { sessions: [{ sessionId: 'listed', cwd: chosen }] };
  const { response } = await exchange(world, agent, 'session/list', {}, { result });
  const [{ sessionId }] = (response.result as { sessions: [{ sessionId: string }] }).sessions;

  const archived = await world.request('session/archive', { sessionId });
  const deleted = await world.request('session/delete', { sessionId });

  expect(archived).toMatchObject({ error: { code: -32602 } });
  expect(deleted).toEqual(success(deleted.id, {}));
  expect(world.agents.map(({ cwd }) => cwd)).toEqual([world.workspace('own')]);
});

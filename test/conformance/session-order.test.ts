/** Statement P13: calls of one session, and openings in one workspace, reach the agent in the editor's order. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../support/inbox';
import { lineOf } from '../support/messages';
import type { OpenSession } from '../support/turn';
import { World } from '../support/world';

describe('the agent gets', () => {
  let world: World;
  let session: OpenSession;
  let cwd: string;
  beforeAll(async () => {
    world = await World.initialized();
    cwd = world.workspace('own');
    for (const name of ['a', 'b', 'c']) mkdirSync(join(cwd, name));
  });
  let count = 0;
  beforeEach(async () => {
    session = await world.session(cwd, `s${++count}`, count === 1 ? undefined : session.agent);
  });
  afterAll(() => world.end());

  /** Sends requests in one chunk, so that all are there before anything else can happen; returns what the agent gets. */
  async function received(requests: readonly Json[]): Promise<Json[]> {
    const lines = requests.map((request, index) => lineOf({ id: `${session.id} ${index}`, ...request }));
    world.send(lines.join(''));
    const got: Json[] = [];
    while (got.length < requests.length) got.push(await session.agent.inbox.next(() => true));
    for (const { id } of got) session.agent.send({ id, result: {} });
    for (const [index] of requests.entries())
      await world.editor.next(({ id }) => id === `${session.id} ${index}`);
    return got;
  }

  test.each([
    ['session/load session/set_mode session/load session/prompt'],
    ['session/load session/close session/load session/prompt'],
    ['session/resume session/prompt session/load session/set_mode session/close'],
    ['session/fork session/prompt session/fork session/close'],
    ['session/set_mode session/fork session/load session/prompt session/delete'],
  ])('P13 %s as the editor has sent them', async (methods) => {
    const params = { sessionId: session.id, cwd, mcpServers: [], modeId: 'm', prompt: [] };
    const got = await received(methods.split(' ').map((method) => ({ method, params })));

    expect(got.map(({ method }) => method).join(' ')).toBe(methods);
  });

  test('P13 the sessions of one workspace as the editor has made them, in whichever folders', async () => {
    const folders = ['a', 'b', '', 'a', 'c', 'b', ''].map((name) => join(cwd, name));
    const got = await received(
      folders.map((folder) => ({ method: 'session/new', params: { cwd: folder, mcpServers: [] } })),
    );

    expect(got.map(({ params }) => (params as Json).cwd)).toEqual(folders);
  });
});

import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { exchange, sentBy } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { askEditor, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const mount = '/home/agent/workspace';
const methods = ['fs/read_text_file', 'fs/write_text_file'];

let lastId = 0;

/** Expects that an agent's request is refused with this code, and that the editor never hears of it. */
async function expectRefused(world: World, session: OpenSession, request: Json, code: number): Promise<void> {
  const { agent, agentId } = session;
  const id = ++lastId;
  agent.send({ id, ...request, params: { sessionId: agentId, ...(request.params as Json) } });

  expect(await agent.inbox.response(id)).toMatchObject({ error: { code } });
  expect(await sentBy(world, agent)).toEqual([]);
}

describe('fs/* of an editor', () => {
  let world: World;
  afterEach(() => world.end());

  test.each([
    ['nothing', {}],
    ['null', { fs: null }],
    ['neither', { fs: { readTextFile: false, writeTextFile: false } }],
  ])('C3 that offers %s of them is refused to agents', async (_, capabilities) => {
    world = await World.initialized({}, capabilities);
    const session = await world.session(world.workspace('own'), 's');

    for (const method of methods) {
      const params = { path: world.file('own/a', ''), content: '' };
      await expectRefused(world, session, { method, params }, -32601);
    }
  });

  test('C3 that offers reading alone is forwarded for reading alone', async () => {
    world = await World.initialized({}, { fs: { readTextFile: true } });
    const session = await world.session(world.workspace('own'), 's');
    const params = { sessionId: 's', path: world.file('own/a', '') };

    const asked = await askEditor(world, session.agent, { id: 1, method: 'fs/read_text_file', params });

    expect(asked.params).toEqual({ ...params, sessionId: session.id });
    await expectRefused(
      world,
      session,
      { method: 'fs/write_text_file', params: { ...params, content: '' } },
      -32601,
    );
  });

  test('D1 a file that does not fit into a line of the editor is refused without it', async () => {
    world = await World.initialized({ config: '[acp]\nmax_line_from_editor = "1MiB"' });
    const session = await world.session(world.workspace('own'), 's');
    const path = world.file('own/large', 'x'.repeat(1024 * 1024 + 1));

    await expectRefused(world, session, { method: 'fs/read_text_file', params: { path } }, -32602);
  });

  test('C5 content, line and limit pass byte for byte, both ways', async () => {
    world = await World.initialized();
    const { agent, id } = await world.session(world.workspace('own'), 's');
    const path = world.file('own/a', '');
    const text = String.raw`"\ufeff#!/bin/sh\r\nline\n\n\t\u001b[0m\u2028 \ud83d\ude00 ä \ud800 \/ no newline"`;
    const write = (session: string): string =>
      `{"content":${text},"path":"${path}","sessionId":"${session}","_meta":{"x":1.0}}`;
    const read = (session: string): string =>
      `{"line":10,"limit":4294967295,"path":"${path}","sessionId":"${session}"}`;

    for (const [method, params, result] of [
      ['fs/write_text_file', write, 'null'],
      ['fs/read_text_file', read, `{"content":${text}}`],
    ] as const) {
      agent.send(`{"jsonrpc":"2.0","id":5,"method":"${method}","params":${params('s')}}\n`);
      const asked = await world.editor.next(method);
      world.send(`{"jsonrpc":"2.0","id":${String(asked.id)},"result":${result}}\n`);
      await agent.inbox.response(5);

      expect(String(world.editor.lines.at(-1))).toBe(
        `{"jsonrpc":"2.0","id":${String(asked.id)},"method":"${method}","params":${params(id)}}`,
      );
      expect(String(agent.inbox.lines.at(-1))).toBe(`{"jsonrpc":"2.0","id":5,"result":${result}}`);
    }
  });
});

describe.each([
  ['elsewhere for the agent', mount],
  ['at its own path', undefined],
])('the files of a session, with its workspace %s', (_, agentRoot) => {
  let world: World;
  let root: string;
  let session: OpenSession;
  beforeAll(async () => {
    const env = agentRoot === undefined ? {} : { CAI_ACP_WORKSPACE_MOUNT: agentRoot };
    world = await World.initialized({ env });
    root = world.workspace('project');
    for (const name of ['src', 'lib', 'sub/dir']) mkdirSync(join(root, name), { recursive: true });
    world.file('project/outside-cwd', '');
    world.file('outside/secret', '');
    world.file('project2/secret', '');
    symlinkSync('../../outside', join(root, 'src/folder-out'));
    symlinkSync('../../outside/secret', join(root, 'src/file-out'));
    symlinkSync('../lib', join(root, 'src/folder-in'));
    session = await openSession();
  });
  afterAll(() => world.end());

  /** A session whose cwd is `src`, with the further root `lib`. */
  async function openSession(): Promise<OpenSession> {
    const params = { cwd: `${root}/src`, additionalDirectories: [`${root}/lib`], mcpServers: [] };
    const asked = world.ask('session/new', params);
    const agent = await world.agent(root);
    await agent.answer('session/new', { result: { sessionId: 's' } });
    const { result } = await world.editor.response(asked);
    return { id: (result as { sessionId: string }).sessionId, agentId: 's', agent };
  }

  test.each([
    ['a file of the cwd', '/src/a.ts', '/src/a.ts'],
    ['a file that is not there yet', '/src/b.ts', '/src/b.ts'],
    ['a file in a folder that is not there yet', '/src/new/deep/b.ts', '/src/new/deep/b.ts'],
    ['a file of a further root', '/lib/c.ts', '/lib/c.ts'],
    ['a path with dot segments that stays inside', '/src/x/../../lib/./c.ts', '/lib/c.ts'],
    ['a path with .. behind a link, taken as it is written', '/src/folder-out/../a.ts', '/src/a.ts'],
  ])('C4 %s is read and written', async (_name, below, expected) => {
    for (const method of methods) {
      const params = { sessionId: 's', path: `${agentRoot ?? root}${below}` };

      const asked = await askEditor(world, session.agent, { id: 1, method, params });
      world.send({ id: asked.id, result: null });

      expect(asked.params).toEqual({ sessionId: session.id, path: root + expected });
      expect(await session.agent.inbox.response(1)).toEqual({ jsonrpc: '2.0', id: 1, result: null });
    }
  });

  test.each([
    ['a file outside', (r: string) => `${r}/../outside/secret`],
    ['a file of the workspace outside the cwd', (r: string) => `${r}/outside-cwd`],
    ['the root above the cwd', (r: string) => r],
    ['a sibling whose name begins alike', (r: string) => `${r}2/secret`],
    ['.. out of the cwd', (r: string) => `${r}/src/../outside-cwd`],
    ['a link to a file outside', (r: string) => `${r}/src/file-out`],
    ['a link to a folder that lies inside', (r: string) => `${r}/src/folder-in/c.ts`],
    ['a relative path', () => 'a.ts'],
    ['a system file', () => '/etc/passwd'],
    ['a path through /proc', (r: string) => `/proc/self/root${r}/src/a.ts`],
    ['a path with NUL', (r: string) => `${r}/src/a.ts\0/../../outside-cwd`],
    ['a path that is no string', () => 7],
    ['no path', () => undefined],
  ])('C4 %s is refused without the editor', async (_name, path) => {
    for (const method of methods) {
      const params = { path: path(agentRoot ?? root), content: '' };
      await expectRefused(world, session, { method, params }, -32602);
    }
  });

  test('C4 the roots are those of the session that asks', async () => {
    const cwd = join(root, 'sub');
    const { agent } = session;
    const opened = await exchange(
      world,
      agent,
      'session/new',
      { cwd, mcpServers: [] },
      { result: { sessionId: 'sub' } },
    );
    const { sessionId: id } = opened.response.result as { sessionId: string };
    const inSub = { path: `${agentRoot ?? root}/sub/dir/a` };
    const request = { id: 2, method: 'fs/read_text_file', params: { sessionId: 'sub', ...inSub } };

    expect((await askEditor(world, agent, request)).params).toEqual({
      sessionId: id,
      path: `${root}/sub/dir/a`,
    });
    await expectRefused(world, session, { method: 'fs/read_text_file', params: inSub }, -32602);
    await expectRefused(
      world,
      { id, agentId: 'sub', agent },
      { method: 'fs/read_text_file', params: { path: `${agentRoot ?? root}/src/a.ts` } },
      -32602,
    );
  });

  test('C4 a session that is not open reads nothing', async () => {
    const params = { path: `${agentRoot ?? root}/src/a.ts` };

    await expectRefused(
      world,
      { ...session, agentId: 'unknown' },
      { method: 'fs/read_text_file', params },
      -32002,
    );
  });
});

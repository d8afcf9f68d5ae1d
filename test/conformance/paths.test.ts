/** Statements U: which paths and URIs are translated, and what only looks like one. */
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { exchange } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const mount = '/home/agent/workspace';
const env = { CAI_ACP_WORKSPACE_MOUNT: mount };

describe('paths and URIs', () => {
  let world: World;
  let root: string;
  let session: OpenSession;
  beforeAll(async () => {
    world = await World.initialized({ env });
    root = world.workspace('my pröject');
    session = await world.session(root, 's');
  });
  afterAll(() => world.end());

  /** What the editor gets for an update of the agent. */
  async function toEditor(update: Json): Promise<unknown> {
    session.agent.update('s', update);
    const { params } = await world.editor.next('session/update');
    return (params as { update: unknown }).update;
  }

  /** What the agent gets for the blocks of a prompt. */
  async function toAgent(prompt: readonly Json[]): Promise<unknown> {
    const turn = await startTurn(world, session, prompt);
    await turn.end();
    return (turn.received.params as { prompt: unknown }).prompt;
  }

  const locations = (...paths: string[]): Json => ({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'c',
    locations: paths.map((path) => ({ path })),
  });

  test('U1 the cwd, and whatever lies below it, is known to each side by its own absolute path', async () => {
    const params = { cwd: root, mcpServers: [] };
    const opened = await exchange(world, session.agent, 'session/new', params, {
      result: { sessionId: 'other' },
    });

    expect(opened.request.params).toEqual({ ...params, cwd: mount });
    expect(await toEditor(locations(mount, `${mount}/`, `${mount}/a/./b/../c`))).toEqual(
      locations(root, `${root}/`, `${root}/a/c`),
    );
  });

  test('U2 paths are compared by whole segments, and other paths stay', async () => {
    const others = [
      `${mount}2/a`,
      `${mount}.bak`,
      '/home/agent',
      '/etc/hosts',
      'src/a.ts',
      '',
      '/',
      `x${mount}`,
    ];

    expect(await toEditor(locations(...others))).toEqual(locations(...others));
    expect(await toEditor(locations(`${mount}/../workspace2/a`))).toEqual(
      locations(`${mount}/../workspace2/a`),
    );
  });

  test('U2 the text, data, output and input of an agent are not searched for paths', async () => {
    const path = `${mount}/a.ts`;
    const update: Json = {
      sessionUpdate: 'tool_call_update',
      toolCallId: path,
      title: `Edit ${path}`,
      rawInput: { path, file_path: path },
      rawOutput: path,
      content: [
        { type: 'content', content: { type: 'text', text: path } },
        { type: 'content', content: { type: 'image', data: path, mimeType: 'image/png' } },
        { type: 'content', content: { type: 'resource', resource: { uri: 'x:y', blob: path, text: path } } },
        { type: 'diff', path: '/etc/hosts', oldText: path, newText: path },
      ],
      _meta: { path, terminal_output: { terminal_id: 't', data: path } },
    };

    expect(await toEditor(update)).toEqual(update);
  });

  test('U2 the text and data of the editor are not searched for paths', async () => {
    const path = `${root}/a.ts`;
    const blocks: Json[] = [
      { type: 'text', text: path },
      { type: 'audio', data: path, mimeType: 'audio/wav', uri: `file://${encodeURI(path)}` },
      { type: 'resource_link', name: path, title: path, description: path, uri: path },
      { type: 'resource', resource: { uri: 'x:y', text: path, blob: path }, _meta: { path } },
    ];

    expect(await toAgent(blocks)).toEqual(blocks);
  });

  const uris = (...all: string[]): Json[] => all.map((uri) => ({ type: 'resource_link', name: 'n', uri }));

  test('U3 file URIs inside the root are mapped, and their percent-encoding is kept', async () => {
    const host = `file://${encodeURI(root)}`;
    const agent = `file://${mount}`;
    const below = ['', '/', '/a%20b%23c.ts', '/%7Euser/%c3%a4.ts?q=1#L10', '/ä b.ts', '/a%25.ts'];

    expect(await toAgent(uris(...below.map((rest) => host + rest)))).toEqual(
      uris(...below.map((rest) => agent + rest)),
    );
    for (const rest of below) {
      const update = (uri: string): Json => ({ sessionUpdate: 'agent_message_chunk', content: uris(uri)[0] });
      expect(await toEditor(update(agent + rest))).toEqual(update(host + rest));
    }
  });

  test('U3 other URIs are unchanged', async () => {
    const path = encodeURI(root);
    const others = [
      `zed:///agent/thread${path}`,
      `zed://${path}/a`,
      `https://example.org${path}/a`,
      'data:text/plain;base64,AAAA',
      `file://elsewhere${path}/a`,
      `file://${path}2/a`,
      `file://${path}%2Fa`,
      `file://${path}/..%2F..%2Fetc/passwd`,
      'file:///etc/hosts',
      `FTP://${path}/a`,
      path,
      'file:',
      '',
    ];

    expect(await toAgent(uris(...others))).toEqual(uris(...others));
  });

  test('U3 another spelling of a file URI inside the root is mapped and keeps its form', async () => {
    const path = encodeURI(root);

    expect(await toAgent(uris(`file://localhost${path}/a`, `file:${path}/a`, `FILE://${path}/a`))).toEqual(
      uris(`file://localhost${mount}/a`, `file:${mount}/a`, `FILE://${mount}/a`),
    );
  });

  test('U1 a folder that the editor knows through a link keeps that name', async () => {
    const link = join(world.folder, 'link');
    symlinkSync(root, link);
    const linked = await world.session(link, 'linked', session.agent);
    const paths = ['/a.ts', ''].map((below) => mount + below);

    session.agent.update('linked', locations(...paths));
    const { params } = await world.editor.next('session/update');
    const turn = await startTurn(
      world,
      linked,
      uris(`file://${link}/a.ts`, `file://${encodeURI(root)}/a.ts`),
    );
    await turn.end();

    expect(params).toEqual({ sessionId: linked.id, update: locations(`${link}/a.ts`, link) });
    expect(turn.received.params).toMatchObject({
      prompt: uris(`file://${mount}/a.ts`, `file://${mount}/a.ts`),
    });
  });
});

describe('paths of a workspace at its own path', () => {
  let world: World;
  beforeEach(async () => (world = await World.initialized()));
  afterEach(() => world.end());

  test('U1 the real path of a folder that the editor knows through a link gets that name', async () => {
    const root = world.workspace('real');
    const link = join(world.folder, 'link');
    symlinkSync(root, link);
    const session = await world.session(link, 's');
    const update = (path: string): Json => ({
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c',
      locations: [{ path }],
    });

    session.agent.update('s', update(`${root}/a.ts`));
    const { params } = await world.editor.next('session/update');

    expect(params).toEqual({ sessionId: session.id, update: update(`${link}/a.ts`) });
  });
});

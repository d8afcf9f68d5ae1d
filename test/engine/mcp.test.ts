/** MCP servers that the editor names, and that are on this machine. */
import { chownSync, copyFileSync, readdirSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Editor } from './editor';
import { childrenOf } from './inside';
import { modelConfig, modelEnv, startModel } from './model';
import { Place, buildTimeoutMs } from './place';
import { patienceMs } from '../support/patience';
import { commandOf } from '../support/processes';
import { Cai, folder, newWorkspace, ownFile, user } from './support';
import type { Json } from '../support/inbox';

const fixture = resolve(__dirname, '../../fixtures/agents/uses-mcp.mjs');
const agent = '[agents.claude]\ncommand = ["node", "uses-mcp.mjs"]\n';
/** An MCP server whose only tool tells where it runs. */
const program = join(folder, 'programs/host-server.mjs');
const secret = 'hunter2-of-the-editor';

let servers: Server[] = [];
let editor: Editor;

beforeAll(async () => {
  ownFile(
    program,
    `import { createInterface } from 'node:readline';
import { hostname } from 'node:os';
process.on('SIGTERM', () => undefined);
const tell = () => JSON.stringify({ host: hostname(), cwd: process.cwd(), uid: process.getuid(), args: process.argv.slice(2), secret: process.env.SECRET });
const results = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'host', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'where', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: tell() }] }),
};
createInterface(process.stdin).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: results[method]() }) + '\\n');
});
// Nothing but a signal that cannot be ignored ends it.
setInterval(() => undefined, 1_000);
`,
  );
  await new Place().opened();
}, buildTimeoutMs);

afterEach(async () => {
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
  for (const server of servers) server.close();
  servers = [];
});

/** A server of this machine on a port of its own; its answer is what it `says`. */
async function serverOf(says: string, host = '127.0.0.1'): Promise<number> {
  const server = createServer((_, response) => void response.end(says)).listen(0, host);
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const httpServer = (port: number, host = 'localhost') => ({
  type: 'http',
  name: `http-${port}`,
  url: `http://${host}:${port}/mcp`,
  headers: [],
});

const hostServer = (command = program) => ({
  name: 'host-tool',
  command: process.execPath,
  args: [command, 'an argument'],
  env: [{ name: 'SECRET', value: secret }],
});

/** By configuration: the tests share a container for each. */
const places = new Map<string, Place>();

/** A workspace with the agent in it, and an editor of the test's own. */
async function given(config = '', network = ''): Promise<Place> {
  const whole = `${network}${agent}${config}`;
  const place = places.get(whole) ?? new Place(new Cai(whole), newWorkspace());
  places.set(whole, place);
  const copy = join(place.workspace, 'uses-mcp.mjs');
  copyFileSync(fixture, copy);
  chownSync(copy, user.uid, user.gid);
  editor = await Editor.open(place.cai, 'claude', { cwd: place.workspace });
  return place;
}

async function open({ workspace }: Place, mcpServers: readonly Json[]): Promise<string> {
  const { result, error } = await editor.request('session/new', { cwd: workspace, mcpServers });
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return (result as { sessionId: string }).sessionId;
}

/** What the agent says when it has done that. */
async function does(session: string, order: Json): Promise<string> {
  const before = editor.said(session).length;
  await editor.prompt(session, JSON.stringify(order));
  return editor.said(session).slice(before);
}

const fetches = (session: string, port: number) =>
  does(session, { do: 'fetch', url: `http://localhost:${port}/` });

/** Resolves when `isSo`, which nobody tells us, is true. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not so in ${patienceMs} ms`);
    await pause(50);
  }
}

/** Processes of this machine, outside of containers, with these words in their command line. */
function running(words: string): string[] {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(words));
}

const bridges = (): string[] => {
  const children = childrenOf(editor.proxy.pid).map(String);
  return running(' bridge ').filter((pid) => children.includes(pid));
};

describe('a server on the loopback address of this machine', () => {
  test('answers the agent at the same port for as long as a session names it, and no other port does', async () => {
    const place = await given();
    const [named, other] = [await serverOf('named'), await serverOf('other')];

    const first = await open(place, [httpServer(named)]);
    const second = await open(place, [httpServer(named, '127.0.0.1')]);

    expect(await does(first, { do: 'servers' })).toBe(JSON.stringify([httpServer(named)]));
    expect(await fetches(first, named)).toBe('named');
    expect(await fetches(first, other)).toBe('failed: ECONNREFUSED');
    expect(bridges()).toHaveLength(1);

    await editor.request('session/close', { sessionId: first });
    expect(await fetches(second, named)).toBe('named');

    await editor.request('session/close', { sessionId: second });
    await until(() => bridges().length === 0);
    const third = await open(place, []);
    await until(async () => (await fetches(third, named)) === 'failed: ECONNREFUSED');
  });

  test('is found at an address that containers do not have', async () => {
    const place = await given();
    const port = await serverOf('seven', '127.0.0.7');

    const session = await open(place, [httpServer(port, '127.0.0.7')]);

    expect(await does(session, { do: 'servers' })).toBe(JSON.stringify([httpServer(port, '127.0.0.1')]));
    expect(await fetches(session, port)).toBe('seven');
  });

  test('is reached without a bridge, and by more than MCP, at a port that the configuration names', async () => {
    const port = await serverOf('named');
    const place = await given('', `host_ports = [${port}]\n`);

    const session = await open(place, [httpServer(port)]);

    expect(await fetches(session, port)).toBe('named');
    expect(await does(session, { do: 'fetch', url: `http://host.docker.internal:${port}/` })).toBe('named');
    expect(bridges()).toEqual([]);
    servers.pop()!.close();
    // The first may still use the connection of before, whose end is on its way.
    for (let time = 0; time < 2; time++) expect(await fetches(session, port)).toContain('failed: ');
    await editor.proxy.complains(`nothing answers on port ${port} of this machine: start the server`);
  });

  test('is not reached where that is switched off', async () => {
    const place = await given('[mcp]\nforward_loopback = false\n');
    const port = await serverOf('named');

    const session = await open(place, [httpServer(port)]);

    expect(await fetches(session, port)).toBe('failed: ECONNREFUSED');
    expect(bridges()).toEqual([]);
  });

  test('is told of if its port is taken inside, and reached once it is free', async () => {
    const place = await given();
    const port = await serverOf('named');
    const listen = `require('http').createServer((_, r) => r.end('inside')).listen(${port}, () => console.log('on'))`;
    const taker = place.start(['node', '-e', listen]);
    await taker.says('on');

    const session = await open(place, [httpServer(port)]);

    await editor.proxy.complains(`port ${port} is taken in the container`);
    expect(await fetches(session, port)).toBe('inside');
    taker.child.kill('SIGTERM');
    await taker.ends();
    await until(async () => (await fetches(session, port)) === 'named');
  });

  test('is told of if its port is not for ordinary users', async () => {
    const place = await given();

    await open(place, [httpServer(80)]);

    await editor.proxy.complains('port 80 cannot be made reachable');
    expect(bridges()).toEqual([]);
  });

  test('is not reached any more when the editor is killed with its proxy', async () => {
    const place = await given();
    const port = await serverOf('named');
    await open(place, [httpServer(port)]);
    const pids = bridges();

    editor.proxy.child.kill('SIGKILL');

    expect(pids).toHaveLength(1);
    await until(() => running(' bridge ').every((pid) => !pids.includes(pid)));
    const { status } = await place.run(['node', '-e', `fetch('http://localhost:${port}').catch(() => process.exit(9))`]); // prettier-ignore
    expect(status).toBe(9);
  });
});

describe('a program', () => {
  test('that the container does not have is told of, with what to do', async () => {
    const place = await given();

    await open(place, [
      { name: 'there', command: 'node', args: [], env: [] },
      { name: 'tool', command: 'no-such-program', args: [], env: [{ name: 'T', value: secret }] },
    ]);

    await editor.proxy.complains('the container has no program \\"no-such-program\\"');
    expect(editor.proxy.stderr).toContain('host_servers = [\\"tool\\"]');
    expect(editor.proxy.stderr).not.toMatch(/MCP server \\"there|hunter2/);
  });

  test('runs on this machine if the user allows it, and the agent sees nothing of how', async () => {
    const place = await given('[mcp]\nhost_servers = ["host-tool"]\n');

    const session = await open(place, [hostServer()]);
    expect(JSON.parse(await does(session, { do: 'call', name: 'host-tool' })) as Json).toEqual({
      host: hostname(),
      cwd: place.cai.home,
      uid: user.uid,
      args: ['an argument'],
      secret,
    });
    const seen = await does(session, { do: 'servers' });
    expect(JSON.parse(seen)).toEqual([
      {
        name: 'host-tool',
        command: '/run/cai/join',
        args: [expect.stringMatching(/^\/tmp\/cai-mcp-[0-9a-f]{32}$/)],
        env: [],
      },
    ]);
    const environments = await place.prints(['sh', '-c', 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null | tr "\\0" "\\n" || true']); // prettier-ignore
    expect(environments).toContain('uses-mcp.mjs');
    expect(environments).not.toContain(secret);
    // Its client has closed its stdin, on which it does not end by itself.
    await until(() => running(program).length === 0);
  });

  test.each([
    [
      'the session is closed',
      (session: string) => void editor.request('session/close', { sessionId: session }),
    ],
    ['the editor has gone', () => void editor.proxy.child.stdin.end()],
    ['the proxy is killed', () => void editor.proxy.child.kill('SIGKILL')],
  ])('leaves no process on this machine when %s', async (_, end) => {
    const place = await given('[mcp]\nhost_servers = ["host-tool"]\n');
    const session = await open(place, [hostServer()]);
    await does(session, { do: 'keep', name: 'host-tool' });
    expect(running(program)).toHaveLength(1);

    end(session);

    await until(() => running(program).length === 0);
    await until(() => {
      const all = running(' bridge ');
      return !running(place.workspace).some((pid) => all.includes(pid));
    });
    await until(async () => (await place.prints(['sh', '-c', 'ls /tmp | grep cai-mcp || true'])) === '');
  });

  test('and a port are there again when the agent has died and its session goes on', async () => {
    const place = await given('[mcp]\nhost_servers = ["host-tool"]\n');
    const port = await serverOf('named');
    const session = await open(place, [httpServer(port), hostServer()]);

    expect(await editor.prompt(session, JSON.stringify({ do: 'exit' }))).toMatchObject({ error: { code: -32603 } }); // prettier-ignore

    expect(await fetches(session, port)).toBe('named');
    expect(JSON.parse(await does(session, { do: 'call', name: 'host-tool' }))).toMatchObject({ secret });
    await until(() => bridges().length === 2);
  });

  test('that agents can change does not run on this machine', async () => {
    const place = await given('[mcp]\nhost_servers = ["host-tool"]\n');
    const own = join(place.workspace, 'server');
    ownFile(own, '#!/bin/sh\ntouch "$0.ran"\n');
    await place.prints(['chmod', '+x', 'server']);

    await open(place, [{ ...hostServer(), command: own, args: [] }]);

    await editor.proxy.complains('is not run on this machine, because agents can change');
    expect(readdirSync(place.workspace)).not.toContain('server.ran');
  });

  test('that a link in the workspace leads to does not run on this machine, as agents can change the link', async () => {
    const place = await given('[mcp]\nhost_servers = ["host-tool"]\n');
    const python = join(place.workspace, 'python');
    symlinkSync(process.execPath, python);

    await open(place, [{ ...hostServer(), command: python }]);

    await editor.proxy.complains('is not run on this machine, because agents can change');
    expect(running(program)).toEqual([]);
  });
});

test('claude calls the tools of a server at localhost, and of a program on this machine', async () => {
  const cai = new Cai(`${modelConfig}[mcp]\nhost_servers = ["host-tool"]\n`);
  const workspace = newWorkspace();
  await startModel(cai, workspace, 'claude');
  const port = await mcpServer('from the port');
  editor = await Editor.open(cai, 'claude', { cwd: workspace, env: modelEnv });
  const mcpServers = [{ ...httpServer(port), name: 'web' }, hostServer()];
  const { result } = await editor.request('session/new', { cwd: workspace, mcpServers });
  const { sessionId } = result as { sessionId: string };

  await editor.prompt(sessionId, '[[call mcp__web__where]]');
  expect(editor.said(sessionId)).toContain('from the port');
  await editor.prompt(sessionId, '[[call mcp__host-tool__where]]');
  expect(editor.said(sessionId)).toContain(`"host":"${hostname()}"`);
});

/** An MCP server over HTTP whose only tool says this. Source: MCP 2025-06-18, Streamable HTTP, answers as JSON. */
async function mcpServer(says: string): Promise<number> {
  const results: Record<string, Json> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'web', version: '1' },
    },
    'tools/list': { tools: [{ name: 'where', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: says }] },
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { id, method } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string };
      response.statusCode = request.method !== 'POST' ? 405 : id === undefined ? 202 : 200;
      response.setHeader('content-type', 'application/json');
      response.end(id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result: results[method!] ?? {} })); // prettier-ignore
    });
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

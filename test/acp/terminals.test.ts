import { CursorRequests } from '../../src/acp/cursor/requests';
import { AgentRequests } from '../../src/acp/agent-requests';
import { McpMessages } from '../../src/acp/mcp/mcp-messages';
import type { Children } from '../../src/acp/child/children';
import { wantedIn } from '../../src/rpc/json';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import type { Core } from '../../src/acp/relay/core';
import { agentMethods } from '../../src/rpc/protocol/methods';
import { Terminals } from '../../src/acp/terminals';
import { Defects } from '../../src/acp/defects';
import { takeToken } from '../../src/agent/editor-token';
import { ownIdentity } from '../../src/system/process-identity';
import { openLog } from '../../src/system/log';
import { scan, type Message } from '../../src/rpc/message';
import { splice } from '../../src/rpc/splice';
import type { Child } from '../../src/acp/child/child';
import type { AgentSession } from '../../src/acp/sessions/session';
import { createPathMap } from '../../src/system/paths/path-map';
import { newCore } from '../support/sessions';
import type { Json } from '../support/inbox';
import { failure } from '../support/messages';
import { newFolder } from '../support/temp-folder';

const log = openLog({ CAI_LOG_LEVEL: 'silent' });
/** Where the agents see the workspace. */
const mount = '/home/agent/workspace';

let folder: string;
let host: Host;
let core: Core;
let terminals: Terminals;
/** What the editor and agents were sent, in order. */
let toEditor: Json[];
let toAgent: Json[];
let lastId: number;

beforeEach(() => {
  folder = newFolder();
  host = new Host({ HOME: folder, XDG_RUNTIME_DIR: folder });
  core = newCore(host, log);
  core.editorCapabilities = { terminal: true };
  terminals = new Terminals(core, { agent: { name: 'claude' }, host, terminals: 'container' });
  core.observers.push(terminals);
  toEditor = [];
  toAgent = [];
  lastId = 0;
});

/** An agent without a process: what it is sent is kept. */
function newChild(root = '/srv/project'): Child {
  const keep =
    (lines: Json[]) =>
    (line: unknown): void =>
      void lines.push(JSON.parse(String(line)) as Json);
  const child = { root, answer: keep(toAgent), deliver: keep(toEditor) };
  return child as unknown as Child;
}

/** A session that is open. */
function newSession(child: Child, agentId = 's1'): AgentSession {
  const roots = [child.root!, '/srv/other'].map((real) => ({
    spelled: real,
    real,
    identity: '1:1',
    isReadOnly: false,
  }));
  const map = createPathMap({ hostRoots: [child.root!], agentRoots: [mount] });
  return core.sessions.open(`editor-${agentId}`, { agentId, child, roots, map });
}

/** A message as scanned on its way from an agent. */
function fromAgent(method: string, params: Json, id?: number): Message {
  const line = Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), method, params }),
  );
  const plan = wantedIn(agentMethods[method]!.params);
  return scan(line, { params: () => plan, result: () => undefined, error: undefined });
}

/** An agent calls; returns the id that the request has at the editor, if it gets there. */
function call(session: AgentSession, method: string, params: Json): string | undefined {
  const { child } = session;
  const message = fromAgent(method, { sessionId: session.agentId, ...params }, ++lastId);
  let editorId: string | undefined;
  terminals.serve({ child, message, session }, (edits) => {
    editorId = core.requests.pass({ child, childId: message.id!, method })?.editorId;
    if (editorId !== undefined) child.deliver(splice(message.line, edits));
    return editorId;
  });
  return editorId;
}

/** The editor answers. */
function answer(id: string | undefined, outcome: Json, writtenId = id): void {
  const line = Buffer.from(`{"jsonrpc":"2.0","id":${writtenId},${JSON.stringify(outcome).slice(1)}`);
  terminals.hear(scan(line, { params: () => undefined, result: () => undefined, error: undefined }));
  core.requests.ofAgents.take(id!);
}

/** The agent has a terminal under that id, unless it was refused one. */
function create(session: AgentSession, terminalId: string): void {
  const id = call(session, 'terminal/create', { command: 'true' });
  if (id !== undefined) answer(id, { result: { terminalId } });
}

/** Names of the files in which orders stand. */
const orders = (): string[] => readdirSync(join(folder, 'containai/terminals'));

/** What the editor was told to do since the last call, by method and terminal. */
function told(): string[] {
  return toEditor
    .splice(0)
    .map(({ method, params }) => `${String(method)} ${String((params as Json).terminalId)}`);
}

describe('terminal/create', () => {
  test('D8 reaches the editor as a command of ours, whose order alone has what the agent wants', () => {
    const session = newSession(newChild());
    const wish = { command: 'secret-command', args: ['secret-argument'], cwd: '/srv/project/src' };
    const variables = { env: [{ name: 'NODE_OPTIONS', value: 'secret-value' }] };

    call(session, 'terminal/create', { ...wish, ...variables, outputByteLimit: 9, _meta: { a: 1 } });

    const [{ params }] = toEditor as [Json];
    const { command, args, ...rest } = params as { command: string; args: string[] } & Json;
    expect(rest).toEqual({
      sessionId: 's1',
      env: [],
      cwd: '/srv/project',
      outputByteLimit: 9,
      _meta: { a: 1 },
    });
    expect([command, args.slice(1, -1)]).toEqual([process.execPath, ['terminal']]);
    expect(JSON.stringify(toEditor)).not.toContain('secret');
    expect(takeToken(host, args.at(-1)!)).toMatchObject({
      ...{ kind: 'command', agent: 'claude', workspace: '/srv/project', shell: false },
      ...{ argv: ['secret-command', 'secret-argument'], env: [['NODE_OPTIONS', 'secret-value']] },
      cwd: `${mount}/src`,
      wantedBy: ownIdentity(),
    });
  });

  test.each([
    [undefined, mount],
    [`${mount}/a`, `${mount}/a`],
    ['/etc', '/etc'],
    ['/srv/project/../project2', '/srv/project/../project2'],
  ])('starts, for the folder %s, in %s of the container', (cwd, inside) => {
    call(newSession(newChild()), 'terminal/create', { command: 'a | b', cwd });

    const order = JSON.parse(readFileSync(join(folder, 'containai/terminals', orders()[0]!), 'utf8')) as Json;
    expect(order).toMatchObject({ cwd: inside, shell: true, argv: ['a | b'] });
  });

  test('is refused for what cannot be run, and writes nothing', () => {
    call(newSession(newChild()), 'terminal/create', { command: 7 });

    expect(toAgent).toEqual([failure(1, -32602)]);
    expect(toEditor).toEqual([]);
    expect(() => orders()).toThrow();
  });

  test('is refused to an agent that has 64 which it has not released', () => {
    const [child, other] = [newChild(), newChild('/srv/b')];
    const session = newSession(child);
    for (let count = 0; count < 60; count++) create(session, `t${count}`);
    for (let count = 0; count < 4; count++) call(session, 'terminal/create', { command: 'true' });

    expect(call(newSession(child, 's2'), 'terminal/create', { command: 'true' })).toBeUndefined();
    expect(toAgent).toEqual([failure(65, -32603)]);
    expect(call(newSession(other), 'terminal/create', { command: 'true' })).toBeDefined();
    call(session, 'terminal/release', { terminalId: 't0' });
    expect(call(session, 'terminal/create', { command: 'true' })).toBeDefined();
  });

  test('is refused to an agent that creates and releases them in a loop, until it has waited', () => {
    const [session, other] = [newSession(newChild()), newSession(newChild('/srv/b'), 's2')];
    for (let count = 0; toAgent.length === 0 && count < 1_000; count++) {
      create(session, `t${count}`);
      call(session, 'terminal/release', { terminalId: `t${count}` });
    }

    const [refusal] = toAgent.splice(0) as { error: { message: string } }[];
    expect(refusal).toMatchObject({ error: { code: -32603 } });
    expect(refusal!.error.message).toMatch(/too fast: try again in \d+ ms/);
    expect(call(other, 'terminal/create', { command: 'true' })).toBeDefined();
    expect(orders()).toHaveLength(1);
  });

  test('is not refused to ten subagents with a short command a second each', () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    const session = newSession(newChild());
    for (let count = 0; count < 600; count++) {
      now.mockReturnValue(count * 100);
      create(session, `t${count}`);
      call(session, 'terminal/release', { terminalId: `t${count}` });
    }
    now.mockRestore();

    expect(toAgent).toEqual([]);
  });

  test('gives the terminal also where the editor writes its id as another number', () => {
    const session = newSession(newChild());
    const id = call(session, 'terminal/create', { command: 'true' });

    answer(id, { result: { terminalId: 't' } }, `${id}.0`);

    expect(call(session, 'terminal/output', { terminalId: 't' })).toBeDefined();
  });

  test('leaves no order where the editor refuses, and where it cannot be asked', () => {
    const session = newSession(newChild());

    answer(call(session, 'terminal/create', { command: 'true' }), { error: { code: -32603, message: 'no' } });
    const { child } = session;
    const message = fromAgent('terminal/create', { sessionId: 's1', command: 'true' }, 2);
    terminals.serve({ child, message, session }, () => undefined);

    expect(orders()).toEqual([]);
  });

  test('leaves no order and takes no place where the answer of the editor cannot be read', () => {
    const session = newSession(newChild());
    const defects = new Defects(core, terminals);

    for (let count = 0; count < 65; count++) {
      const id = call(session, 'terminal/create', { command: 'true' });
      defects.fromEditor({ method: '', id, defect: 'envelope' } as Message);
    }

    expect(toAgent.at(-1)).toHaveProperty('error.message', "the client's answer could not be passed on");
    expect(orders()).toEqual([]);
  });

  test('is refused without a session', () => {
    const child = newChild();

    terminals.serve(
      { child, message: fromAgent('terminal/create', { command: 'true' }, 1), session: undefined },
      () => '1',
    );

    expect(toAgent).toEqual([failure(1, -32602)]);
  });

  test('that wants no answer is dropped', () => {
    const session = newSession(newChild());
    const message = fromAgent('terminal/create', { sessionId: 's1', command: 'true' });

    const passOn = jest.fn(() => '1');

    terminals.serve({ child: session.child, message, session }, passOn);

    expect(passOn).not.toHaveBeenCalled();
    expect(toAgent).toEqual([]);
  });
});

describe('a terminal', () => {
  const methods = ['terminal/output', 'terminal/wait_for_exit', 'terminal/kill', 'terminal/release'];

  test.each(methods)('D8 may be named by nobody else: %s', (method) => {
    const [child, other] = [newChild(), newChild('/srv/b')];
    create(newSession(child), 't');
    toEditor.splice(0);

    call(newSession(child, 's2'), method, { terminalId: 't' });
    call(newSession(other), method, { terminalId: 't' });
    call(newSession(child, 's3'), method, { terminalId: 'constructor' });
    call(newSession(child, 's4'), method, { terminalId: 7 });
    call(newSession(child, 's5'), method, {});

    const codes = toAgent.map(({ error }) => (error as { code: number }).code);
    expect(codes).toEqual([-32002, -32002, -32002, -32602, -32602]);
    expect(toEditor).toEqual([]);
  });

  test('is nobody’s once it is released, and its order is gone', () => {
    const session = newSession(newChild());
    create(session, 't');

    call(session, 'terminal/release', { terminalId: 't' });
    call(session, 'terminal/output', { terminalId: 't' });

    expect(toAgent).toEqual([failure(3, -32002)]);
    expect(orders()).toEqual([]);
  });

  test('is killed and released when its session is closed, and others stay', () => {
    const child = newChild();
    const [session, other] = [newSession(child), newSession(child, 's2')];
    create(session, 't1');
    create(other, 't2');
    told();

    core.sessions.close(session);

    expect(told()).toEqual(['terminal/kill t1', 'terminal/release t1']);
    expect(call(other, 'terminal/output', { terminalId: 't2' })).toBeDefined();
    expect(orders()).toHaveLength(1);
  });

  test('D8 is killed and released when its agent ends, once', () => {
    const [child, other] = [newChild(), newChild('/srv/b')];
    const session = newSession(child);
    create(session, 't1');
    create(newSession(other, 's2'), 't2');
    told();

    core.sessions.lose(session);
    terminals.forget(child);

    expect(told()).toEqual(['terminal/kill t1', 'terminal/release t1']);
  });

  test('D8 that the editor gives when its agent has ended is killed and released; its order is gone before', () => {
    const session = newSession(newChild());
    const id = call(session, 'terminal/create', { command: 'true' });
    told();

    core.requests.ofAgents.take(id!);
    terminals.forget(session.child);
    expect(orders()).toEqual([]);
    answer(id, { result: { terminalId: 't' } });

    expect(told()).toEqual(['terminal/kill t', 'terminal/release t']);
  });

  test('that the editor gives when its session was closed is of no use to the agent', () => {
    const session = newSession(newChild());
    const id = call(session, 'terminal/create', { command: 'true' });
    core.sessions.close(session);
    told();

    answer(id, { result: { terminalId: 't' } });

    expect(told()).toEqual(['terminal/kill t', 'terminal/release t']);
    call(session, 'terminal/output', { terminalId: 't' });
    expect(toAgent).toEqual([failure(2, -32002)]);
  });

  test('is not asked for of an editor that is gone', () => {
    const session = newSession(newChild());
    create(session, 't');
    told();

    core.isEditorGone = true;
    terminals.forget(session.child);

    expect(told()).toEqual([]);
    expect(orders()).toEqual([]);
  });
});

describe('terminals', () => {
  test.each([
    ['the editor has none', { fs: {} }, 'container'],
    ['the editor says so', { terminal: false }, 'container'],
    ['the user has said so', { terminal: true }, 'off'],
  ] as const)('are refused where %s', (_, capabilities, mode) => {
    core.editorCapabilities = capabilities;
    terminals = new Terminals(core, { agent: { name: 'claude' }, host, terminals: mode });
    const { agentId: sessionId, child } = newSession(newChild());
    const cursor = new CursorRequests(core);
    const children = {} as unknown as Children;
    const mcp = new McpMessages(core, children);
    const requests = new AgentRequests(core, children, { mcp, terminals, cursor, files: undefined });

    for (const name of ['create', 'output', 'release', 'wait_for_exit', 'kill']) {
      const params = { sessionId, command: 'true', terminalId: 't' };
      requests.serve(child, fromAgent(`terminal/${name}`, params, ++lastId));
    }

    expect(toAgent.map(({ error }) => (error as { code: number }).code)).toEqual(Array(5).fill(-32601));
    expect(toEditor).toEqual([]);
  });
});

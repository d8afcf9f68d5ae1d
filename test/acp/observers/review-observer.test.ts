import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { ReviewObserver } from '../../../src/acp/observers/review-observer';
import { recordBaseline } from '../../../src/workspace/protect/baseline';
import type { Child } from '../../../src/acp/child/child';
import type { AgentSession } from '../../../src/acp/sessions/session';
import type { SessionTable } from '../../../src/acp/sessions/session-table';
import { newTable, openSession } from '../../support/sessions';
import { noLog } from '../../agent/agent-run';
import { newFolder } from '../../support/temp-folder';

let host: Host;
let root: string;
let said: string[];
let core: { isEditorGone: boolean; editorCapabilities: object; log: typeof noLog };
let observer: ReviewObserver;
/** In milliseconds, as each look at the clock finds it. */
let clock: () => number;

beforeEach(() => {
  clock = () => 0;
  jest.spyOn(performance, 'now').mockImplementation(() => clock());
  host = new Host({ HOME: newFolder() });
  root = newFolder();
  said = [];
  core = { isEditorGone: false, editorCapabilities: {}, log: noLog };
  recordBaseline(host.folders.state, root);
  observer = new ReviewObserver(core as never, host);
});

/** An open session of the workspace, or of none. */
function opened(
  cwd = root,
  hasWorkspace = true,
  more: readonly string[] = [],
  table = newTable(),
): AgentSession {
  const child = {
    root: hasWorkspace ? root : undefined,
    deliver: (line: Buffer) => {
      const { params } = JSON.parse(line.toString()) as { params: { update: { content: { text: string } } } };
      said.push(params.update.content.text);
    },
  };
  const roots = [cwd, ...more].map((real) => ({ spelled: real, real, identity: '', isReadOnly: false }));
  const session = openSession(table, child as unknown as Child, 'e', 'a', { roots });
  observer.onOpen(session);
  return session;
}

/** What the user is told at the end of a turn; the first look of a workspace may wait for its file system. */
async function turn(session: AgentSession): Promise<string[]> {
  // The watch asks for the file system in the next turn of the event loop, and so before we do.
  await new Promise((resolve) => setImmediate(resolve));
  await statfs(root);
  // What the system tells of files is read between two turns.
  for (let turns = 0; turns < 2; turns++) await new Promise((resolve) => setImmediate(resolve));
  said.length = 0;
  observer.onPromptOver(session);
  return [...said];
}

const testOfLinux = process.platform === 'linux' ? test : test.skip;
testOfLinux('the beginning of a session tells of sockets of programs of this machine', async () => {
  const server = createServer().listen(join(root, 'tool.sock'));
  await once(server, 'listening');
  opened();
  await new Promise((resolve) => setImmediate(resolve));
  server.close();

  expect(said).toEqual([expect.stringContaining('They listen in the workspace: `tool.sock`.')]);
});

test('the end of a turn tells what the agent has made, in the same turn of the event loop', async () => {
  const session = opened();
  expect(await turn(session)).toEqual([]);
  mkdirSync(join(root, '.vscode'));
  writeFileSync(join(root, '.vscode/tasks.json'), '{}');

  const [text, ...more] = await turn(session);

  expect(text).toContain('Made or changed: `.vscode/tasks.json`.');
  expect(more).toEqual([]);
  expect(await turn(session)).toEqual([]);
});

/** Makes a look that takes 10 ms, then a file; returns the present. */
async function lookedAt(session: AgentSession): Promise<{ nowMs: number }> {
  const present = { nowMs: 0 };
  await turn(session);
  clock = () => (present.nowMs += 10);
  await turn(session);
  clock = () => present.nowMs;
  writeFileSync(join(root, '.envrc'), '');
  return present;
}

test('turns that follow each other at once have one look between them, and the last one has its own', async () => {
  const session = opened();
  const present = await lookedAt(session);
  jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate'] });
  observer.onPromptOver(session);
  observer.onPromptOver(session);

  present.nowMs += 19;
  jest.advanceTimersByTime(19);
  expect(said).toEqual([]);
  present.nowMs += 1;
  jest.advanceTimersByTime(1);
  jest.useRealTimers();

  expect(said).toEqual([expect.stringContaining('Made or changed: `.envrc`.')]);
});

/** A session whose turn has just ended, too early for a look at what it has made. */
async function quickTurn(table = newTable()): Promise<AgentSession> {
  const session = opened(root, true, [], table);
  await lookedAt(session);
  expect(await turn(session)).toEqual([]);
  return session;
}

test.each<[string, (table: SessionTable, session: AgentSession) => void]>([
  ['is closed', (table, session) => table.close(session)],
  ['has lost its agent', (table, session) => table.lose(session)],
  ['is opened anew', (table, { child }) => void openSession(table, child, 'e', 'b')],
])('a session that %s has the look before that it still lacks', async (_, end) => {
  const table = newTable(undefined, undefined, (session) => observer.onLeaving(session));
  const session = await quickTurn(table);

  end(table, session);

  expect(said).toEqual([expect.stringContaining('Made or changed: `.envrc`.')]);
});

test('what nobody was told, as the session was closed, is told in the next', async () => {
  const table = newTable();
  const session = opened(root, true, [], table);
  await turn(session);
  writeFileSync(join(root, '.envrc'), '');
  table.close(session);
  expect(await turn(session)).toEqual([]);

  expect(await turn(opened())).toEqual([expect.stringContaining('Made or changed: `.envrc`.')]);
});

test('the end of each turn tells what is too much to look at', async () => {
  for (let i = 0; i < 65; i++) writeFileSync(join(root, `${i}.code-workspace`), '');
  const session = opened();

  for (let each = 0; each < 2; each++) {
    const [text, ...more] = await turn(session);
    expect(text).toContain('Too much, or not readable: `*.code-workspace`.');
    expect(more).toEqual([]);
  }
});

test('a session below the root tells of its folder as well, and of none outside', async () => {
  const folder = join(root, 'app');
  mkdirSync(folder);
  const session = opened(folder, true, [newFolder()]);
  await turn(session);
  writeFileSync(join(folder, '.envrc'), '');
  writeFileSync(join(session.roots[1]!.real, '.envrc'), '');

  const [text] = await turn(session);

  expect(text).toContain('Made or changed: `app/.envrc`.');
});

test('names that an agent has chosen are shown as names, and not all of many', async () => {
  const session = opened();
  await turn(session);
  mkdirSync(join(root, '.zed'));
  writeFileSync(join(root, '.zed/`![x](y)\n# Title\u001b[2J'), '');
  writeFileSync(join(root, `.zed/${'l'.repeat(250)}`), '');
  for (let i = 0; i < 10; i++) writeFileSync(join(root, `.zed/z${i}`), '');

  const [text] = await turn(session);

  expect(text).toContain('`.zed/\ufffd![x](y) # Title\ufffd[2J`');
  expect(text).toContain('l…`');
  expect(text).toContain('`.zed/z7` and 2 more. ');
});

test('nothing is told without an editor or a workspace, and nothing fails', async () => {
  const session = opened();
  await turn(session);
  writeFileSync(join(root, '.envrc'), '');
  core.isEditorGone = true;
  expect(await turn(session)).toEqual([]);
  core.isEditorGone = false;

  expect(await turn(opened(root, false))).toEqual([]);
  expect(await turn(session)).toHaveLength(1);

  const failing = new ReviewObserver(core as never, new Host(undefined as never));
  expect(() => failing.onPromptOver(session)).not.toThrow();
});

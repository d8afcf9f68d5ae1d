import { mkdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Core } from '../../src/relay/core';
import { FileRequests } from '../../src/proxy/file-requests';
import { agentMethods } from '../../src/protocol/methods';
import type { Answer } from '../../src/agent/status';
import { planOf } from '../../src/rpc/json/wanted-places';
import { scan } from '../../src/rpc/message';
import { openLog } from '../../src/system/log';
import type { WorkspaceChild } from '../../src/child/workspace-child';
import type { SessionTable } from '../../src/sessions/session-table';
import { newTable, openSession } from '../support/sessions';
import { createPathMap } from '../../src/paths/path-map';
import { newFolder } from '../support/temp-folder';

const log = openLog({ CAI_LOG_LEVEL: 'silent' });

/** All that happens, in order. */
let events: string[];
/** What `cai exec` answers to these. */
let answers: Record<string, Partial<Answer> | undefined>;
/** The editor answers. */
let answer: () => void;
let root: string;
let requests: FileRequests;
let child: WorkspaceChild;
let resumed: Promise<void>;

let sessions: SessionTable;

beforeEach(() => {
  events = [];
  sessions = newTable();
  answers = { freeze: {}, thaw: {} };
  root = realpathSync(newFolder());
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'file'), 'text');
  const core = {
    editorCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
    log,
    refuse: (_: unknown, __: unknown, error: { code: number; message: string }) =>
      events.push(`refused ${error.code} ${error.message}`),
    requests: { take: () => ({}) },
    sessions,
  };
  requests = new FileRequests(core as unknown as Core, 100, (_, edits, onOver) => {
    events.push(`asked for ${edits.map(({ text }) => text).join()}`);
    answer = () => {
      events.push('answered');
      onOver();
    };
    return '1';
  });
  newChild(true);
});

/** An agent without a process, in a container or not. */
function newChild(isContained: boolean): void {
  let resume = (): void => undefined;
  resumed = new Promise((resolve) => (resume = resolve));
  const link = {
    ask: (question: string) => {
      events.push(question);
      return Promise.resolve(answers[question] && { kind: 'answer', id: 1, ...answers[question] });
    },
  };
  child = {
    root,
    files: 'editor',
    link: isContained ? link : undefined,
    pause: () => events.push('paused'),
    resume: () => {
      events.push('resumed');
      resume();
    },
    deliver: () => events.push('cancelled'),
  } as unknown as WorkspaceChild;
}

/** The agent asks for a file. */
function ask(name: string, method = 'fs/read_text_file'): void {
  const { dev, ino } = statSync(root, { bigint: true });
  const roots = [{ spelled: root, real: root, identity: `${dev}:${ino}`, isReadOnly: false }];
  const map = createPathMap({ hostRoots: [root], agentRoots: [root] });
  const session = openSession(sessions, child, 'e', 's', { roots, map });
  const row = agentMethods[method]!;
  const line = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { sessionId: 's', path: join(root, name) },
  });
  const plans = { params: () => planOf(row.params), result: () => undefined, error: undefined };
  requests.serve({ child, message: scan(Buffer.from(line), plans), row, session });
}

/** Resolves when that has happened. */
async function until(event: string): Promise<void> {
  while (!events.some((each) => each.startsWith(event)))
    await new Promise((resolve) => setImmediate(resolve));
}

test('everything stands still before the path is looked at, and until the editor has answered', async () => {
  ask('file');
  await until('asked');
  expect(events).toEqual(['paused', 'freeze', `asked for "${join(root, 'file')}"`]);

  answer();
  await resumed;

  expect(events.slice(3)).toEqual(['answered', 'thaw', 'resumed']);
});

test('a file that may not be had is not asked for, and everything goes on', async () => {
  ask('folder');
  await resumed;

  expect(events).toEqual(['paused', 'freeze', expect.stringMatching(/^refused -32602 /), 'thaw', 'resumed']);
});

test('a file that does not fit into a line of the editor is not asked for', async () => {
  writeFileSync(join(root, 'file'), 'x'.repeat(101));

  ask('file');
  await resumed;

  expect(events[2]).toMatch(/^refused -32602 /);
});

test.each([
  ['says why', { error: 'the engine cannot pause' }, 'the engine cannot pause'],
  ['says nothing', undefined, 'what could change them cannot be stopped meanwhile'],
])('there are no files where not everything can stand still, and cai exec %s', async (_, said, reason) => {
  answers.freeze = said;

  ask('file');
  await resumed;

  const text = `refused -32601 fs/read_text_file is off, use the files on the disk: ${reason}`;
  expect(events).toEqual(['paused', 'freeze', text, 'thaw', 'resumed']);
});

test('with direct spawn nothing stands still, and the editor is not waited for', async () => {
  newChild(false);

  ask('file');
  await resumed;

  expect(events).toEqual(['paused', `asked for "${join(root, 'file')}"`, 'resumed']);
});

describe('an editor that is late', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] }));
  afterEach(() => jest.useRealTimers());

  test.each([
    ['to read has the next request all the same', 'fs/read_text_file', ['paused', 'freeze']],
    [
      'to write gets no more requests',
      'fs/write_text_file',
      [
        'refused -32601 fs/read_text_file is off, use the files on the disk: the editor has not written one in time',
      ],
    ],
  ])('%s', async (_, method, next) => {
    ask('file', method);
    await until('asked');
    jest.advanceTimersByTime(5_000);
    await resumed;
    expect(events.slice(3)).toEqual([
      'cancelled',
      `refused -32603 ${method}: the editor has not answered in 5 s`,
      'thaw',
      'resumed',
    ]);

    events = [];
    ask('file');
    expect(events).toEqual(next);
    if (events[0] === 'paused') {
      await until('asked');
      answer();
      await until('resumed');
    }
  });
});

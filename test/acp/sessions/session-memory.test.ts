import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as settled } from 'node:timers/promises';
import { SessionMemory, titleOf } from '../../../src/acp/sessions/session-memory';
import { ownIdentity } from '../../../src/system/process-identity';
import type { Message } from '../../../src/rpc/message';
import { SessionFile } from '../../../src/acp/sessions/session-file';
import { type SessionRecord } from '../../../src/acp/sessions/session-record';
import type { Child } from '../../../src/acp/child/child';
import type { AgentSession } from '../../../src/acp/sessions/session';
import type { SessionTable } from '../../../src/acp/sessions/session-table';
import { noLog } from '../../agent/agent-run';
import { newTable as tableOn, openSession } from '../../support/sessions';
import { newFolder } from '../../support/temp-folder';

const folder = newFolder();
let path: string;
let count = 0;
let table: SessionTable;
let memory: SessionMemory;
let session: AgentSession;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
  path = join(folder, `${++count}.ndjson`);
  table = newTable();
  memory = new SessionMemory(table);
  const editorId = table.records.idForNew('s1', '/w', '/w');
  session = openSession(table, {} as unknown as Child, editorId, 's1');
});
afterEach(() => jest.useRealTimers());

describe('a session', () => {
  test('that was just made is open and not used', async () => {
    memory.onOpen(session, call('session/new'));

    expect(await written()).toMatchObject({ openBy: ownIdentity() });
    expect((await written()).updatedAt).toBeUndefined();
  });

  test('that is closed as soon as it was made is not open', async () => {
    memory.onOpen(session, call('session/new'));
    table.close(session);

    expect((await written()).openBy).toBeUndefined();
  });

  test.each(['session/load', 'session/resume', 'session/fork'])(
    'that %s has opened is used',
    async (method) => {
      memory.onOpen(session, call(method));

      expect(await written()).toMatchObject({ openBy: ownIdentity(), updatedAt: now() });
    },
  );

  test('that is loaded again keeps the time of its last activity', async () => {
    const updatedAt = '2026-01-01T00:00:00.000Z';
    table.records.update(session.editorId, { updatedAt });

    memory.onOpen(session, call('session/load'));

    expect(await written()).toMatchObject({ updatedAt });
  });

  test('that is closed is not open, and all that was known of it is written', async () => {
    memory.onOpen(session, call('session/new'));
    for (const title of ['A', 'B']) memory.onUpdate(session, 'session_info_update', info({ title }));
    table.close(session);

    memory.onClose(session);

    expect(await written()).toMatchObject({ title: 'B' });
    expect((await written()).openBy).toBeUndefined();
  });

  test('that another process has open since stays open there', async () => {
    memory.onOpen(session, call('session/new'));
    await written();
    const other = newTable();
    other.records.refresh();
    other.records.update(session.editorId, { openBy: '1.2', title: 'theirs' });
    await settled();
    table.records.refresh();

    memory.onCall(session, call('session/cancel'));
    expect(await written()).toMatchObject({ openBy: '1.2', title: 'theirs' });
    memory.onCall(session, call('session/prompt'));

    expect(await written()).toMatchObject({ openBy: ownIdentity(), title: 'theirs', updatedAt: now() });
  });

  test('that is closed before its turn has ended is not open again', async () => {
    memory.onOpen(session, call('session/new'));
    memory.onCall(session, call('session/prompt'));
    table.close(session);
    memory.onClose(session);

    memory.onAnswer(session, 'session/prompt');
    jest.advanceTimersByTime(120_000);

    expect((await written()).openBy).toBeUndefined();
  });
});

describe('a prompt', () => {
  test('is written at once if it is the first, and then once a minute', async () => {
    memory.onOpen(session, call('session/new'));
    memory.onCall(session, call('session/prompt'));
    const first = now();
    expect((await written()).updatedAt).toBe(first);
    const lines = lineCount();

    for (let second = 0; second < 59; second++) {
      jest.advanceTimersByTime(1_000);
      memory.onCall(session, call('session/prompt'));
      memory.onAnswer(session, 'session/prompt');
      await settled();
    }
    const last = now();
    expect((await written()).updatedAt).toBe(first);
    expect(lineCount()).toBe(lines);
    jest.advanceTimersByTime(1_000);

    expect((await written()).updatedAt).toBe(last);
    expect(lineCount()).toBe(lines + 1);
  });
});

describe('a title', () => {
  test('is written at once, and the last one of many in a second after that', async () => {
    for (let i = 0; i < 1_000; i++) {
      memory.onUpdate(session, 'session_info_update', info({ title: `${i}` }));
      await Promise.resolve();
    }
    expect((await written()).title).toBe('0');
    jest.advanceTimersByTime(1_000);

    expect((await written()).title).toBe('999');
    expect(lineCount()).toBeLessThan(5);
  });

  test.each([
    [{ title: null }, undefined],
    [{ title: '' }, undefined],
    [{ title: 7 }, 'A'],
    [{}, 'A'],
    [null, 'A'],
  ])('after "A", with the update %j', async (update, title) => {
    table.records.update(session.editorId, { title: 'A' });

    memory.onUpdate(session, 'session_info_update', info(update));

    expect((await written()).title).toBe(title);
  });

  test('is not looked for in other updates, nor in one that is too large to be one', async () => {
    memory.onUpdate(session, 'agent_message_chunk', info({ title: 'A' }));
    memory.onUpdate(session, 'session_info_update', info({ title: 'A', _meta: 'x'.repeat(100_000) }));

    expect((await written()).title).toBeUndefined();
  });
});

describe('titleOf', () => {
  test.each([
    ['A', 'A'],
    [null, ''],
    [undefined, undefined],
    [{}, undefined],
    ['x'.repeat(501), 'x'.repeat(500)],
    [`${'x'.repeat(499)}😀`, 'x'.repeat(499)],
  ])('of %#', (value, title) => expect(titleOf(value)).toBe(title));
});

function newTable(): SessionTable {
  return tableOn(new SessionFile(path, Infinity, noLog));
}

/** The session as another process finds it. */
async function written(): Promise<SessionRecord> {
  await settled();
  const other = newTable();
  return other.records.recall(session.editorId)!;
}

function lineCount(): number {
  return readFileSync(path, 'utf8').split('\n').length - 1;
}

function now(): string {
  return new Date().toISOString();
}

function call(method: string): Message {
  return { method } as Message;
}

/** A `session/update` with that variant. */
function info(update: unknown): Message {
  const body = JSON.stringify({ sessionId: 's1', update });
  return { line: Buffer.from(body), bodyStart: 0, bodyEnd: Buffer.byteLength(body) } as Message;
}

import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { joined, nothingSpent, SessionStore } from '../../src/cursor/sessions';
import { newFolder } from '../support/temp-folder';

const chunk = (text: string, sessionUpdate = 'agent_message_chunk'): SessionUpdate =>
  ({ sessionUpdate, content: { type: 'text', text } }) as SessionUpdate;
const storeIn = (folder: string | undefined) =>
  new SessionStore(folder, (line) => {
    throw new Error(line);
  });
const fields = { cwd: '/work', mode: 'agent', model: 'default' };

test('pieces of one text become one in a transcript', () => {
  const plan: SessionUpdate = { sessionUpdate: 'plan', entries: [] };
  const thought = chunk('t', 'agent_thought_chunk');

  expect(joined([chunk('a'), chunk('b'), thought, plan, chunk('c'), chunk('d')])).toEqual([
    ...[chunk('ab'), thought, plan, chunk('cd')],
  ]);
});

test('a record that is no record counts as none, and one that lacks something is completed', () => {
  const folder = newFolder();
  const store = storeIn(folder);
  const { id } = store.create(fields);
  const other = store.create(fields);
  const file = join(folder, `${id}.json`);
  rmSync(join(folder, `${id}.copy`));
  for (const text of ['', '{"id":', '[]', JSON.stringify({ id: 'another', cwd: '/work' })]) {
    writeFileSync(file, text);
    expect(store.find(id)).toBeUndefined();
    expect(store.list()).toEqual([other]);
  }

  writeFileSync(file, JSON.stringify({ id, cwd: '/work', updatedAt: 1, spent: { turns: 2 } }));

  const spent = { ...nothingSpent, turns: 2 };
  expect(store.list()).toEqual([other, { ...fields, id, createdAt: '', updatedAt: '', spent }]);
});

test('a record that was damaged, or is gone, has a copy', () => {
  const folder = newFolder();
  const store = storeIn(folder);
  const record = { ...store.create(fields), title: 'Look', chatId: 'c' };
  store.save(record);
  const file = join(folder, `${record.id}.json`);

  writeFileSync(file, '{"id":');
  expect(store.find(record.id)).toEqual(record);
  rmSync(file);
  expect(storeIn(folder).list()).toEqual([record]);
});

test('a session ends 90 days after its last turn, when the next process opens one', () => {
  const folder = newFolder();
  const before = storeIn(folder);
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const [stale, young] = [91, 89].map((days) => {
    const record = { ...before.create(fields), updatedAt: daysAgo(days) };
    before.save(record);
    return record;
  });

  storeIn(folder).create(fields);

  expect(before.find(stale!.id)).toBeUndefined();
  expect(before.find(young!.id)).toEqual(young);
});

test('without a folder sessions are kept in memory alone', () => {
  const store = storeIn(undefined);
  const record = store.create(fields);
  store.append(record.id, [chunk('a')]);

  expect([store.isLasting, store.list(), store.transcript(record.id)]).toEqual([false, [record], []]);
  store.remove(record.id);
  expect(store.find(record.id)).toBeUndefined();
});

test('the oldest sessions are forgotten with their transcripts', () => {
  const folder = newFolder();
  const store = storeIn(folder);
  const oldest = { ...store.create(fields), updatedAt: new Date(Date.now() - 1_000).toISOString() };
  store.append(oldest.id, [chunk('a')]);
  store.save(oldest);
  for (let count = 0; count < 999; count += 1) {
    const id = randomUUID();
    writeFileSync(
      join(folder, `${id}.json`),
      JSON.stringify({ ...oldest, id, updatedAt: new Date().toISOString() }),
    );
  }

  storeIn(folder).create(fields);

  expect(store.list()).toHaveLength(1_000);
  expect(readdirSync(folder).filter((name) => name.startsWith(oldest.id))).toEqual([]);
});

test('a line of a transcript that was cut is left out', () => {
  const folder = newFolder();
  const store = storeIn(folder);
  const { id } = store.create(fields);
  store.append(id, [chunk('a')]);
  writeFileSync(join(folder, `${id}.ndjson`), '{"sessionUpdate":"agent_mess', { flag: 'a' });

  expect(store.transcript(id)).toEqual([chunk('a')]);
});

test('a transcript has what fits into 64 MiB', () => {
  const folder = newFolder();
  const store = storeIn(folder);
  const { id } = store.create(fields);
  const piece = chunk('x'.repeat(1_000_000));

  store.append(id, [chunk('first'), ...Array.from({ length: 70 }, () => piece)]);

  const { size } = statSync(join(folder, `${id}.ndjson`));
  expect([size > 60 * 2 ** 20, size <= 64 * 2 ** 20]).toEqual([true, true]);
  expect(JSON.stringify(store.transcript(id)[0])).toContain('first');
});

test('a session goes on where nothing can be written, and that is said', () => {
  const file = join(newFolder(), 'file');
  writeFileSync(file, '');
  const said: string[] = [];
  const store = new SessionStore(file, (line) => said.push(line));

  const record = store.create(fields);
  store.append(record.id, [chunk('a')]);

  expect(store.list()).toEqual([]);
  expect(said).toEqual([
    expect.stringMatching(/^a session cannot be kept: .*: see to the folder \//),
    expect.stringMatching(/^a session cannot be kept/),
  ]);
});

import { randomUUID } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { joined, nothingSpent, SessionStore } from '../../src/cursor/sessions';
import { newFolder } from '../support/temp-folder';

const chunk = (text: string, sessionUpdate = 'agent_message_chunk'): SessionUpdate =>
  ({ sessionUpdate, content: { type: 'text', text } }) as SessionUpdate;
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
  const store = new SessionStore(folder);
  const { id } = store.create(fields);
  const file = join(folder, `${id}.json`);
  for (const text of ['', '{"id":', '[]', JSON.stringify({ id: 'another', cwd: '/work' })]) {
    writeFileSync(file, text);
    expect(store.find(id)).toBeUndefined();
  }

  writeFileSync(file, JSON.stringify({ id, cwd: '/work', spent: { turns: 2 } }));

  expect(store.find(id)).toEqual({ ...fields, id, updatedAt: '', spent: { ...nothingSpent, turns: 2 } });
});

test('the oldest sessions are forgotten with their transcripts', () => {
  const folder = newFolder();
  const store = new SessionStore(folder);
  const { id } = store.create(fields);
  store.append(id, [chunk('a')]);
  store.save({ ...store.find(id)!, updatedAt: '2001-01-01' });
  for (let count = 0; count < 3_000; count += 1) writeFileSync(join(folder, `${randomUUID()}.json`), '');
  const others = Array.from({ length: 1_000 }, () => {
    const record = { ...store.find(id)!, id: randomUUID(), updatedAt: '2002-01-01' };
    writeFileSync(join(folder, `${record.id}.json`), JSON.stringify(record));
    return record;
  });

  store.create(fields);

  expect(store.list()).toHaveLength(1_000);
  expect(others.filter((each) => store.find(each.id) === undefined)).toHaveLength(1);
  expect(readdirSync(folder).filter((name) => name.startsWith(id))).toEqual([]);
});

test('a line of a transcript that was cut is left out', () => {
  const folder = newFolder();
  const store = new SessionStore(folder);
  const { id } = store.create(fields);
  store.append(id, [chunk('a')]);
  writeFileSync(join(folder, `${id}.ndjson`), '{"sessionUpdate":"agent_mess', { flag: 'a' });

  expect(store.transcript(id)).toEqual([chunk('a')]);
});

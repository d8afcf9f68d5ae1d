import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as written } from 'node:timers/promises';
import { SessionFile } from '../../../src/acp/sessions/session-file';
import { lineOf } from '../../../src/acp/sessions/session-record';
import { SessionRecords } from '../../../src/acp/sessions/session-records';
import { ProcessLocks } from '../../../src/system/process-lock';
import { noLog } from '../../agent/agent-run';
import { liveBytes } from '../../support/garbage';
import { newFolder } from '../../support/temp-folder';
import { storeIn } from '../../support/sessions';

const folder = newFolder();

let file: string;
let count = 0;

beforeEach(() => (file = join(folder, `${++count}.ndjson`)));

describe('idForNew', () => {
  test('stays the same in versions to come', () => {
    // Ids that editors have kept would be lost.
    expect(newTable('claude').idForNew('s1', '/w', '/w')).toBe('11f73253-e926-56c3-867b-924fa1436fba');
  });

  test('differs by agent, by root and by the id that the agent has given', () => {
    const ids = [
      newTable('claude').idForNew('s1', '/w', '/w'),
      newTable('gemini').idForNew('s1', '/w', '/w'),
      newTable('claude').idForNew('s1', '/v', '/v'),
      newTable('claude').idForNew('s2', '/w', '/w'),
      newTable('claude').idForNew('s1"', '/w', '/w'),
    ];

    expect(new Set(ids).size).toBe(5);
  });

  test('does not depend on the working directory inside the root', () => {
    expect(newTable().idForNew('s1', '/w', '/w/a')).toBe(newTable().idForNew('s1', '/w', '/w/b'));
  });

  test('is random where the agent counts anew, in this process and in others', async () => {
    const table = tableOn(file);
    const first = table.idForNew('1', '/w', '/w');

    const second = table.idForNew('1', '/w', '/w');
    await written();
    const third = tableOn(file).idForNew('1', '/w', '/w');

    expect(second[14]).toBe('4');
    expect(third[14]).toBe('4');
    expect(new Set([first, second, third]).size).toBe(3);
  });

  test('is random where the derived one is open, though nothing is remembered of it', () => {
    const derived = newTable().idForNew('1', '/w', '/w');
    const table = newTable('claude', (editorId) => editorId === derived);

    expect(table.idForNew('1', '/w', '/w')[14]).toBe('4');
  });

  test.each([
    ['written down', (): boolean => true],
    ['not written down', (): boolean => false],
  ])('is the derived one where that was only listed, and random after that: %s', (_, isWritten) => {
    const table = tableOn(file);
    const listed = table.idForKnown('1', '/w', '/w', false, isWritten);
    table.update(listed, { title: 'A' });

    const [first, second] = [table.idForNew('1', '/w', '/w/src'), table.idForNew('1', '/w', '/w')];

    expect(first).toBe(listed);
    expect(second[14]).toBe('4');
    expect(tableOn(file).recall(listed)).toEqual({ ...table.recall(listed), cwd: '/w/src' });
    expect(table.recall(listed)).not.toHaveProperty('title');
  });

  test('is random while another process gives one, or rewrites the file', () => {
    const table = tableOn(file);
    const lock = new ProcessLocks(dirname(file)).tryTake(basename(file))!;
    const ids = [table.idForNew('1', '/w', '/w'), table.idForNew('1', '/w', '/w')];
    lock.release();

    expect(ids.map((id) => id[14])).toEqual(['4', '4']);
    expect(table.idForNew('1', '/w', '/w')[14]).toBe('5');
  });

  test('is the derived one, too, where others have written of other sessions meanwhile', () => {
    const table = tableOn(file);
    const listed = table.idForKnown('1', '/w', '/w');
    tableOn(file).idForNew('2', '/w', '/w');

    expect(table.idForNew('1', '/w', '/w')).toBe(listed);
  });

  test('is random where what was listed has been opened, here or by another process', async () => {
    const table = tableOn(file);
    const [here, elsewhere] = [table.idForKnown('1', '/w', '/w'), table.idForKnown('2', '/w', '/w')];
    table.opened(here);
    await written();
    const at = new Date(Date.now() + 1_000).toISOString();
    fileAt(file).append({ ...table.recall(elsewhere)!, at, openBy: '1.2' });
    await written();

    expect(table.idForNew('1', '/w', '/w')[14]).toBe('4');
    expect(table.idForNew('2', '/w', '/w')[14]).toBe('4');
  });

  test('does not wait until all that is remembered is read', () => {
    const earlier = tableOn(file).idForNew('1', '/w', '/w');
    const store = fileAt(file);
    const load = jest.spyOn(store, 'load');
    const table = new SessionRecords(storeIn(store), () => false);

    const id = table.idForNew('2', '/w', '/w');

    expect(table.recall(earlier)).toMatchObject({ agentId: '1' });
    expect(table.recall(id)).toMatchObject({ agentId: '2' });
    table.forget(earlier);
    expect([table.recall(earlier), table.idForNew('1', '/w', '/w')]).toEqual([undefined, earlier]);
    expect(load).not.toHaveBeenCalled();
    expect(table.remembered()).toHaveLength(2);
  });

  test('is the derived one again once that session is gone for good', async () => {
    const table = tableOn(file);
    const first = table.idForNew('1', '/w', '/w');

    table.forget(first);
    await written();

    expect(tableOn(file).idForNew('1', '/w', '/w')).toBe(first);
  });
});

describe('idForKnown', () => {
  test('is the id that was given last for the agent’s id', async () => {
    const table = tableOn(file);
    table.idForNew('1', '/w', '/w');
    const last = table.idForNew('1', '/w', '/w');
    await written();

    expect(table.idForKnown('1', '/w', '/w/src')).toBe(last);
    expect(tableOn(file).idForKnown('1', '/w', '/w/src')).toBe(last);
  });

  test('is the one before, once the last is gone for good', () => {
    const table = newTable();
    const [first, second, third] = [1, 2, 3].map(() => table.idForNew('1', '/w', '/w'));

    table.forget(second!);
    expect(table.idForKnown('1', '/w', '/w')).toBe(third);
    table.forget(third!);

    expect(table.idForKnown('1', '/w', '/w')).toBe(first);
  });

  test('is that of the workspace in which the session works', () => {
    const table = tableOn(file);
    const here = table.idForNew('1', '/w', '/w');
    const there = table.idForNew('1', '/v', '/v');

    expect(table.idForKnown('1', '/w', '/w')).toBe(here);
    expect(table.idForKnown('1', '/v', '/v')).toBe(there);
    expect(table.idForKnown('1', '/ww', '/ww')).not.toBe(here);
  });

  test('is derived, and remembered, for a session that was never given one', async () => {
    const id = tableOn(file).idForKnown('1', '/w', '/w/src');
    await written();

    expect(id).toBe(newTable().idForNew('1', '/w', '/w'));
    expect(tableOn(file).recall(id)).toMatchObject({ agentId: '1', root: '/w', cwd: '/w/src' });
  });
});

describe('idForKnown of an agent that sees every workspace at the same place', () => {
  test('is the one of the workspace where the session is known to be', () => {
    const table = newTable();
    const there = table.idForNew('s1', '/v', '/v');

    expect(table.idForKnown('s1', '/w', '/w', true)).toBe(there);
    expect(table.idForKnown('s1', '/w', '/w')).not.toBe(there);
  });

  test('is another where an agent that counts has listed one there that nobody has opened', () => {
    const table = newTable();
    const counted = table.idForKnown('1', '/v', '/v', true);
    const random = table.idForKnown('0b9cc1f2-5c0e-4d4f', '/v', '/v', true);

    expect(table.idForKnown('1', '/w', '/w', true)).not.toBe(counted);
    expect(table.idForKnown('0b9cc1f2-5c0e-4d4f', '/w', '/w', true)).toBe(random);
  });
});

describe('idForKnown of sessions that are not to be written down', () => {
  test('is the derived id, which this process alone knows until the session is opened', async () => {
    const table = tableOn(file);
    const id = table.idForKnown('1', '/w', '/w', false, () => false);
    table.update(id, { title: 'A' });
    await written();

    expect(id).toBe(newTable().idForNew('1', '/w', '/w'));
    expect(table.recall(id)).toMatchObject({ agentId: '1', title: 'A' });
    expect(tableOn(file).recall(id)).toBeUndefined();
    table.opened(id);
    await written();
    expect(tableOn(file).recall(id)).toMatchObject({ agentId: '1', title: 'A' });
  });

  test('looks once at what others have written, for any number of them, and knows the last ones', () => {
    const store = fileAt(file);
    const load = jest.spyOn(store, 'load');
    const table = new SessionRecords(storeIn(store), () => false);

    const ids = Array.from({ length: 20_000 }, (_, n) =>
      table.idForKnown(`s${n}`, `/${n}`, `/${n}`, false, () => false),
    );

    const known = ids.map((id) => table.recall(id) !== undefined);
    expect(known.slice(-5_000)).not.toContain(false);
    expect(known.slice(0, -10_000)).not.toContain(true);
    expect(load).toHaveBeenCalledTimes(1);
    expect(table.rootOf('/19999')).toBeUndefined();
  });

  test('is written down after all where another process has done so', async () => {
    const table = tableOn(file);
    const id = table.idForKnown('1', '/w', '/w', false, () => false);
    tableOn(file).idForNew('1', '/w', '/w');
    table.refresh();

    table.update(id, { title: 'A' });
    await written();

    expect(tableOn(file).recall(id)).toMatchObject({ title: 'A' });
  });

  test('does not remember a folder that is longer than any can be', () => {
    const table = newTable();
    const id = table.idForKnown('1', '/w', `/w/${'a'.repeat(4_096)}`);

    expect(table.recall(id)).toBeUndefined();
  });
});

describe('rootOf', () => {
  test('is the innermost workspace that is known to hold a folder', async () => {
    const table = tableOn(file);
    table.idForNew('s1', '/w', '/w');
    tableOn(file).idForNew('s2', '/w/sub', '/w/sub');
    await written();
    table.refresh();

    expect(table.rootOf('/w/src')).toBe('/w');
    expect(table.rootOf('/w/sub/src')).toBe('/w/sub');
    expect(table.rootOf('/w')).toBe('/w');
    expect(table.rootOf('/w/')).toBe('/w');
    expect(table.rootOf('/wide')).toBeUndefined();
    expect(table.rootOf('')).toBeUndefined();
    table.idForNew('s3', '/', '/');
    expect(table.rootOf('/wide')).toBe('/');
  });
});

test('a session that was listed takes few bytes, however many there are', () => {
  const table = newTable();
  const list = (from: number, to: number): void => {
    for (let i = from; i < to; i++) {
      const id = table.idForKnown(`0a1b2c3d-4e5f-6071-8293-${i}`, '/w', '/w', false, () => false);
      table.update(id, { title: 'A title', updatedAt: `2026-01-01T00:00:00.${i}Z` });
    }
  };
  // V8 learns from the first ones what records look like.
  list(0, 1_000);
  const before = liveBytes();
  list(1_000, 9_000);

  expect((liveBytes() - before) / 8_000).toBeLessThan(750);
  expect(table.has(table.idForKnown('0a1b2c3d-4e5f-6071-8293-8999', '/w', '/w'))).toBe(true);
});

describe('update', () => {
  test('gives a session another id of its agent, which alone names it from then on in every process', async () => {
    const [records, other] = [tableOn(file), tableOn(file)];
    const editorId = records.idForNew('s1', '/w', '/w');
    await written();
    expect(other.recall(editorId)).toMatchObject({ agentId: 's1' });

    records.update(editorId, { agentId: 's2' });
    await written();

    for (const each of [records, other]) {
      expect(each.idForKnown('s2', '/w', '/w')).toBe(editorId);
      expect(each.idForKnown('s1', '/v', '/v', true)).not.toBe(editorId);
      expect(each.recall(editorId)).toMatchObject({ agentId: 's2' });
    }
  });

  test('changes what this and other processes know of a session, and renews it', async () => {
    const at = new Date(Date.now() - 1_000).toISOString();
    fileAt(file).append({
      id: 'e1',
      agent: 'claude',
      agentId: 'a1',
      root: '/w',
      cwd: '/w',
      at,
      title: 'old',
    });
    await written();
    const table = tableOn(file);
    table.refresh();

    table.update('e1', { title: 'new', openBy: '1.2' });
    table.update('e1', { title: undefined, updatedAt: '2026-01-01T00:00:00Z' });
    table.update('nobody', { title: 'x' });
    await written();

    const records = tableOn(file).remembered();
    expect(records).toEqual([
      { ...records[0], id: 'e1', agentId: 'a1', openBy: '1.2', updatedAt: '2026-01-01T00:00:00Z' },
    ]);
    expect(records[0]).not.toHaveProperty('title');
    expect(Date.parse(records[0]!.at)).toBeGreaterThan(Date.parse(at));
    expect(table.remembered()).toMatchObject(records);
  });
});

describe('remembered', () => {
  test('is kept without a file for this process', () => {
    const table = newTable();
    const id = table.idForNew('s1', '/w', '/w');
    table.update(id, { title: 'A' });

    expect(table.remembered()).toMatchObject([{ id, title: 'A' }]);
    expect([table.isKept, tableOn(file).isKept]).toEqual([false, true]);
  });
});

describe('recall', () => {
  test('knows nothing of the sessions of other agents', async () => {
    const id = tableOn(file, 'gemini').idForNew('s1', '/w', '/w');
    await written();

    expect(tableOn(file, 'claude').recall(id)).toBeUndefined();
  });
});

describe('a table that is full', () => {
  test('forgets what was used longest ago and is not open, for this process and others', async () => {
    const at = new Date().toISOString();
    const lines = Array.from({ length: 50_000 }, (_, i) =>
      lineOf({ id: `${i}`, agent: 'claude', agentId: `${i}`, root: '/w', cwd: '/w', at }),
    );
    writeFileSync(file, lines.join(''));
    const table = tableOn(file, 'claude', (editorId) => editorId === '0');
    expect(table.remembered()).toHaveLength(50_000);
    table.update('1', { title: 'used' });

    const id = table.idForNew('one more', '/w', '/w');

    const known = (of: SessionRecords): boolean[] => ['0', '1', '2', '3', id].map((each) => of.has(each));
    expect(known(table)).toEqual([true, true, false, true, true]);
    await written();
    const other = tableOn(file);
    other.refresh();
    expect(known(other)).toEqual([true, true, false, true, true]);
  });
});

function newTable(agent = 'claude', isOpen: (editorId: string) => boolean = () => false): SessionRecords {
  return new SessionRecords(storeIn(undefined, agent), isOpen);
}

/** The table of a process of its own. */
function tableOn(
  path: string,
  agent = 'claude',
  isOpen: (editorId: string) => boolean = () => false,
): SessionRecords {
  return new SessionRecords(storeIn(fileAt(path), agent), isOpen);
}

function fileAt(path: string): SessionFile {
  return new SessionFile(path, Infinity, noLog);
}

import type { Child } from '../../../src/acp/child/child';
import type { AgentSession } from '../../../src/acp/sessions/session';
import type { SessionTable } from '../../../src/acp/sessions/session-table';
import { newTable, openSession } from '../../support/sessions';

let table: SessionTable;
let child: Child;
let other: Child;

beforeEach(() => {
  table = newTable();
  [child, other] = [newChild(), newChild()];
});

describe('a session that is opened', () => {
  test('has an agent’s id to itself: another that had it is closed', () => {
    const closed: AgentSession[] = [];
    table = newTable(undefined, (session) => closed.push(session));
    const first = openSession(table, child, 'e1', 'a1');

    const second = openSession(table, child, 'e2', 'a1');

    expect(table.get('e1')).toBeUndefined();
    expect(table.all()).toEqual([second]);
    expect(table.of(child).byAgentId.get('a1')).toBe(second);
    expect(closed).toEqual([first]);
  });

  test('in another child has left the first', () => {
    openSession(table, child, 'e1', 'a1');

    openSession(table, other, 'e1', 'a2');

    expect(table.of(child).isEmpty).toBe(true);
    expect(table.find('e1')?.child).toBe(other);
  });
});

describe('a session whose call to open it again fails', () => {
  test('is at its agent as before', () => {
    table = newTable(undefined, () => {
      throw new Error('nothing is closed');
    });
    const before = openSession(table, child, 'e1', 'a1');
    const after = openSession(table, other, 'e1', 'a1');

    table.undo(after);

    expect(table.find('e1')).toBe(before);
    expect(table.of(child).byAgentId.get('a1')).toBe(before);
    expect(table.of(other).isEmpty).toBe(true);
  });

  test.each([
    ['first', [1, 2]],
    ['last', [2, 1]],
  ])('is as before the first of two such calls, if the %s of them fails first', (_, order) => {
    const sessions = ['a0', 'a1', 'a2'].map((agentId) => openSession(table, child, 'e1', agentId));

    for (const index of order) table.undo(sessions[index]!);

    expect(table.find('e1')).toBe(sessions[0]);
    expect([...table.of(child).byAgentId.keys()]).toEqual(['a0']);
  });

  test('is as the other of two such calls has made it', () => {
    const [, second, third] = ['a0', 'a1', 'a2'].map((agentId) => openSession(table, child, 'e1', agentId));

    second!.owner.settle(second!);
    table.undo(third!);

    expect(table.find('e1')).toBe(second);
  });

  test('is lost if its agent has ended meanwhile', () => {
    const before = openSession(table, child, 'e1', 'a1', { openParams: '{}' });
    const after = openSession(table, other, 'e1', 'a1');
    Object.assign(child, { isUsable: false });

    table.undo(after);

    expect(table.find('e1')).toBeUndefined();
    expect(table.get('e1')?.lost).toBe(before);
  });

  test('is nothing if it was nothing before', () => {
    table.undo(openSession(table, child, 'e1', 'a1'));

    expect(table.get('e1')).toBeUndefined();
  });
});

describe('a session that is closed', () => {
  test('is found nowhere, and one that took its place stays', () => {
    const old = openSession(table, child, 'e1', 'a1');
    const replaced = openSession(table, child, 'e1', 'a1');

    table.close(old);
    expect(table.find('e1')).toBe(replaced);
    expect(table.of(child).byAgentId.get('a1')).toBe(replaced);
    table.close(replaced);

    expect(table.get('e1')).toBeUndefined();
    expect(table.of(child).isEmpty).toBe(true);
  });
});

describe('a session whose agent has ended', () => {
  test('is kept with 10 000 others, the last ones', () => {
    for (let number = 0; number <= 10_000; number++)
      table.lose(openSession(table, child, `e${number}`, `a${number}`, { openParams: '{}' }));

    expect(['e0', 'e1', 'e10000'].map((id) => table.get(id)?.state)).toEqual([undefined, 'lost', 'lost']);
  });
});

/** What the table uses of a child. */
function newChild(): Child {
  return { isUsable: true } as unknown as Child;
}

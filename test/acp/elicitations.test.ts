import { ElicitationTable } from '../../src/acp/elicitations';
import { maxOpenRequests } from '../../src/acp/sessions/request-table';
import { WorkspaceChild } from '../../src/acp/child/workspace-child';

/** A child is only told from others here. */
const newChild = (): WorkspaceChild => Object.create(WorkspaceChild.prototype) as WorkspaceChild;

describe('ElicitationTable', () => {
  const [one, other] = [newChild(), newChild()];
  let table: ElicitationTable;
  beforeEach(() => (table = new ElicitationTable()));

  test('leaves an agent its id', () => expect(table.open(one, 'e')).toBe('e'));

  test('gives an id of its own where another agent uses the same', () => {
    table.open(one, 'e');

    const given = table.open(other, 'e');

    expect(given).toEqual(expect.any(String));
    expect(given).not.toBe('e');
  });

  test('gives an agent another id for one that it uses again, and ends the first', () => {
    table.open(one, 'e');

    const again = table.open(one, 'e');

    expect(again).not.toBe('e');
    expect(table.end(one, 'e')).toBe(again);
    expect(table.open(other, 'e')).toBe('e');
  });

  test('ends what is open, once, for the agent whose it is', () => {
    table.open(one, 'e');

    expect(table.end(other, 'e')).toBeUndefined();
    expect(table.end(one, 'e')).toBe('e');
    expect(table.end(one, 'e')).toBeUndefined();
  });

  test('gives an id again once nobody uses it', () => {
    table.open(one, 'e');
    table.end(one, 'e');

    expect(table.open(other, 'e')).toBe('e');
  });

  test('forgets what an agent had open, and of no other', () => {
    table.open(one, 'e');
    table.open(other, 'f');

    table.forget(one);

    expect(table.end(one, 'e')).toBeUndefined();
    expect(table.open(other, 'e')).toBe('e');
    expect(table.end(other, 'f')).toBe('f');
  });

  test('refuses an agent that has too many open, and no other', () => {
    for (let n = 0; n < maxOpenRequests; n++) table.open(one, `${n}`);

    expect(table.open(one, 'one more')).toBeUndefined();
    expect(table.open(other, 'first')).toBe('first');
    table.end(one, '0');
    expect(table.open(one, 'one more')).toBe('one more');
  });
});

import { ElicitationTable } from '../../src/acp/elicitations';
import { maxOpenRequests } from '../../src/acp/sessions/request-table';
import { Child } from '../../src/acp/child/child';

/** A child is only told from others here. */
const newChild = (): Child => Object.create(Child.prototype) as Child;

describe('ElicitationTable', () => {
  const [one, other] = [newChild(), newChild()];
  let table: ElicitationTable;
  beforeEach(() => (table = new ElicitationTable()));

  test('gives an agent another id for one that it uses again, and ends the first', () => {
    table.open(one, 'e');

    const again = table.open(one, 'e');

    expect(again).not.toBe('e');
    expect(table.end(one, 'e')).toBe(again);
    expect(table.open(other, 'e')).toBe('e');
  });

  test('refuses an agent that has too many open, and no other', () => {
    for (let n = 0; n < maxOpenRequests; n++) table.open(one, `${n}`);

    expect(table.open(one, 'one more')).toBeUndefined();
    expect(table.open(other, 'first')).toBe('first');
    table.end(one, '0');
    expect(table.open(one, 'one more')).toBe('one more');
  });
});

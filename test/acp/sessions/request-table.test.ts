import { setImmediate as settled } from 'node:timers/promises';
import { maxOpenRequests, RequestTable } from '../../../src/acp/sessions/request-table';
import type { Child } from '../../../src/acp/child/child';

/** The table only tells children apart. */
const [a, b] = [{}, {}] as unknown[] as [Child, Child];

let table: RequestTable;

beforeEach(() => (table = new RequestTable()));

describe('requests of the editor', () => {
  test('are too many when so many are open', () => {
    const requests = Array.from({ length: maxOpenRequests }, (_, i) => table.begin(`${i}`)!);
    expect(table.isFull).toBe(true);

    table.finish(requests[0]!);

    expect(table.isFull).toBe(false);
  });
});

describe('whenNone', () => {
  test('resolves at once when none is open, else when the last is over', async () => {
    await table.whenNone();
    const [one, two] = [table.begin('1')!, table.begin('2')!];
    const order: string[] = [];
    const none = table.whenNone().then(() => order.push('none'));

    table.finish(one);
    await settled();
    order.push('one');
    table.finish(two);
    await none;

    expect(order).toEqual(['one', 'none']);
  });
});

describe('requests of agents', () => {
  test('are found by the id that their agent gave them, the last of several', () => {
    const [first, second, other] = [a, a, b].map((child) =>
      table.pass({ child, childId: '1', method: 'm' })!,
    );

    const { ofAgents } = table;
    expect([ofAgents.named(a, '1'), ofAgents.named(b, '1'), ofAgents.named(a, '2')]).toEqual([
      second,
      other,
      undefined,
    ]);
    ofAgents.take(second!.editorId);
    ofAgents.take(first!.editorId);
    expect(ofAgents.named(a, '1')).toBeUndefined();
  });

  test('of one agent are bounded, without a look at each, and others go on', () => {
    const looks = jest.spyOn(table.ofAgents, 'all', 'get');
    const pass = (child: Child) => table.pass({ child, childId: '1', method: 'm' });
    const passed = Array.from({ length: maxOpenRequests }, () => pass(a)!);
    expect(pass(a)).toBeUndefined();
    expect(pass(b)).toBeDefined();
    expect(looks).not.toHaveBeenCalled();

    table.ofAgents.take(passed[0]!.editorId);

    expect(pass(a)).toBeDefined();
    expect(pass(a)).toBeUndefined();
  });
});

describe('requests of our own', () => {
  test('end without an answer when there will be none any more', () => {
    const ended: unknown[] = [];
    const [one] = ['one', 'two'].map((name) => table.newEditorId((answer) => ended.push([name, answer])));

    table.failOwn();
    table.failOwn();

    expect(ended).toEqual([
      ['one', undefined],
      ['two', undefined],
    ]);
    expect(table.settleOwn(one!)).toBe(false);
  });
});

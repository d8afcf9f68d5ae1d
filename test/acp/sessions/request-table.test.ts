import { maxOpenRequests, RequestTable } from '../../../src/acp/sessions/request-table';
import type { Message } from '../../../src/rpc/message';
import type { WorkspaceChild } from '../../../src/acp/child/workspace-child';

/** The table only tells children apart. */
const [a, b] = [{}, {}] as unknown[] as [WorkspaceChild, WorkspaceChild];

let table: RequestTable;

beforeEach(() => (table = new RequestTable()));

describe('requests of the editor', () => {
  test('are open from their begin to their one finish', () => {
    const request = table.begin('7', 'session/prompt')!;

    expect(request).toEqual({ id: '7', method: 'session/prompt', targets: [], isCancelled: false });
    expect(table.find('7')).toBe(request);
    expect(table.finish(request)).toBe(true);
    expect(table.finish(request)).toBe(false);
    expect(table.find('7')).toBeUndefined();
  });

  test('are told apart by the text of their ids', () => {
    const ids = ['1', '"1"', '1.0', 'null', '"null"'];

    expect(ids.map((id) => table.begin(id, 'm')).map((request) => request?.id)).toEqual(ids);
  });

  test('cannot begin under an id that is open, and can once that is over', () => {
    const first = table.begin('7', 'm')!;
    expect(table.begin('7', 'm')).toBeUndefined();
    table.finish(first);

    const second = table.begin('7', 'm')!;

    expect(table.finish(first)).toBe(false);
    expect(table.find('7')).toBe(second);
    expect(table.finish(second)).toBe(true);
  });

  test('are too many when so many are open', () => {
    const requests = Array.from({ length: maxOpenRequests }, (_, i) => table.begin(`${i}`, 'm')!);
    expect(table.isFull).toBe(true);

    table.finish(requests[0]!);

    expect(table.isFull).toBe(false);
  });
});

describe('whenNone', () => {
  test('resolves at once when none is open, else when the last is over', async () => {
    await table.whenNone();
    const [one, two] = [table.begin('1', 'prompt')!, table.begin('2', 'other')!];
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
  test('get ids of ours, each another, whatever the agent calls them', () => {
    const passed = [a, a, b].map((child) => table.pass({ child, childId: '1', method: 'm' })!);

    expect(new Set(passed.map(({ editorId }) => editorId)).size).toBe(3);
    expect(passed.map(({ editorId }) => table.peek(editorId))).toEqual(passed);
    expect(passed.map(({ childId }) => childId)).toEqual(['1', '1', '1']);
  });

  test('are taken out once, and their ids are not given again', () => {
    const first = table.pass({ child: a, childId: '1', method: 'm' })!;

    expect(table.take(first.editorId)).toBe(first);
    expect(table.take(first.editorId)).toBeUndefined();
    expect(table.peek(first.editorId)).toBeUndefined();
    expect(table.pass({ child: a, childId: '1', method: 'm' })?.editorId).not.toBe(first.editorId);
  });

  test('are listed by agent, or all', () => {
    const [one, two, three] = [a, b, a].map((child) => table.pass({ child, childId: '1', method: 'm' })!);

    expect(table.openOfAgents(a)).toEqual([one, three]);
    expect(table.openOfAgents(b)).toEqual([two]);
    expect(table.openOfAgents()).toEqual([one, two, three]);
    table.take(two!.editorId);
    expect(table.openOfAgents(b)).toEqual([]);
  });

  test('are found by the id that their agent gave them, the last of several', () => {
    const [first, second, other] = [a, a, b].map((child) =>
      table.pass({ child, childId: '1', method: 'm' })!,
    );

    expect([table.named(a, '1'), table.named(b, '1'), table.named(a, '2')]).toEqual([
      second,
      other,
      undefined,
    ]);
    table.take(second!.editorId);
    table.take(first!.editorId);
    expect(table.named(a, '1')).toBeUndefined();
  });

  test('of an agent that has too many are refused without a look at each', () => {
    const child = a;
    for (let n = 0; n < maxOpenRequests; n++) table.pass({ child, childId: String(n), method: 'm' });
    const looks = jest.spyOn(table, 'openOfAgents');

    expect(table.pass({ child, childId: 'x', method: 'm' })).toBeUndefined();
    expect(looks).not.toHaveBeenCalled();
  });

  test('of one agent are bounded, and others go on', () => {
    const pass = (child: WorkspaceChild) => table.pass({ child, childId: '1', method: 'm' });
    const passed = Array.from({ length: maxOpenRequests }, () => pass(a)!);
    expect(pass(a)).toBeUndefined();
    expect(pass(b)).toBeDefined();

    table.take(passed[0]!.editorId);

    expect(pass(a)).toBeDefined();
    expect(pass(a)).toBeUndefined();
  });
});

describe('requests of our own', () => {
  test('are answered once, under ids that no request of an agent has', () => {
    const answers: unknown[] = [];
    const own = table.newEditorId((answer) => answers.push(answer));
    const passed = table.pass({ child: a, childId: own, method: 'm' })!;
    const answer = {} as Message;

    expect(table.settleOwn(passed.editorId, answer)).toBe(false);
    expect(table.take(own)).toBeUndefined();
    expect(table.settleOwn(`${own}.0`, answer)).toBe(true);
    expect(table.settleOwn(own, answer)).toBe(false);
    expect(answers).toEqual([answer]);
  });

  test('whose answer nobody waits for are not answered', () => {
    expect(table.settleOwn(table.newEditorId())).toBe(false);
  });

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

/** Lets every promise that can resolve do so. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

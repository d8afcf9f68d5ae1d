import { CaiError } from '../../../src/errors';
import { scan, type Message } from '../../../src/rpc/message';
import { ChildRequests, type ChildRequest } from '../../../src/acp/child/child-requests';

const reason = new CaiError('AGENT_EXITED', 'gone');
const session = {};

let open: ChildRequests;
/** What the askers were told, in order. */
let told: string[];

beforeEach(() => {
  open = new ChildRequests();
  told = [];
});

describe('ChildRequests', () => {
  test('keeps a request open whose asker throws over the answer, so that it can fail', () => {
    const onAnswer = (): void => {
      throw new RangeError('too deep');
    };
    open.add('7', { ...asker('seven'), onAnswer });

    expect(() => open.settle('7', answer('7'))).toThrow('too deep');
    open.failAll(reason);

    expect(told).toEqual(['seven: gone']);
    expect(open.size).toBe(0);
  });

  test('fails all exactly once, in their order, also what is asked again meanwhile', () => {
    open.add('1', { ...asker('one'), onFailure: () => told.push('one') && open.fail('2', reason) });
    open.add('2', asker('two'));
    open.add('3', asker('three'));

    open.failAll(reason);
    open.failAll(reason);

    expect(told).toEqual(['one', 'two: gone', 'three: gone']);
    expect(open.size).toBe(0);
  });
});

describe('whenQuiet', () => {
  const prompt = { method: 'session/prompt', session };

  test('calls back each who waits for a session, once, and nobody else', () => {
    const other = {};
    open.add('1', asker('one', prompt));
    open.add('2', asker('two', { ...prompt, session: other }));
    open.turns.whenQuiet(session, () => told.push('quiet'));
    open.turns.whenQuiet(session, () => told.push('quiet too'));
    open.turns.whenQuiet(other, () => told.push('other is quiet'));

    open.settle('1', answer('1'));
    open.settle('2', answer('2'));
    open.add('3', asker('three', prompt));
    open.settle('3', answer('3'));

    expect(told).toEqual([
      'one: answer 1',
      'quiet',
      'quiet too',
      'two: answer 2',
      'other is quiet',
      'three: answer 3',
    ]);
  });

  test('does not call back when the next prompt is sent at the answer of the one before', () => {
    open.add('1', { ...asker('one', prompt), onAnswer: () => open.add('2', asker('two', prompt)) });
    open.turns.whenQuiet(session, () => told.push('quiet'));

    open.settle('1', answer('1'));
    expect(told).toEqual([]);
    open.settle('2', answer('2'));

    expect(told).toEqual(['two: answer 2', 'quiet']);
  });
});

function asker(name: string, more: Partial<ChildRequest> = {}): ChildRequest {
  return {
    resultPlan: undefined,
    editorId: undefined,
    method: 'm',
    onAnswer: (message) => told.push(`${name}: answer ${message.id}`),
    onFailure: (failure) => told.push(`${name}: ${failure.message}`),
    ...more,
  };
}

function answer(id: string): Message {
  const nothing = { params: () => undefined, result: () => undefined, error: undefined };
  return scan(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`), nothing);
}

import { CaiError } from '../../../src/errors';
import { planOf } from '../../../src/rpc/json/wanted-places';
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
  test('hands the answer to who asked, once', () => {
    open.add('7', asker('seven'));
    open.add('8', asker('eight'));

    expect(open.settle('7', answer('7'))).toBe(true);
    expect(open.settle('7', answer('7'))).toBe(false);
    expect(open.settle('9', answer('9'))).toBe(false);

    expect(told).toEqual(['seven: answer 7']);
    expect(open.size).toBe(1);
  });

  test('tells who asked that what came is no answer', () => {
    open.add('7', asker('seven'));

    expect(open.fail('7', reason)).toBe(true);
    expect(open.fail('7', reason)).toBe(false);

    expect(told).toEqual(['seven: gone']);
    expect(open.size).toBe(0);
  });

  test('fails what came after so many bytes, and nothing else', () => {
    open.add('7', asker('seven'), 0);
    open.add('8', asker('eight'), 100);
    open.add('9', asker('nine'), 200);

    open.failAfter(100, reason);

    expect(told).toEqual(['eight: gone', 'nine: gone']);
    expect(open.size).toBe(1);
  });

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

  test('remembers what is wanted of the answer, and on whose behalf it was asked', () => {
    const resultPlan = planOf({ sessionId: 'session' });
    open.add('"x"', { ...asker('x'), resultPlan, editorId: '1' });

    expect(open.find('"x"')).toMatchObject({ childId: '"x"', resultPlan, editorId: '1' });
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

  test('calls back at once when no prompt of the session is open', () => {
    open.add('1', asker('other', { method: 'session/prompt', session: {} }));
    open.add('2', asker('mode', { method: 'session/set_mode', session }));

    open.turns.whenQuiet(session, () => told.push('quiet'));

    expect(told).toEqual(['quiet']);
    expect(open.turns.has(session)).toBe(false);
  });

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

  test.each([
    ['an answer that could not be passed on', () => open.fail('1', reason)],
    ['the end of the agent', () => open.failAll(reason)],
  ])('calls back after %s', (_, happen) => {
    open.add('1', asker('prompt', prompt));
    open.turns.whenQuiet(session, () => told.push('quiet'));

    happen();

    expect(told).toEqual(['prompt: gone', 'quiet']);
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

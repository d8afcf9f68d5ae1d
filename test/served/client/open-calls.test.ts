import { OpenCalls } from '../../../src/served/client/open-calls';
import { scanCall, type Message } from '../../../src/rpc/message';
import { planOf } from '../../../src/rpc/json';

const plan = planOf({ requestId: 'requestId' });
const message = (text: string): Message => scanCall(Buffer.from(text), plan);
const asked = (id: string): Message => message(`{"jsonrpc":"2.0","id":${id},"method":"_ask"}`);
const answer = (id: string): Message => message(`{"jsonrpc":"2.0","id":${id},"result":1}`);
const cancel = (id: string): Message =>
  message(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id}}}`);

/** The id of a line. */
function idOf(line: Buffer): string {
  return scanCall(line, plan).id!;
}

describe('requests of the editor', () => {
  test('are open until they are answered, also if the server writes an id otherwise', () => {
    const calls = new OpenCalls();
    for (const id of ['1', '"1"', '5'])
      calls.open({ id, method: '_ask', sessionId: undefined, kept: undefined });

    expect(calls.finish('5.0')).toMatchObject({ id: '5' });
    expect(calls.finish('5')).toBeUndefined();
    expect(calls.finish('"1"')).toMatchObject({ id: '"1"' });
    expect(calls.takeAll()).toMatchObject([{ id: '1' }]);
    expect(calls.ofEditor).toEqual([]);
  });
});

describe('requests of the server', () => {
  test('and all about them pass as they are', () => {
    const calls = new OpenCalls();

    expect(calls.toEditor(asked('1'))).toEqual(asked('1').line);
    expect(calls.cancelToEditor(cancel('1'))).toEqual(cancel('1').line);
    expect(calls.toServer(answer('1'))).toEqual(answer('1').line);
    // Whether it is for anybody is the server's to say.
    expect(calls.toServer(answer('2'))).toEqual(answer('2').line);
  });

  test('that are withdrawn keep their ids from others until they are answered', () => {
    const calls = new OpenCalls();
    calls.toEditor(asked('1'));
    calls.toEditor(asked('2'));
    calls.toServer(answer('2'));
    expect(calls.withdrawAll()).toEqual(['1']);

    const id = idOf(calls.toEditor(asked('1')));
    expect(id).toMatch(/^"cai-/);
    expect(calls.toEditor(asked('2'))).toEqual(asked('2').line);
    expect(calls.cancelToEditor(cancel('1')).toString()).toBe(
      `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id}}}`,
    );
    expect(calls.toServer(answer('1.0'))).toBeUndefined();
    expect(calls.toServer(answer(id))).toEqual(answer('1').line);
    expect(calls.toEditor(asked('1'))).toEqual(asked('1').line);
  });

  test('are withdrawn by the ids that the editor knows', () => {
    const calls = new OpenCalls();
    calls.toEditor(asked('1'));
    calls.withdrawAll();
    const id = idOf(calls.toEditor(asked('1')));

    expect(calls.withdrawAll()).toEqual([id]);
    expect(calls.toServer(answer(id))).toBeUndefined();
    expect(calls.toServer(answer('1'))).toBeUndefined();
  });
});

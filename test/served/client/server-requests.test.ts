import { ServerRequests } from '../../../src/served/client/server-requests';
import { scanCall, type Message } from '../../../src/rpc/message';
import { wantedIn } from '../../../src/rpc/json';

const plan = wantedIn({ requestId: 'requestId' });
const message = (text: string): Message => scanCall(Buffer.from(text), plan);
const asked = (id: string): Message => message(`{"jsonrpc":"2.0","id":${id},"method":"_ask"}`);
const answer = (id: string): Message => message(`{"jsonrpc":"2.0","id":${id},"result":1}`);
const cancel = (id: string): Message =>
  message(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id}}}`);

/** The id of a line. */
function idOf(line: Buffer): string {
  return scanCall(line, plan).id!;
}

describe('ServerRequests', () => {
  test('passes requests and all about them as they are', () => {
    const calls = new ServerRequests();

    expect(calls.toEditor(asked('1'))).toEqual(asked('1').line);
    expect(calls.cancelToEditor(cancel('1'))).toEqual(cancel('1').line);
    expect(calls.toServer(answer('1'))).toEqual(answer('1').line);
    // Whether it is for anybody is the server's to say.
    expect(calls.toServer(answer('2'))).toEqual(answer('2').line);
  });

  test('keeps the ids of withdrawn requests from others until they are answered', () => {
    const calls = new ServerRequests();
    calls.toEditor(asked('1'));
    calls.toEditor(asked('2'));
    calls.toServer(answer('2'));
    expect(calls.withdrawAll()).toEqual(['1']);

    const id = idOf(calls.toEditor(asked('1'))!);
    expect(id).toMatch(/^"cai-/);
    expect(calls.toEditor(asked('2'))).toEqual(asked('2').line);
    expect(calls.cancelToEditor(cancel('1')).toString()).toBe(
      `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id}}}`,
    );
    expect(calls.toServer(answer('1.0'))).toBeUndefined();
    expect(calls.toServer(answer(id))).toEqual(answer('1').line);
    expect(calls.toEditor(asked('1'))).toEqual(asked('1').line);
  });

  test('are no more than 10,000, those included that were withdrawn', () => {
    const calls = new ServerRequests();
    for (let id = 1; id < 10_000; id++) calls.toEditor(asked(String(id)));
    calls.withdrawAll();

    expect(calls.toEditor(asked('"last"'))).toBeDefined();
    expect(calls.toEditor(asked('"more"'))).toBeUndefined();
    calls.toServer(answer('1'));
    expect(calls.toEditor(asked('"more"'))).toBeDefined();
  });

  test('withdraws requests by the ids that the editor knows', () => {
    const calls = new ServerRequests();
    calls.toEditor(asked('1'));
    calls.withdrawAll();
    const id = idOf(calls.toEditor(asked('1'))!);

    expect(calls.withdrawAll()).toEqual([id]);
    expect(calls.toServer(answer(id))).toBeUndefined();
    expect(calls.toServer(answer('1'))).toBeUndefined();
  });
});

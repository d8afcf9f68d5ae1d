import { listParams, listResult } from '../../../src/rpc/protocol/fields';
import { pageParams, pageText } from '../../../src/acp/calls/list-page';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { scan, scanCall, type Message } from '../../../src/rpc/message';
import { createPathMap } from '../../../src/system/paths/path-map';

const map = createPathMap({ hostRoots: ['/w'], agentRoots: ['/mount'] });

describe('pageParams', () => {
  test.each([
    ['{"cwd":"/w/a","cursor":"ours","z":1.0}', '"theirs"', '{"cwd":"/mount/a","cursor":"theirs","z":1.0}'],
    ['{"cursor":"ours"}', undefined, '{"cursor":null}'],
    ['{ }', undefined, '{ }'],
    [undefined, undefined, undefined],
  ])('of %j with the cursor %s are %j', (params, cursor, expected) => {
    const body = params === undefined ? '' : `,"params":${params}`;
    const line = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"session/list"${body}}`);

    expect(pageParams(scanCall(line, wantedIn(listParams)), map, cursor)).toBe(expected);
  });
});

describe('pageText', () => {
  test.each([
    ['{"sessions":[{"sessionId":"1"}],"z":1.0}', '"ours"', '{"nextCursor":"ours","sessions":[7,8],"z":1.0}'],
    ['{"nextCursor":"theirs","sessions":[]}', '"ours"', '{"nextCursor":"ours","sessions":[7,8]}'],
    ['{"nextCursor":"theirs","sessions":[]}', 'null', '{"nextCursor":null,"sessions":[7,8]}'],
    ['{"sessions":[]}', 'null', '{"sessions":[7,8]}'],
    ['{}', 'null', '{"sessions":[7,8]}'],
    ['{}', '"ours"', '{"nextCursor":"ours","sessions":[7,8]}'],
  ])('of %s with the cursor %s is %s', (result, cursor, expected) => {
    expect(pageText(answer(result), ['7', '8'], cursor)).toBe(expected);
  });
});

function answer(result: string): Message {
  const plan = wantedIn(listResult);
  const plans = { params: () => undefined, result: () => plan, error: undefined };
  return scan(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`), plans);
}

import * as fields from '../../src/rpc/protocol/fields';
import { editsOfCreate, wishOf } from '../../src/acp/terminals';
import { wantedIn } from '../../src/rpc/json/wanted-places';
import { scan, type Message } from '../../src/rpc/message';
import { splice } from '../../src/rpc/splice';
import { expectedError } from '../expected-error';

const plan = wantedIn(fields.terminalCreate);

/** A `terminal/create` of an agent with these params, JSON text. */
function create(params?: string): Message {
  const body = params === undefined ? '' : `,"params":${params}`;
  const line = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"terminal/create"${body}}`);
  return scan(line, { params: () => plan, result: () => undefined, error: undefined });
}

describe('wishOf', () => {
  test('takes a command without arguments for a line', () => {
    const params = '{"command":"a | b","args":null,"env":null,"cwd":null,"outputByteLimit":null}';
    expect(wishOf(create(params))).toEqual({ argv: ['a | b'], env: [], cwd: undefined, shell: true });
  });

  test.each([
    [undefined, 'command'],
    ['{}', 'command'],
    ['{"command":["a"]}', 'command'],
    [String.raw`{"command":"\ud800"}`, 'command'],
    ['{"command":"a","args":"b"}', 'args'],
    ['{"command":"a","args":[1]}', 'args'],
    ['{"command":"a","env":{"A":"b"}}', 'env'],
    ['{"command":"a","env":[{"name":"A"}]}', 'env'],
    ['{"command":"a","env":[{"name":"","value":""}]}', 'env'],
    ['{"command":"a","env":[{"name":"A=B","value":""}]}', 'env'],
    [String.raw`{"command":"a","env":[{"name":"A","value":"\u0000"}]}`, 'env'],
    ['{"command":"a","cwd":"b"}', 'cwd'],
    ['{"command":"a","cwd":1}', 'cwd'],
    ['{"command":"a","outputByteLimit":-1}', 'outputByteLimit'],
    ['{"command":"a","outputByteLimit":"1"}', 'outputByteLimit'],
  ])('refuses %s, naming no value', (params, named) => {
    expect(() => wishOf(create(params))).toThrow(
      expect.objectContaining(
        expectedError('INVALID_PARAMS', new RegExp(`^terminal/create: "${named}" must be [a-z ]+$`)),
      ) as Error,
    );
  });
});

describe('editsOfCreate', () => {
  const host = { command: '/usr/bin/node', args: ['/opt/cai', 'terminal', '0a'] as [string, string, string] };

  /** The params that the editor gets for these. */
  function paramsFor(params: string): string {
    const message = create(params);
    const line = splice(message.line, editsOfCreate(message, host, '/home/a "b"'));
    return String(line).slice(String(line).indexOf('"params":') + 9, -2);
  }

  test('replaces what would run, and leaves every other byte', () => {
    const params =
      '{ "env":[{"name":"X","value":"y"}] ,"_meta":{"command":1.0},"args":["b"],"outputByteLimit":10,"command" : "a","cwd":"/w","x":[] }';

    expect(paramsFor(params)).toBe(
      '{ "env":[] ,"_meta":{"command":1.0},"args":["/opt/cai","terminal","0a"],"outputByteLimit":10,' +
        String.raw`"command" : "/usr/bin/node","cwd":"/home/a \"b\"","x":[] }`,
    );
  });

  test('adds what the agent left out, but no environment', () => {
    expect(paramsFor('{"command":"a; b","sessionId":"s"}')).toBe(
      String.raw`{"command":"/usr/bin/node","args":["/opt/cai","terminal","0a"],"cwd":"/home/a \"b\"","sessionId":"s"}`,
    );
  });

  test('replaces null, and keys that are written with escapes', () => {
    expect(
      JSON.parse(paramsFor(String.raw`{"comm\u0061nd":"a","args":null,"env":null,"\u0063wd":null}`)),
    ).toEqual({ command: host.command, args: host.args, env: [], cwd: '/home/a "b"' });
  });

  test.each([
    '{"command":"a","Command":"evil"}',
    String.raw`{"command":"a","arg\u017f":["evil"],"args":[]}`,
    '{"command":"a","cwd":"/a","cwd":"/b"}',
    '{"command":"a","ARGS":["evil"]}',
    String.raw`{"command":"a","arg\u017f":["evil"]}`,
    '{"command":"a","Env":[]}',
    '{"COMMAND":"a"}',
  ])('is not asked for a line that two editors would read differently: %s', (params) => {
    expect(create(params)).toMatchObject({ kind: 'defect', defect: 'duplicate' });
  });
});

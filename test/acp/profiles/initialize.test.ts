import * as fields from '../../../src/rpc/protocol/fields';
import { readAgentHello, readHello, type HelloOptions } from '../../../src/acp/profiles/initialize';
import { CaiError } from '../../../src/errors';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { scan, type Message } from '../../../src/rpc/message';
import { codeOf } from '../../support/code-of';

const withFiles = { hasFiles: true };
const withSignIn = { signIn: { isPossible: true } };
const none: HelloOptions = {
  hasFiles: false,
  terminals: 'off',
  signIn: { isPossible: false },
};
const all: HelloOptions = { ...withFiles, ...withSignIn, terminals: 'container' };

describe('readHello', () => {
  test('gives children the editor’s own bytes but for what is withheld', () => {
    const params =
      '{"_x":1.0, "protocolVersion": 7 ,"clientCapabilities":{"terminal":true,"auth":{"terminal":true,"x":1},' +
      '"_meta":{"terminal-auth":{"a":1},"y":[]},"fs":{"readTextFile":true,"writeTextFile":false}},"clientInfo":null}';

    expect(readHello(hello(params), { ...none, ...withFiles }).childParams).toBe(
      '{"_x":1.0, "protocolVersion": 1 ,"clientCapabilities":{"terminal":false,"auth":{"terminal":false,"x":1},' +
        '"_meta":{"terminal-auth":false,"y":[]},"fs":{"readTextFile":true,"writeTextFile":false}},"clientInfo":null}',
    );
  });

  test('tells of sign-ins in a terminal where they run in a container', () => {
    const params =
      '{"protocolVersion":1,"clientCapabilities":{"terminal":true,"auth":{"terminal":true},"_meta":{"terminal-auth":{"a":1}}}}';

    const { childParams } = readHello(hello(params), { ...none, ...withSignIn });

    expect(childParams).toBe(params.replace('"terminal":true', '"terminal":false'));
  });

  test('withholds files too where they are not served', () => {
    const params =
      '{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}';

    expect(readHello(hello(params), none).childParams).toBe(
      '{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false}}}',
    );
  });

  test.each(['{"protocolVersion":1}', '{"protocolVersion":1,"clientCapabilities":null}'])(
    'takes none from %s',
    (params) => expect(readHello(hello(params), all)).toEqual({ childParams: params, capabilities: {} }),
  );

  test.each([
    undefined,
    'null',
    '{}',
    '[]',
    '{"protocolVersion":"1"}',
    '{"protocolVersion":-1}',
    '{"protocolVersion":1.5}',
  ])('fails when params are %s, which name no version', (params) => {
    expect(codeOf(() => readHello(hello(params), all))).toBe('INVALID_PARAMS');
  });
});

describe('readAgentHello', () => {
  test.each(['{"protocolVersion":1}', '{"protocolVersion":1,"agentCapabilities":null}'])(
    'takes no capabilities from %s',
    (result) => {
      expect(readAgentHello(answer(result), 'a', [])).toEqual({
        editorResult: result,
        agentResult: result,
        capabilities: {},
      });
    },
  );

  test('gives the editor what the edits leave, and keeps what the agent said', () => {
    const message = answer('{"protocolVersion":1,"_meta":{"terminal-auth":{"command":"rm"},"x":1}}');
    const [field] = message.fields.filter(({ kind }) => kind === 'hostCommand');

    const hello = readAgentHello(message, 'a', [{ start: field!.start, end: field!.end, text: 'null' }]);

    expect(hello).toMatchObject({
      editorResult: '{"protocolVersion":1,"_meta":{"terminal-auth":null,"x":1}}',
      agentResult: '{"protocolVersion":1,"_meta":{"terminal-auth":{"command":"rm"},"x":1}}',
    });
  });

  test.each(['{"protocolVersion":2}', '{"protocolVersion":"1"}', '{}', 'null', '[]', '"1"'])(
    'fails for %s, which does not speak our version',
    (result) => expect(codeOf(() => readAgentHello(answer(result), 'a', []))).toBe('AGENT_START'),
  );

  test.each([
    ['{"code":-1,"message":"no key"}', 'agent "a" refused to initialize: no key'],
    ['{"code":-1}', 'agent "a" refused to initialize: no reason given'],
    ['null', 'agent "a" refused to initialize: no reason given'],
  ])('fails for the error %s', (error, message) => {
    const refusal = read(`{"jsonrpc":"2.0","id":1,"error":${error}}`);

    expect(() => readAgentHello(refusal, 'a', [])).toThrow(new CaiError('AGENT_START', message));
  });
});

function read(text: string): Message {
  return scan(Buffer.from(text), {
    params: () => wantedIn(fields.initializeParams),
    result: () => wantedIn(fields.initializeResult),
    error: wantedIn(fields.errorObject),
  });
}

function hello(params: string | undefined): Message {
  const body = params === undefined ? '' : `,"params":${params}`;
  return read(`{"jsonrpc":"2.0","id":1,"method":"initialize"${body}}`);
}

function answer(result: string): Message {
  return read(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
}

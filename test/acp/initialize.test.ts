import * as fields from '../../src/acp/fields';
import { minimalResult, readAgentHello, readHello, signInEdits } from '../../src/acp/initialize';
import { CaiError } from '../../src/errors';
import { compilePlan } from '../../src/rpc/plan';
import { scan } from '../../src/rpc/scan';
import type { Message } from '../../src/rpc/scan';
import { cut } from '../../src/rpc/splice';

describe('readHello', () => {
  test('gives children the editor’s own bytes but for what is withheld', () => {
    const params =
      '{"_x":1.0, "protocolVersion": 7 ,"clientCapabilities":{"terminal":true,"auth":{"terminal":true,"x":1},' +
      '"_meta":{"terminal-auth":{"a":1},"y":[]},"fs":{"readTextFile":true,"writeTextFile":false}},"clientInfo":null}';

    const { childParams } = readHello(hello(params), true);

    expect(childParams).toBe(
      '{"_x":1.0, "protocolVersion": 1 ,"clientCapabilities":{"terminal":false,"auth":{"terminal":false,"x":1},' +
        '"_meta":{"terminal-auth":false,"y":[]},"fs":{"readTextFile":true,"writeTextFile":false}},"clientInfo":null}',
    );
  });

  test('withholds files too where they are not served', () => {
    const params =
      '{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}';

    expect(readHello(hello(params), false).childParams).toBe(
      '{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false}}}',
    );
  });

  test('keeps the capabilities as they were sent', () => {
    const params = '{"protocolVersion":1,"clientCapabilities":{"terminal":true,"fs":{"readTextFile":true}}}';

    expect(readHello(hello(params), false).capabilities).toEqual({
      terminal: true,
      fs: { readTextFile: true },
    });
  });

  test.each(['{"protocolVersion":1}', '{"protocolVersion":1,"clientCapabilities":null}'])(
    'takes none from %s',
    (params) => {
      expect(readHello(hello(params), true)).toEqual({ childParams: params, capabilities: {} });
    },
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
    expect(codeOf(() => readHello(hello(params), true))).toBe('INVALID_PARAMS');
  });
});

describe('readAgentHello', () => {
  test('gives the editor the agent’s own bytes', () => {
    const result =
      '{"_x":1.0, "protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[ ]}';

    expect(readAgentHello(answer(result), 'a')).toEqual({
      editorResult: result,
      capabilities: { loadSession: true },
    });
  });

  test.each(['{"protocolVersion":1}', '{"protocolVersion":1,"agentCapabilities":null}'])(
    'takes no capabilities from %s',
    (result) => {
      expect(readAgentHello(answer(result), 'a')).toEqual({ editorResult: result, capabilities: {} });
    },
  );

  test.each(['{"protocolVersion":2}', '{"protocolVersion":"1"}', '{}', 'null', '[]', '"1"'])(
    'fails for %s, which does not speak our version',
    (result) => {
      expect(codeOf(() => readAgentHello(answer(result), 'a'))).toBe('AGENT_START');
    },
  );

  test.each([
    ['{"code":-1,"message":"no key"}', 'agent "a" refused to initialize: no key'],
    ['{"code":-1}', 'agent "a" refused to initialize: no reason given'],
    ['null', 'agent "a" refused to initialize: no reason given'],
  ])('fails for the error %s', (error, message) => {
    const refusal = read(`{"jsonrpc":"2.0","id":1,"error":${error}}`);

    expect(() => readAgentHello(refusal, 'a')).toThrow(new CaiError('AGENT_START', message));
  });
});

describe('signInEdits', () => {
  test.each([
    ['nothing to take out', '[{"id":"a","n":1.0}, {"id":"b","type":"env_var"}]'],
    ['no methods', '[]'],
    ['null', 'null'],
  ])('leave the very bytes where there is %s', (_, methods) => {
    expect(signedIn(methods)).toBe(methods);
  });

  test('take out methods that run in a terminal, and leave the bytes of the others', () => {
    const kept = '{"id":"b", "n":18446744073709551615,"x":1.0}';

    expect(signedIn(`[{"id":"a","type":"terminal","args":["x"]},${kept},{"type":"t\\u0065rminal"}]`)).toBe(
      `[${kept}]`,
    );
  });

  test('take the command out of a method that has one beside', () => {
    expect(signedIn('[{"id":"a","_meta":{"x":1,"terminal-auth":{"command":"rm"}}}]')).toBe(
      '[{"id":"a","_meta":{"x":1}}]',
    );
    expect(signedIn('[{"id":"a","_meta":{"terminal-aut\\u0068":null}}]')).toBe('[{"id":"a","_meta":{}}]');
  });

  test.each([
    ['a type that stands twice', '[{"id":"a","type":"terminal","type":"agent"},{"id":"b"}]'],
    ['a type that stands twice after unescaping', '[{"id":"a","type":"agent","typ\\u0065":"terminal"}]'],
    ['a command that stands twice', '[{"_meta":{"terminal-auth":1,"terminal-auth":2}}]'],
    ['an object in place of the list', '{"0":{"type":"terminal"}}'],
    ['text in place of the list', '"terminal"'],
  ])('take out all where there is %s', (_, methods) => {
    expect(signedIn(methods)).toBe('[]');
  });

  test('take out what is no method', () => {
    expect(signedIn('[null,7,"x",["terminal"],{"id":"a"}]')).toBe('[{"id":"a"}]');
  });

  test('take the command out of the answer itself', () => {
    const message = answer('{"protocolVersion":1,"_meta":{"terminal-auth":{"command":"rm"},"x":1}}');

    expect(edited(message)).toBe('{"protocolVersion":1,"_meta":{"terminal-auth":null,"x":1}}');
  });
});

describe('minimalResult', () => {
  test('promises nothing', () => {
    expect(JSON.parse(minimalResult)).toEqual({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] });
  });
});

function read(text: string): Message {
  return scan(Buffer.from(text), {
    params: () => compilePlan(fields.initializeParams),
    result: () => compilePlan(fields.initializeResult),
    error: compilePlan(fields.errorObject),
  });
}

function hello(params: string | undefined): Message {
  const body = params === undefined ? '' : `,"params":${params}`;
  return read(`{"jsonrpc":"2.0","id":1,"method":"initialize"${body}}`);
}

function answer(result: string): Message {
  return read(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
}

/** The sign-in methods that the editor gets for the agent's. */
function signedIn(methods: string): string {
  const [before, after] = ['{"protocolVersion":1,"authMethods":', ',"x":1}'];
  const text = edited(answer(before + methods + after));
  return text.slice(before.length, -after.length);
}

function edited(message: Message): string {
  return cut(message.line, message.bodyStart, message.bodyEnd, signInEdits(message));
}

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return (error as CaiError).code;
  }
  return 'none';
}

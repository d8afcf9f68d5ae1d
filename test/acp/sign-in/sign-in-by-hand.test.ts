import { Host } from '../../../src/system/host';
import * as fields from '../../../src/rpc/protocol/fields';
import { SignIn } from '../../../src/acp/sign-in/sign-in';
import { SignInByHand } from '../../../src/acp/sign-in/sign-in-by-hand';
import { signInToken } from '../../../src/agent/sign-in-argument';
import { takeToken } from '../../../src/agent/editor-token';
import { openLog } from '../../../src/system/log';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { scan, scanCall, type Message } from '../../../src/rpc/message';
import { editedText } from '../../../src/rpc/splice';
import { newFolder } from '../../support/temp-folder';

const named = (name: string) => ({ name, displayName: 'Its name', command: [name], remedy: '' }) as const;
const log = openLog({ CAI_LOG_LEVEL: 'silent' });
const none = (): undefined => undefined;

describe('SignInByHand', () => {
  const gemini = new SignInByHand(named('gemini'), log, none);
  const authenticate = (methodId: unknown) => call('authenticate', { methodId });

  test('says what to do where an agent asks for a sign-in', () => {
    expect(gemini.hintFor(error('{"code":-32000,"message":"m"}'), call('session/new', {}))).toBe(
      'to sign in, run: cai login gemini',
    );
  });

  test('names the workspace where that has sign-ins of its own', () => {
    const own = new SignInByHand(named('claude'), log, () => '/srv/a b');

    expect(own.hintFor(error('{"code":-32000,"message":"m"}'), undefined)).toBe(
      'to sign in, run: cai login claude --workspace "/srv/a b"',
    );
  });

  test.each(['{"code":-32603,"message":"m"}', '{"message":"m"}'])(
    'says nothing for another error: %s',
    (text) => expect(gemini.hintFor(error(text), call('session/new', {}))).toBeUndefined(),
  );

  test('says it for any error of a sign-in that needs a browser, and for that alone', () => {
    const failed = error('{"code":-32603,"message":"spawn xdg-open ENOENT"}');

    expect(gemini.hintFor(failed, authenticate('oauth-personal'))).toBe('to sign in, run: cai login gemini');
    expect(gemini.hintFor(failed, authenticate('gemini-api-key'))).toBeUndefined();
  });

  test.each([undefined, named('mine')])(
    'knows nothing of an agent outside the catalog or containers',
    (agent) => {
      const other = new SignInByHand(agent, log, none);

      expect(other.hintFor(error('{"code":-32000,"message":"m"}'), undefined)).toBeUndefined();
      expect(other.needsBrowser(authenticate('oauth-personal'))).toBe(false);
    },
  );

  test.each([
    ['oauth-personal', true],
    ['vertex-ai', false],
    [7, false],
  ])('%j needs a browser: %s', (id, needs) => expect(gemini.needsBrowser(authenticate(id))).toBe(needs));

  test('tells somebody who waits for a browser what to do', () => {
    expect(gemini.noBrowser()).toBe(
      'Its name waits for a browser, and its container has no browser: to sign in, run: cai login gemini',
    );
  });
});

describe('a sign-in method that opens a browser', () => {
  const host = new Host({ HOME: newFolder(), XDG_RUNTIME_DIR: newFolder() });
  const method = { id: 'oauth-personal', name: 'Log in with Google', description: 'D' };

  function offered(editorCapabilities: Record<string, unknown>): unknown {
    const message = scan(
      Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"authMethods":[${JSON.stringify(method)}]}}`),
      { params: none, result: () => wantedIn(fields.initializeResult), error: undefined },
    );
    const signIn = new SignIn({ agent: named('gemini'), host, log });
    const edits = signIn.edits(message, { root: '/srv', editorCapabilities });
    const text = editedText(message.line, message.bodyStart, message.bodyEnd, edits);
    return (JSON.parse(text) as { authMethods: unknown[] }).authMethods[0];
  }

  test('runs the agent’s own sign-in in a terminal, where the editor has one', () => {
    const found = offered({ auth: { terminal: true } }) as { args: string[] };

    expect(found).toEqual({ ...method, type: 'terminal', args: [expect.any(String)], env: {} });
    expect(takeToken(host, signInToken(found.args)!)).toMatchObject({ argv: ['gemini'], workspace: '/srv' });
  });

  test('is a command of ours for an editor that runs such', () => {
    expect(offered({ _meta: { 'terminal-auth': true } })).toEqual({
      ...method,
      _meta: {
        'terminal-auth': {
          label: method.name,
          command: process.execPath,
          args: [expect.any(String), 'terminal', expect.any(String)],
          env: {},
        },
      },
    });
  });

  test('stays as it is for any other', () => expect(offered({})).toEqual(method));
});

function error(text: string): Message {
  return scan(Buffer.from(`{"jsonrpc":"2.0","id":1,"error":${text}}`), {
    params: none,
    result: none,
    error: wantedIn(fields.errorObject),
  });
}

function call(method: string, params: unknown): Message {
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return scanCall(Buffer.from(line), wantedIn({}));
}

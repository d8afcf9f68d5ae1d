import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import * as fields from '../../../src/rpc/protocol/fields';
import { SignIn } from '../../../src/acp/sign-in/sign-in';
import { openLog } from '../../../src/system/log';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { scan } from '../../../src/rpc/message';
import { editedText } from '../../../src/rpc/splice';
import { newFolder } from '../../support/temp-folder';

type Json = Record<string, unknown>;
type SignInPlace = Parameters<SignIn['edits']>[1];

const both = { auth: { terminal: true }, _meta: { 'terminal-auth': true } };
const agent = { name: 'mine', displayName: 'Mine', command: ['mine-acp', '--acp'], remedy: '' } as const;

describe('SignIn, against an agent that means harm', () => {
  const runtime = newFolder();
  const terminals = join(runtime, 'containai/terminals');
  const host = new Host({ HOME: newFolder(), XDG_RUNTIME_DIR: runtime });
  const log = openLog({ CAI_LOG_LEVEL: 'silent' });
  const contained = (): SignIn => new SignIn({ agent, host, log });
  const place = (editorCapabilities: Json, root?: string): SignInPlace => ({ root, editorCapabilities });

  /** The sign-in methods that the editor gets for the agent's, JSON text. */
  function signedIn(signIn: SignIn, methods: string, where: SignInPlace = place(both)): string {
    const before = '{"authMethods":';
    const line = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${before}${methods}}}`);
    const message = scan(line, {
      params: () => undefined,
      result: () => wantedIn(fields.initializeResult),
      error: undefined,
    });
    const text = editedText(line, message.bodyStart, message.bodyEnd, signIn.edits(message, where));
    return text.slice(before.length, -1);
  }

  /** The same, parsed. */
  function offered(methods: unknown, where?: SignInPlace, signIn = contained()): Json[] {
    return JSON.parse(signedIn(signIn, JSON.stringify(methods), where)) as Json[];
  }

  test('does not offer a method that is too long to be parsed', () => {
    const long = { id: 'a', x: 'x'.repeat(2 ** 20) };

    expect(offered([long, { id: 'b' }])).toEqual([{ id: 'b' }]);
  });

  test.each([
    ['arguments that are text', { args: 'x' }],
    ['arguments that are numbers', { args: [1] }],
    ['an argument with a NUL', { args: ['a\0b'] }],
    ['an argument that is not Unicode', { args: ['\ud800'] }],
    ['an environment of numbers', { env: { A: 1 } }],
    ['an environment that is text', { env: 'A=b' }],
    ['a variable without a name', { env: { '': 'b' } }],
    ['a variable with = in its name', { env: { 'A=B': 'c' } }],
    ['a list of variables without values', { env: [{ name: 'A' }] }],
    ['a list of text as environment', { env: ['A=b'] }],
  ])('does not offer a login with %s', (_, given) => {
    const run = { command: 'node', ...given };

    expect(offered([{ id: 'a', type: 'terminal', ...given }])).toEqual([]);
    expect(offered([{ id: 'a', _meta: { 'terminal-auth': run } }])).toEqual([{ id: 'a', _meta: {} }]);
  });

  test.each([null, 7, 'rm', [], {}, { command: '' }, { command: ['rm'] }])(
    'takes %j away, which is no command',
    (run) => {
      expect(offered([{ id: 'a', _meta: { 'terminal-auth': run } }])).toEqual([{ id: 'a', _meta: {} }]);
    },
  );

  test('keeps 32 logins ready for each workspace', () => {
    const signIn = contained();
    const many = Array.from({ length: 33 }, (_, index) => ({ type: 'terminal', args: [`${index}`] }));

    expect(offered(many, place(both, '/a'), signIn)).toHaveLength(32);
    const before = readdirSync(terminals).length;
    expect(offered(many, place(both, '/b'), signIn)).toHaveLength(32);
    expect(readdirSync(terminals).length - before).toBe(32);
  });

  test('offers none of an agent elsewhere', () => {
    const methods = [{ type: 'terminal' }, { id: 'a', _meta: { 'terminal-auth': { command: 'x' } } }];

    expect(offered(methods, { ...place(both), isElsewhere: true })).toEqual([{ id: 'a', _meta: {} }]);
  });

  describe.each([
    ['in containers', contained()],
    ['as processes of this machine', new SignIn({ agent: undefined, host, log })],
  ])('with agents %s', (_, signIn) => {
    test.each([
      ...['CAI_LOG_FILE', 'NODE_OPTIONS', 'LD_PRELOAD', 'DYLD_X', 'DOCKER_HOST', 'XDG_STATE_HOME'],
      ...[
        'GIT_SSH',
        'PATH',
        'HOME',
        'Path',
        'BASH_ENV',
        'GCONV_PATH',
        'KUBECONFIG',
        'HTTPS_PROXY',
        'api_key',
      ],
      ...['CAI_CONNECT_TOKEN', 'SSLKEYLOGFILE', 'GIT_CONFIG_KEY_0', 'API_KEY=', 'A-B_KEY', ''],
    ])('takes out a method that would set %s', (name) => {
      const kept =
        '{"id":"b","type":"env_var","vars":[{"name":"OPENAI_API_KEY"},{"name":"GH_TOKEN"},{"name":"ANTHROPIC_BASE_URL"}]}';
      const listed = `{"id":"a","type":"env_var","vars":[{"name":"KEY"},{"name":"${name}"}]}`;
      const single = `{"id":"a","type":"env_var","varName":"${name}"}`;

      expect(signedIn(signIn, `[${listed},${kept},${single}]`)).toBe(`[${kept}]`);
    });

    test.each(['[{"vars":[{"name":"PATH","name":"A"}]}]', '[{"vars":[{"name":"PATH"}],"vars":[]}]'])(
      'takes out all where the variables stand twice: %s',
      (methods) => expect(signedIn(signIn, methods)).toBe('[]'),
    );

    test('takes out of every method what could be run', () => {
      const evil = '"command":"sh","args":["-c"],"env":{"A":"b"}';

      expect(signedIn(signIn, `[{"id":"a",${evil},"n":1},{"id":"b", "n":1.0}]`)).toBe(
        '[{"id":"a","n":1},{"id":"b", "n":1.0}]',
      );
      expect(signedIn(signIn, `[{"id":"a",${evil},"_meta":{"terminal-auth":null}}]`)).toBe(
        '[{"id":"a","_meta":{}}]',
      );
    });
  });
});

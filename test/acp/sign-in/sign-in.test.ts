import { Host } from '../../../src/system/host';
import * as fields from '../../../src/rpc/protocol/fields';
import { SignIn } from '../../../src/acp/sign-in/sign-in';
import { signInToken } from '../../../src/agent/sign-in-argument';
import { hostCommand, takeToken } from '../../../src/agent/editor-token';
import { openLog } from '../../../src/system/log';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { scan, type Message } from '../../../src/rpc/message';
import { editedText } from '../../../src/rpc/splice';
import { newFolder } from '../../support/temp-folder';

type Json = Record<string, unknown>;
type SignInPlace = Parameters<SignIn['edits']>[1];

/** Editors that know the one way, the other, both. */
const terminal = { auth: { terminal: true } };
const runs = { _meta: { 'terminal-auth': true } };
const both = { ...terminal, ...runs };

const agent = { name: 'mine', displayName: 'Mine', command: ['mine-acp', '--acp'], remedy: '' } as const;

describe('SignIn', () => {
  const host = new Host({ HOME: newFolder(), XDG_RUNTIME_DIR: newFolder() });
  const log = openLog({ CAI_LOG_LEVEL: 'silent' });
  const contained = (): SignIn => new SignIn({ agent, host, log });
  const direct = new SignIn({ agent: undefined, host, log });
  const place = (editorCapabilities: Json, root?: string): SignInPlace => ({ root, editorCapabilities });

  /** The sign-in methods that the editor gets for the agent's, JSON text. */
  function signedIn(signIn: SignIn, methods: string, where: SignInPlace = place(both)): string {
    const [before, after] = ['{"protocolVersion":1,"authMethods":', ',"x":1}'];
    const text = edited(signIn, answer(before + methods + after), where);
    return text.slice(before.length, -after.length);
  }

  /** The same, parsed. */
  function offered(methods: unknown, where?: SignInPlace, signIn = contained()): Json[] {
    return JSON.parse(signedIn(signIn, JSON.stringify(methods), where)) as Json[];
  }

  /** What runs in the container for a method of type `terminal`. */
  function orderOf(method: Json | undefined): unknown {
    return takeToken(host, signInToken(method!.args as string[])!);
  }

  function commandOf(method: Json | undefined): Json {
    return (method!._meta as Json)['terminal-auth'] as Json;
  }

  describe('where agents run in containers', () => {
    test('makes of a method that runs in a terminal one that runs ours', () => {
      const given = {
        id: 'tty',
        name: 'T',
        description: 'D',
        type: 'terminal',
        args: ['--login', ''],
        env: { A: 'b' },
      };

      const [method] = offered([given], place(terminal, '/srv'));

      expect(method).toEqual({
        ...given,
        args: [expect.stringMatching(/^--sign-in=[A-Za-z0-9_-]+$/)],
        env: {},
      });
      expect(orderOf(method)).toMatchObject({
        ...{ kind: 'login', agent: 'mine', workspace: '/srv' },
        ...{ argv: ['mine-acp', '--acp', '--login', ''], env: [['A', 'b']] },
      });
    });

    test('makes one that names neither arguments nor environment run the agent’s own command', () => {
      const [method] = offered([{ id: 'tty', name: 'T', type: 'terminal' }]);

      expect(orderOf(method)).toMatchObject({ argv: ['mine-acp', '--acp'], env: [] });
      expect(orderOf(method)).not.toHaveProperty('workspace');
    });

    test('runs a login that no workspace’s agent has offered in the workspace that it is told', () => {
      const signIn = contained();
      signIn.ownRoot = '/own';

      const [without] = offered([{ type: 'terminal' }], place(both), signIn);
      const [within] = offered([{ type: 'terminal' }], place(both, '/srv'), signIn);

      expect(orderOf(without)).toHaveProperty('workspace', '/own');
      expect(orderOf(within)).toHaveProperty('workspace', '/srv');
    });

    test('leaves out what the editor of a served connection would run, as it may be on another machine', () => {
      const served = new SignIn({ agent, host: new Host({ ...host.env, CAI_SERVED: '1' }), log });

      expect(offered([{ type: 'terminal' }, { id: 'k', name: 'K' }], place(both), served)).toEqual([
        { id: 'k', name: 'K' },
      ]);
    });

    test('takes variables as a list, too', () => {
      const env = [{ name: 'A', value: 'b' }];

      expect(orderOf(offered([{ type: 'terminal', env }])[0])).toMatchObject({ env: [['A', 'b']] });
    });

    test('makes of a command that an editor would run ours, and keeps its label', () => {
      const run = {
        command: '/usr/bin/node',
        args: ['/agent', '--login'],
        env: { NODE_OPTIONS: '-r /x' },
        label: 'L',
      };

      const [method] = offered(
        [{ id: 'k', name: 'K', n: 1, _meta: { a: 1, 'terminal-auth': run } }],
        place(runs),
      );

      const { args } = commandOf(method) as { args: string[] };
      expect(method).toEqual({
        ...{ id: 'k', name: 'K', n: 1 },
        _meta: { a: 1, 'terminal-auth': { label: 'L', ...hostCommand(args[2]!), env: {} } },
      });
      expect(takeToken(host, args[2]!)).toMatchObject({
        argv: ['/usr/bin/node', '/agent', '--login'],
        env: [['NODE_OPTIONS', '-r /x']],
      });
    });

    test('does both for a method that has both, for an editor that knows either', () => {
      const method = {
        ...{ id: 'm', name: 'M', type: 'terminal', args: ['--cli'] },
        _meta: { 'terminal-auth': { command: 'node', args: ['x', '--cli'] } },
      };

      const [forBoth] = offered([method], place(both));
      const [forTerminal] = offered([method], place(terminal));
      const [forRuns] = offered([method], place(runs));

      expect(orderOf(forBoth)).toMatchObject({ argv: ['mine-acp', '--acp', '--cli'] });
      expect(takeToken(host, (commandOf(forBoth).args as string[])[2]!)).toMatchObject({
        argv: ['node', 'x', '--cli'],
      });
      expect(forTerminal!._meta).toEqual({});
      expect(commandOf(forRuns)).toHaveProperty('command', process.execPath);
      expect(Object.keys(forRuns!)).toEqual(['id', 'name', '_meta']);
    });

    test('gives the same login the same token, and others others', () => {
      const signIn = contained();
      const method = [{ type: 'terminal', args: ['a'] }];
      const argsOf = (methods: unknown, where = place(both)): unknown =>
        offered(methods, where, signIn)[0]!.args;

      const first = argsOf(method);

      expect(argsOf(method)).toEqual(first);
      expect(argsOf([{ type: 'terminal', args: ['b'] }])).not.toEqual(first);
      expect(argsOf(method, place(both, '/other'))).not.toEqual(first);
    });

    test('leaves nothing else that an editor could take for a command', () => {
      const hostile = {
        command: '/bin/sh',
        args: ['-c', 'evil'],
        env: { A: 'b' },
        cwd: '/',
        shell: 'sh',
        label: { a: 1 },
      };

      const [method] = offered([
        { id: 'm', type: 'terminal', ...hostile, _meta: { 'terminal-auth': hostile } },
      ]);

      expect(Object.keys(method!).sort()).toEqual([
        '_meta',
        'args',
        'cwd',
        'env',
        'id',
        'label',
        'shell',
        'type',
      ]);
      expect(Object.keys(commandOf(method)).sort()).toEqual(['args', 'command', 'env']);
      expect(JSON.stringify(method)).not.toContain('evil');
    });

    test.each([
      {},
      { auth: null },
      { auth: { terminal: 'yes' }, _meta: [] },
      { _meta: { 'terminal-auth': false } },
    ])('offers an editor nothing that it does not know: %j', (capabilities) => {
      const methods = [{ type: 'terminal' }, { id: 'a', _meta: { 'terminal-auth': { command: 'x' } } }];

      expect(offered(methods, place(capabilities))).toEqual([{ id: 'a', _meta: {} }]);
    });

    test('leaves out a method that is nested too deeply to be written again, and no other', () => {
      const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
      const methods = `[{"id":"a","x":${deep},"_meta":{"terminal-auth":{"command":"node"}}},{"id":"b"}]`;

      expect(signedIn(contained(), methods)).toBe('[{"id":"b"}]');
    });

    test('offers none where no token can be kept', () => {
      const signIn = new SignIn({ agent, host: new Host({ HOME: '/dev/null' }), log });

      expect(offered([{ type: 'terminal' }, { id: 'b' }], place(both), signIn)).toEqual([{ id: 'b' }]);
    });
  });

  describe.each([
    ['in containers', contained()],
    ['as processes of this machine', direct],
  ])('with agents %s', (_, signIn) => {
    test.each([
      ['nothing to run', '[{"id":"a","n":1.0}, {"id":"b","type":"env_var"}]'],
      ['no methods', '[]'],
      ['null', 'null'],
    ])('leaves the very bytes where there is %s', (_what, methods) => {
      expect(signedIn(signIn, methods)).toBe(methods);
    });

    test.each([
      ['a type that stands twice', '[{"id":"a","type":"terminal","type":"agent"},{"id":"b"}]'],
      ['a type that stands twice after unescaping', '[{"id":"a","type":"agent","typ\\u0065":"terminal"}]'],
      ['a command that stands twice', '[{"_meta":{"terminal-auth":1,"terminal-auth":2}}]'],
      ['a program that stands twice', '[{"_meta":{"terminal-auth":{"command":"a","command":"b"}}}]'],
      ['arguments that stand twice', '[{"type":"terminal","args":[],"args":["x"]}]'],
      ['arguments in another case', '[{"type":"terminal","Args":["x"]}]'],
      ['an environment that stands twice', '[{"type":"terminal","env":{},"env":{"A":"b"}}]'],
      ['an object in place of the list', '{"0":{"type":"terminal"}}'],
      ['text in place of the list', '"terminal"'],
      ['more than is looked at', `[{"type":"terminal","command":"rm"}${',0'.repeat(100_000)}]`],
    ])('takes out all where there is %s', (_what, methods) => expect(signedIn(signIn, methods)).toBe('[]'));

    test('takes out what is no method', () => {
      expect(signedIn(signIn, '[null,7,"x",["terminal"],{"id":"a"}]')).toBe('[{"id":"a"}]');
    });

    test('takes the command out of the answer itself', () => {
      const message = answer('{"protocolVersion":1,"_meta":{"terminal-auth":{"command":"rm"},"x":1}}');

      expect(edited(signIn, message, place(both))).toBe(
        '{"protocolVersion":1,"_meta":{"terminal-auth":null,"x":1}}',
      );
    });
  });

  function edited(signIn: SignIn, message: Message, where: SignInPlace): string {
    return editedText(message.line, message.bodyStart, message.bodyEnd, signIn.edits(message, where));
  }
});

function answer(result: string): Message {
  return scan(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`), {
    params: () => undefined,
    result: () => wantedIn(fields.initializeResult),
    error: undefined,
  });
}

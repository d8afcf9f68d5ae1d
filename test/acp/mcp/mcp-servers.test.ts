import { EventEmitter, on } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sessionSetup } from '../../../src/rpc/protocol/fields';
import { McpServers } from '../../../src/acp/mcp/mcp-servers';
import type { Log } from '../../../src/system/log';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { scan, type Message } from '../../../src/rpc/message';
import type { AgentSession } from '../../../src/acp/sessions/session';
import { createPathMap } from '../../../src/system/paths/path-map';
import { newFolder } from '../../support/temp-folder';

const plan = wantedIn(sessionSetup);
const root = newFolder();
const identity = '1:1';
const pins = [{ spelled: root, real: root, identity, isReadOnly: false }];
const place = { roots: pins, map: createPathMap({ hostRoots: [root], agentRoots: ['/w'] }) };
const http = (port: number) => `{"type":"http","name":"h","url":"http://[::1]:${port}/a%2f","headers":[]}`;
const host = '{"name":"h","command":"c","args":["secret-a"],"env":[{"name":"T","value":"secret-b"}]}';
const program = '{"name":"p","command":"c"}';

function opening(servers: string): Message {
  const line = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mcpServers":${servers},"big":1.0}}`,
  );
  return scan(line, { params: () => plan, result: () => undefined, error: undefined });
}

let servers: McpServers;
let started: string[][];
let told: string[];
afterEach(() => servers.end());

function logTo(take: (text: string) => void): Log {
  const note = (_: unknown, text: string): void => take(text);
  return { debug: note, info: note, warn: note, error: note } as unknown as Log;
}

const policy = (attempts: number) => ({ attempts, firstDelayMs: 1, maxDelayMs: 1 });

/** Helpers are a shell with this script, which ends with its input. */
function given(
  mcp: Partial<{ forwardLoopback: boolean; hostServers: string[] }> = {},
  script = 'cat',
  attempts = 1,
  hostPorts: readonly number[] = [],
  {
    tell = (text: string): unknown => told.push(text),
    helper = (args: readonly string[]): [string, ...string[]] => {
      started.push([...args]);
      return ['sh', '-c', `${script} > /dev/null`];
    },
  } = {},
): void {
  [started, told] = [[], []];
  servers = new McpServers({
    config: {
      mcp: { forwardLoopback: true, hostServers: [], ...mcp },
      network: { hostPorts },
      restart: policy(attempts),
    },
    agent: { name: 'claude' },
    host: { env: process.env },
    log: logTo((text) => text.startsWith('MCP') && tell(text)),
    helper,
  });
}

const says = (status: object) => `echo '${JSON.stringify(status)}' >&3; cat`;
const prepare = (message: Message) => servers.prepare(message, plan, { root, identity }, place);
const session = (editorId = 'e') => ({ editorId }) as unknown as AgentSession;
const whatOf = (args: readonly string[]) => args.at(-1);

describe('isNamed', () => {
  test('knows the servers elsewhere of sessions that are open, or being opened, in a workspace', () => {
    given();
    const message = opening('[{"type":"sse","name":"x","url":"https://user@MCP.example.org/sse"}]');
    const known = () => ['mcp.example.org:443', 'mcp.example.org:80'].map((at) => servers.isNamed(root, at));

    expect(known()).toEqual([false, false]);
    void prepare(message);
    expect(known()).toEqual([true, false]);
    servers.onOpen(session(), message);
    expect(known()).toEqual([true, false]);
    expect(servers.isNamed('/other', 'mcp.example.org:443')).toBe(false);
    servers.onClose(session());
    expect(known()).toEqual([false, false]);
  });
});

describe('prepare', () => {
  test('changes nothing, and does not wait, where nothing is named that is on this machine', () => {
    given();
    for (const list of [
      '[]',
      'null',
      `[${program}]`,
      '[{"type":"http","name":"x","url":"http://example.org:1"}]',
    ]) {
      const message = opening(list);
      expect(prepare(message)).toBe(message);
    }
    expect(started).toEqual([]);
  });

  test('waits for a port until that is ready, and changes the address alone', async () => {
    given({}, says({ kind: 'started' }));
    const prepared = prepare(opening(`[ ${http(3000)} , ${program}]`));

    expect(prepared).toBeInstanceOf(Promise);
    expect(String((await prepared).line)).toBe(
      `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mcpServers":[ ${http(3000).replace('[::1]', '127.0.0.1')} , ${program}],"big":1.0}}`,
    );
    expect(started).toEqual([
      [
        'bridge',
        '--workspace',
        root,
        '--root-identity',
        identity,
        '--agent',
        'claude',
        '--quiet',
        '--status-fd',
        '3',
        'localhost:3000',
      ],
    ]);
    expect(prepare(opening(`[${http(3000)}]`))).not.toBeInstanceOf(Promise);
    expect(started).toHaveLength(1);
  });

  test('leaves a port that the configuration names to the commands in the container', () => {
    given({}, 'cat', 1, [3000]);

    const { line } = prepare(opening(`[${http(3000)}]`)) as Message;

    expect(String(line)).toContain('"http://127.0.0.1:3000/a%2f"');
    expect(started).toEqual([]);
    void prepare(opening('[{"type":"http","name":"h","url":"http://127.0.0.7:3000/"}]'));
    expect(started).toHaveLength(1);
  });

  test('goes on when a port cannot be had, and tells why', async () => {
    given({}, says({ kind: 'notice', text: 'it is taken' }));

    await prepare(opening(`[${http(3000)}]`));

    expect(told).toEqual(['MCP server "h": it is taken']);
  });

  test('goes on when a helper fails without a word', async () => {
    given({}, 'exit 4;');

    await prepare(opening(`[${http(3000)}]`));

    expect(told).toEqual([expect.stringMatching(/^MCP server "h": .*exited with status 4/)]);
  });

  test('gives a helper up that fails once, where the command itself is wrong, and tells what to do', async () => {
    const status = 2;
    const times = 1;
    const file = join(newFolder(), 'failed');
    given({}, `echo '{"kind":"notice","text":"why"}' >&3; echo >> ${file}; exit ${status};`, 3);

    await prepare(opening(`[${http(3000)}]`));
    while (!told.some((text) => text.includes('see cai doctor'))) await nextTurn();

    expect(readFileSync(file, 'utf8')).toHaveLength(times);
    expect(told).toEqual([
      ...Array<string>(times).fill('MCP server "h": why'),
      expect.stringMatching(/^MCP server "h": .*see cai doctor; a new session/),
    ]);
    await prepare(opening(`[${http(3000)}]`));
    expect(started).toHaveLength(2);
  });

  test('leaves ports alone that nobody can have, and all where it is switched off', () => {
    given();
    void prepare(opening('[{"type":"http","name":"h","url":"http://localhost/"}]'));
    expect(told).toEqual([expect.stringContaining('port 80 cannot be made reachable')]);

    given({ forwardLoopback: false });
    void prepare(opening(`[${http(3000)}]`));
    expect(started).toEqual([]);
  });

  test('gives the agent a way to each allowed program and nothing of how it is run, without waiting', () => {
    given({ hostServers: ['h'] });

    const { line } = prepare(
      opening(`[${host},${host},{"type":"stdio","name":"h","command":"d"}]`),
    ) as Message;

    const seen = (JSON.parse(String(line)) as { params: { mcpServers: Record<string, unknown>[] } }).params
      .mcpServers;
    const args = [expect.stringMatching(/^\/tmp\/cai-mcp-[0-9a-f]{32}$/)];
    const entry = { name: 'h', command: '/run/cai/join', args, env: [] };
    expect(seen).toEqual([entry, entry, { type: 'stdio', ...entry }]);
    expect(seen[0]!.args).toEqual(seen[1]!.args);
    expect(seen[0]!.args).not.toEqual(seen[2]!.args);
    // Nor does a list of processes show it.
    expect(started.map(whatOf)).toEqual(['program', 'program']);
    expect(JSON.stringify([started, told])).not.toContain('secret');
  });
});

describe('prepare, of more than there can be', () => {
  test('leaves the rest without a way, and gives nothing away by that', () => {
    given({ hostServers: ['h'] });
    const many = Array.from({ length: 33 }, (_, n) => host.replace('secret-a', `secret-${n}`));

    const { line } = prepare(opening(`[${many.join()}]`)) as Message;

    expect(started).toHaveLength(32);
    expect(told).toEqual([expect.stringContaining('no more than 32')]);
    expect(String(line)).not.toContain('secret');
  });
});

describe('what was prepared', () => {
  test('lasts until the last session that names it closes', async () => {
    given({}, says({ kind: 'started' }));
    const [one, two] = [session('1'), session('2')];
    for (const each of [one, two]) {
      const message = opening(`[${http(3000)}]`);
      await prepare(message);
      servers.onOpen(each, message);
    }
    servers.onClose(one);
    expect(prepare(opening(`[${http(3000)}]`))).not.toBeInstanceOf(Promise);
    expect(started).toHaveLength(1);
  });

  test('is kept while its session is opened again, and ends if that no longer names it', async () => {
    given({}, says({ kind: 'started' }));
    const [first, again, without] = [1, 2, 3].map(() => session());
    const messages = [opening(`[${http(3000)}]`), opening(`[${http(3000)}]`), opening('[]')];
    await prepare(messages[0]!);
    servers.onOpen(first!, messages[0]!);

    await prepare(messages[1]!);
    servers.onOpen(again!, messages[1]!);
    expect(started).toHaveLength(1);

    await prepare(messages[2]!);
    servers.onOpen(without!, messages[2]!);
    await prepare(opening(`[${http(3000)}]`));
    expect(started).toHaveLength(2);
  });

  test('ends when the call opens no session', async () => {
    given({}, says({ kind: 'started' }));
    const message = opening(`[${http(3000)}]`);

    await prepare(message);
    servers.drop(message);
    await prepare(message);

    expect(started).toHaveLength(2);
  });
});

describe('a program of the container', () => {
  test('is looked for once, when its session is open or could not be opened', () => {
    given();
    for (let time = 0; time < 2; time++) {
      const message = opening(`[${program},{"name":"q","command":"d","env":[{"name":"PATH","value":"/x"}]},{"name":"r","command":"-e"}]`); // prettier-ignore
      void prepare(message);
      expect(started).toHaveLength(time);
      if (time === 0) servers.onOpen(session(), message);
      else servers.drop(message);
    }

    expect(started).toEqual([
      [
        ...[
          'exec',
          '--workspace',
          root,
          '--root-identity',
          identity,
          '--agent',
          'claude',
          '--quiet',
          '--status-fd',
          '3',
          '--cwd',
          '/w',
        ],
        ...['--', 'sh', '-c', expect.stringContaining('command -v') as string, 'sh', '2', 'c', '-e'],
      ],
    ]);
  });

  test('is told of if it is not there inside, and a file of this machine that it is given', async () => {
    const file = join(newFolder(), 'server.js');
    writeFileSync(file, '');
    writeFileSync(join(root, 'own.js'), '');
    const tellings = new EventEmitter();
    const lines = on(tellings, 'told');
    given({}, '', 1, [], {
      tell: (text) => tellings.emit('told', text),
      // The container is this machine without that file.
      helper: (args) => {
        rmSync(file);
        return args.slice(args.indexOf('--') + 1) as [string, ...string[]];
      },
    });
    const args = [file, '/no/such/file', 'server.js', join(root, 'own.js'), file];
    const message = opening(JSON.stringify([{ name: 'p', command: 'no-such-program', args }]));

    void servers.prepare(message, plan, { root }, { roots: pins, map: createPathMap({ hostRoots: [root], agentRoots: [root] }) }); // prettier-ignore
    servers.drop(message);

    expect([await lines.next(), await lines.next()].flatMap(({ value }) => value as string[])).toEqual([
      expect.stringMatching(/^MCP server "p": the container has no program "no-such-program"/),
      expect.stringMatching(`^MCP server "p": the container does not have "${file}" of this machine`),
    ]);
  });
});

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect, type ConnectOptions } from '../../src/embed/connect';
import { Proxy } from '../../src/acp/proxy';
import { userWith } from '../support/cli';
import { Inbox, type Json } from '../support/inbox';
import { isAlive, residentBytes, untilIdle, writtenBytes } from '../support/processes';

const fixture = (name: string): string => resolve(__dirname, '../../fixtures', name);
const mock = [fixture('mock-acp-server'), '--acp'];
const floods = [process.execPath, fixture('agents/floods.mjs')];
const mebibyte = 1024 * 1024;

/** A program that has the proxy in its own process (`fixtures/clients/embeds.mjs`). */
class Program {
  /** What it prints. */
  readonly inbox = new Inbox('the program');
  stderr = '';
  readonly process: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<unknown[]>;

  constructor(
    scenario: string,
    /** The user's home folder. */
    readonly home: string,
    /** The names of workspaces. */
    names: readonly string[],
  ) {
    const folders = names.map((name) => this.workspace(name));
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    this.process = spawn(process.execPath, [fixture('clients/embeds.mjs'), scenario, ...folders], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, CAI_ACP_DIRECT_SPAWN: '1', MOCK_ACP_TRACE: 'trace' },
    });
    this.#exit = once(this.process, 'close');
    this.process.stdout.on('data', (chunk: Buffer) => this.inbox.push(chunk));
    this.process.stdout.on('end', () => this.inbox.end(this.stderr));
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  workspace(name: string): string {
    return join(this.home, name);
  }

  /** The next thing that it prints. */
  report(): Promise<Json> {
    return this.inbox.next(() => true);
  }

  /** What is left of its output, once it has ended by itself. */
  async rest(): Promise<{ status: unknown; stderr: string; printed: readonly Json[] }> {
    const [status] = await this.#exit;
    return { status, stderr: this.stderr, printed: this.inbox.takeAll() };
  }

  /** The agents that have run in a workspace, by their process ids. */
  agentsIn(name: string): number[] {
    const lines = readFileSync(join(this.workspace(name), 'trace'), 'utf8')
      .trim()
      .split('\n');
    return [...new Set(lines.map((line) => (JSON.parse(line) as { pid: number }).pid))];
  }
}

/** Its configuration names an agent with that command, as the default. */
function homeWith(command: readonly string[], more = ''): string {
  return userWith(`agent.default = "some"\n${more}\n[agents.some]\ncommand = ${JSON.stringify(command)}\n`)
    .cwd!;
}

describe('a program with the proxy in its own process', () => {
  let program: Program;
  const start = (scenario: string, names: readonly string[], home = homeWith(mock)): Program =>
    (program = new Program(scenario, home, names));
  afterEach(() => program.process.kill('SIGKILL'));

  /** Nothing but that, and an end by itself. */
  const said = (report: Json): Json => ({ status: 0, stderr: '', printed: [report] });

  test('runs a turn as the client of the SDK, and ends when that is closed, without any trace in the process', async () => {
    start('turn', ['a']);

    const text = 'permission: allowone two three four';
    expect(await program.rest()).toEqual(
      said({ name: 'mock-acp-server', stopReason: 'end_turn', text, added: [] }),
    );
    expect(program.agentsIn('a').filter(isAlive)).toEqual([]);
  });

  test('has several connections beside each other, each with sessions of its own, also in one workspace', async () => {
    start('connections', ['a', 'b', 'b']);

    const { printed, ...end } = await program.rest();
    expect(end).toEqual({ status: 0, stderr: '' });
    const { ids, texts } = printed[0] as { ids: string[]; texts: Json[] };
    expect(new Set(ids).size).toBe(3);
    expect(texts).toEqual(ids.map((id, n) => ({ [id]: `echo: hello ${n}` })));
  });

  test('has no process left when a connection is closed during a turn, and the other connection goes on', async () => {
    start('close', ['a', 'b']);

    expect(await program.report()).toEqual({ closed: 'ACP connection closed' });
    expect(program.agentsIn('a').filter(isAlive)).toEqual([]);
    expect(program.agentsIn('b').map(isAlive)).toEqual([true]);
    program.process.stdin.end('\n');

    expect(await program.rest()).toEqual(said({ stopReason: 'end_turn' }));
    expect(program.agentsIn('b').filter(isAlive)).toEqual([]);
  });

  describe('that does not read what the agent says', () => {
    /** It has read one of 8000 updates of 2000 bytes, and no more; resolves when all have come to rest. */
    async function stopReading(): Promise<number> {
      start('flood', ['a'], homeWith(floods, '[acp]\nqueue_to_editor = "1MiB"'));
      const { agentPid } = await program.report();
      await untilIdle(program.process.pid!, agentPid as number);
      return agentPid as number;
    }

    test('stops the agent, and gets all of it in order when it reads on', async () => {
      const agentPid = await stopReading();

      // What the queue, the pipe and the chunks in the hands of both processes take together; in all it is 16 MB.
      expect(writtenBytes(agentPid)).toBeLessThan(8 * mebibyte);
      expect(residentBytes(program.process.pid!).now).toBeLessThan(160 * mebibyte);
      program.process.stdin.end('read');
      expect(await program.rest()).toEqual(said({ done: true, count: 8_000, areInOrder: true }));
    });

    test('closes the connection all the same, and can then write no more', async () => {
      const agentPid = await stopReading();

      program.process.stdin.end('close');

      expect(await program.report()).toEqual({ done: true, code: 'AGENT_EXITED' });
      expect(isAlive(agentPid)).toBe(false);
      expect(await program.rest()).toEqual({ status: 0, stderr: '', printed: [] });
    });
  });
});

describe('connect', () => {
  const says = `printf '%s|' "$@" "$CAI_WORD" >&2; exit 3`;
  const { cwd, env } = userWith(
    `[agents.some]\ncommand = ["sh", "-c", ${JSON.stringify(says)}, "sh"]\n[restart]\nfirst_delay = "0s"\n`,
  );
  const workspace = join(cwd!, 'a');
  mkdirSync(workspace);

  test.each([
    ['UNSUPPORTED_AGENT', 'an agent that nobody knows', { agent: 'nobody' }],
    ['WORKSPACE', 'a folder that is not there', { agent: 'some', cwd: '/no/such/folder' }],
    ['WORKSPACE', 'a file in place of a folder', { agent: 'some', cwd: __filename }],
    ['CONFIG', 'a configuration that cannot be used', { env: userWith('agent.deflaut = "some"').env }],
  ])('throws %s for %s', (code, _, options) => {
    expect(() => connect({ env, ...options })).toThrow(
      expect.objectContaining({ name: 'CaiError', code }) as Error,
    );
  });

  test('resolves `closed` also after an error of ours at the end', async () => {
    const end = jest.spyOn(Proxy.prototype, 'end').mockRejectedValue(new Error('a bug'));
    try {
      await connect({ agent: 'some', env }).close();
    } finally {
      end.mockRestore();
    }
  });

  /** The error with which a session in a folder cannot be opened. */
  async function refusal(options: ConnectOptions, params: Json): Promise<unknown> {
    const connection = connect({ agent: 'some', ...options });
    const writer = connection.writable.getWriter();
    const reader = connection.readable.getReader();
    await writer.write({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } });
    await reader.read();
    await writer.write({ jsonrpc: '2.0', id: 2, method: 'session/new', params });
    const { value } = await reader.read();
    await connection.close();
    return (value as { error: unknown }).error;
  }

  test.each([
    ['as the environment says', '1', undefined],
    ['whatever the environment says', '0', true],
  ])(
    'starts the agent as a program of this machine, %s, with more arguments',
    async (_, variable, direct) => {
      const variables = { ...env, PATH: process.env.PATH, CAI_WORD: 'word', CAI_ACP_DIRECT_SPAWN: variable };
      const options = { env: variables, direct, agentArgs: ['a b', 'c'] };

      expect(await refusal(options, { cwd: workspace, mcpServers: [] })).toMatchObject({
        data: { details: 'a b|c|word|' },
      });
    },
  );
});

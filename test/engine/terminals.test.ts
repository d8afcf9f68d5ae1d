import { buildSync } from 'esbuild';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Editor } from './editor';
import { containerOf, hostnameOf, processesIn, untilOnly, untilRuns, type InnerProcess } from './inside';
import { tried } from '../support/nightly';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { Cai, folder, newWorkspace, ownFile, user } from './support';
import { TerminalHost, ways } from './terminal-host';

/** What a step of the agent came to. */
interface Outcome {
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

/** What nothing in a container may survive. */
const goneMs = 10_000;
const agent = 'claude';
const direct = 'started directly';
/** The others are those of `test/acp/terminals.test.ts`, without a container. */
const triedWays = tried(
  [direct],
  Object.keys(ways).filter((way) => way !== direct),
);
const config = `[agents.${agent}]\ncommand = ["node", "agent.cjs"]\n`;

let program: string;
let client: string;
let cai: Cai;
let workspace: string;
let editor: Editor;
let host: TerminalHost;
let session: string;

beforeAll(async () => {
  await provideImages(agent);
  program = bundled('agents/uses-terminals.mjs', 'cjs');
  client = bundled('clients/terminal-turn.mjs', 'esm');
}, buildTimeoutMs);

/** A program of the fixtures in one file. */
function bundled(path: string, format: 'cjs' | 'esm'): string {
  const entryPoints = [resolve(__dirname, '../../fixtures', path)];
  const options = { bundle: true, platform: 'node', format, write: false } as const;
  return buildSync({ entryPoints, ...options }).outputFiles[0]!.text;
}

/** By what else is configured: the tests share a container for each. */
const prepared = new Map<string, readonly [Cai, string]>();

/** A workspace of a user that the agent lies in. */
function prepare(more = ''): void {
  [cai, workspace] = prepared.get(more) ?? [new Cai(config + more), newWorkspace()];
  prepared.set(more, [cai, workspace]);
  ownFile(join(workspace, 'agent.cjs'), program);
}

/** An editor with terminals of that kind and an agent, at work in a new workspace. */
async function open(way: keyof typeof ways, more = '', capabilities = { terminal: true }): Promise<void> {
  prepare(more);
  editor = Editor.start(cai, agent, { cwd: workspace });
  host = new TerminalHost(cai, editor, ways[way]!);
  await editor.initialize(capabilities);
  session = await editor.newSession(workspace);
}

async function leave(): Promise<void> {
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
}

/** What the agent was told of terminals, and what its steps came to. */
async function take(...steps: unknown[]): Promise<{ terminal?: boolean; outcomes: Outcome[] }> {
  const before = editor.said(session).length;
  expect(await editor.prompt(session, JSON.stringify(steps))).toMatchObject({
    result: { stopReason: 'end_turn' },
  });
  return JSON.parse(editor.said(session).slice(before)) as { terminal?: boolean; outcomes: Outcome[] };
}

/** Names of the files that orders of terminals are in. */
const orders = (): string[] => readdirSync(join(cai.home, 'run/containai/terminals'));

describe.each(triedWays)('a terminal of an editor that runs commands %s', (way) => {
  /** What a terminal, if there is one, makes of the ends of lines. */
  const plain = (text: unknown): string => String(text).replaceAll('\r\n', '\n');
  const isBroken = process.execPath.includes(' ') || folder.includes(' ');
  afterEach(leave);

  test('runs the agent’s command in its container', async () => {
    await open(way);
    const words = ['sh', '-c', 'hostname; pwd; echo "$0 $1 $A"; id -u', "it's", '$HOME;"', 'x'];
    const env = [
      { name: 'A', value: '`b` "c"' },
      { name: 'NODE_OPTIONS', value: '--require=/nowhere/evil.js' },
      { name: 'LD_PRELOAD', value: '' },
    ];

    const { terminal, outcomes } = await take({
      run: { command: words[0], args: words.slice(1), env, cwd: '/usr', _meta: { x: [1] } },
    });

    expect(terminal).toBe(true);
    const hostname = await hostnameOf(await containerOf(workspace, agent));
    expect(outcomes[0]?.result).toMatchObject({ exit: { exitCode: 0 }, truncated: false });
    expect(plain((outcomes[0]!.result as { output: string }).output)).toBe(
      `${hostname}\n/usr\nit's $HOME;" \`b\` "c"\n${user.uid}\n`,
    );
    // The editor has none of it.
    expect(host.all[0]!.created).toEqual({
      sessionId: session,
      command: process.execPath,
      args: [join(folder, 'package/bin/cai'), 'terminal', expect.stringMatching(/^[0-9a-f]{32}$/)],
      env: [],
      cwd: workspace,
      _meta: { x: [1] },
    });
    expect(isBroken).toBe(false);
    expect(host.terminals.size).toBe(0);
    expect(orders()).toEqual([]);
  });

  test('takes a command without arguments for a line, passes its status on, and keeps to the limit', async () => {
    await open(way);

    const { outcomes } = await take(
      { run: { command: 'printf "%s" 123456789 | tee made; exit 7', outputByteLimit: 4 } },
      { run: { command: '/no/such/program', args: ['x'] } },
    );

    expect(outcomes[0]).toEqual({
      result: { exit: { exitCode: 7, signal: null }, output: '6789', truncated: true },
    });
    expect(outcomes[1]).toMatchObject({ result: { exit: { exitCode: 127 } } });
    expect(readFileSync(join(workspace, 'made'), 'utf8')).toBe('123456789');
  });

  test('leaves nothing in the container when it is killed', async () => {
    await open(way);
    const container = await containerOf(workspace, agent);
    const before = await processesIn(container);
    const line = 'trap "" TERM HUP; (setsid sleep 600 &); setsid sleep 601 & sleep 602; sleep 603';

    const { outcomes } = await take({ start: { command: line } });
    expect(outcomes).toEqual([{ result: 'terminal 1' }]);
    for (const seconds of [600, 601, 602]) await untilRuns(container, `sleep ${seconds}`);
    const ended = await take({ end: true });

    await untilOnly(container, before, goneMs);
    expect(ended.outcomes[0]).toMatchObject({ result: { truncated: false } });
    expect(host.asked.slice(-4)).toEqual(
      ['kill', 'wait', 'output', 'release'].map((each) => `${each} terminal 1`),
    );
  });
});

describe('terminals', () => {
  afterEach(leave);

  test('are shown in the chat under the id that the editor gave', async () => {
    await open(direct);

    await take({ run: { command: 'true' } });

    const shown = editor.messages
      .map(({ params }) => params as { update?: { sessionUpdate?: string; content?: unknown } } | undefined)
      .find((params) => params?.update?.sessionUpdate === 'tool_call');
    expect(shown?.update?.content).toEqual([{ type: 'terminal', terminalId: 'terminal 1' }]);
  });

  test('of another session are not there', async () => {
    await open(direct);
    const other = session;
    await take({ start: { command: 'sleep 600' } });
    session = await editor.newSession(workspace);

    const named = { terminalId: 'terminal 1' };
    const asks = ['output', 'kill', 'release', 'wait_for_exit'].map((name) => ({
      ask: `terminal/${name}`,
      params: named,
    }));
    const { outcomes } = await take(...asks);

    expect(outcomes.map(({ error }) => error?.code)).toEqual([-32002, -32002, -32002, -32002]);
    expect(host.asked).toEqual([]);
    await editor.request('session/close', { sessionId: other });
    await host.all[0]!.program.ends(goneMs);
    expect(host.asked).toEqual(['kill terminal 1', 'release terminal 1']);
  });

  test('that an agent leaves behind are killed and released, and so is what ran in them', async () => {
    await open(direct);
    const container = await containerOf(workspace, agent);
    await take({ start: { command: 'sleep 600' } });
    await untilRuns(container, 'sleep 600');

    const answer = await editor.prompt(session, JSON.stringify([{ exit: 3 }]));

    expect(answer).toMatchObject({ error: { code: -32603 } });
    await host.all[0]!.program.ends(goneMs);
    await untilGone(container, 'sleep 600');
    expect(host.asked).toEqual(['kill terminal 1', 'release terminal 1']);
    expect(host.terminals.size).toBe(0);
  });

  test('end in the container when the proxy is killed and the editor lives on', async () => {
    await open(direct);
    const container = await containerOf(workspace, agent);
    await take({ start: { command: 'sleep 600' } });
    await untilRuns(container, 'sleep 600');

    editor.proxy.child.kill('SIGKILL');

    await untilGone(container, 'sleep 600');
    expect(await host.all[0]!.program.ends(goneMs)).toMatchObject({ status: 129 });
    expect(host.asked).toEqual([]);
  });

  test.each([
    ['[acp] terminal is off', '[acp]\nterminal = "off"\n', { terminal: true }],
    ['the editor has none', '', { terminal: false }],
  ])('are withheld and refused where %s', async (_, more, capabilities) => {
    await open(direct, more, capabilities);

    const { terminal, outcomes } = await take({ ask: 'terminal/create', params: { command: 'true' } });

    expect(terminal ?? false).toBe(false);
    expect(outcomes[0]?.error?.code).toBe(-32601);
    expect(host.all).toEqual([]);
  });
});

test('an editor made with the official SDK shows what a command says in the container', async () => {
  prepare();
  const file = join(cai.home, 'client.mjs');
  ownFile(file, client);
  const steps = JSON.stringify([{ run: { command: 'sh', args: ['-c', 'hostname; echo "$0"', 'done'] } }]);
  const proxy = [process.execPath, join(folder, 'package/bin/cai'), '--acp', agent];

  const editing = cai.startProgram(process.execPath, [file, workspace, steps, ...proxy], { cwd: workspace });
  const { stdout } = await editing.succeeds();

  const hostname = await hostnameOf(await containerOf(workspace, agent));
  const { stopReason, shown } = JSON.parse(stdout.toString()) as Record<string, unknown>;
  expect({ stopReason, shown }).toEqual({
    stopReason: 'end_turn',
    shown: { 'terminal 1': `${hostname}\ndone\n` },
  });
});

/** Resolves when no process runs whose command line is this one. */
async function untilGone(container: string, command: string): Promise<void> {
  const others = (await processesIn(container)).filter((each: InnerProcess) => each.command !== command);
  await untilOnly(container, others, goneMs);
}

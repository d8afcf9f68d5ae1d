import { tmpdir } from 'node:os';
import type { AgentCommand } from '../../src/agent/catalog';
import type { StopLadder } from '../../src/agent/process';
import { CaiError } from '../../src/errors';
import { requestLine } from '../../src/rpc/answer';
import { scan } from '../../src/rpc/scan';
import { LineWriter } from '../../src/rpc/writer';
import type { ChildRequest } from '../../src/session/open-requests';
import { newOwnId, WorkspaceChild } from '../../src/session/workspace-child';
import type { HeldTask } from '../../src/session/workspace-child';
import { createPathMap } from '../../src/workspace/path-map';
import { noLog, program } from '../agent/agent-run';
import { Gate } from '../rpc/gate';

const ladder: StopLadder = { termAfterMs: 50, killAfterMs: 50 };
const reason = new CaiError('AGENT_START', 'no use');
const megabyte = 'x'.repeat(1024 * 1024);

/** `cat` gives back what it is sent, so its lines tell what an agent was sent. */
const echo = program('cat');

let gate: Gate;
let child: WorkspaceChild;
/** What the child's agent has written. */
let lines: string[];
/** What askers and waiting tasks were told, and the end. */
let told: string[];
let wake: () => void = () => undefined;

/** What a test has started. */
const started: WorkspaceChild[] = [];

afterEach(async () => {
  gate.destroy();
  await Promise.all(started.splice(0).map((each) => each.stop(ladder)));
});

describe('a child that starts', () => {
  beforeEach(() => start(echo));

  test('holds tasks back and runs them in their order once it is ready', () => {
    for (const name of ['one', 'two', 'three']) child.whenReady(task(name));
    expect(told).toEqual([]);
    expect(child).toMatchObject({ state: 'starting', isUsable: true });

    child.setReady();
    child.whenReady(task('four'));

    expect(told).toEqual(['one runs', 'two runs', 'three runs', 'four runs']);
    expect(child).toMatchObject({ state: 'ready', isUsable: true });
  });

  test('runs what a task adds in the place of that task', () => {
    child.whenReady({ ...task('one'), run: () => child.whenReady(task('inner')) });
    child.whenReady(task('two'));

    child.setReady();

    expect(told).toEqual(['inner runs', 'two runs']);
  });

  test('refuses a task when too much waits, and only that', () => {
    child.whenReady(task('one', 900_000));
    child.whenReady(task('two', 200_000));
    child.whenReady(task('three', 100_000));

    child.setReady();

    expect(told).toEqual(['two: AGENT_STALLED', 'one runs', 'three runs']);
  });

  test('fails what waits when it ends before it is ready', async () => {
    child.whenReady(task('one'));
    child.ask('initialize', undefined, asker('hello'));

    await child.stop(ladder);

    expect(told).toEqual(['hello: AGENT_EXITED', 'one: AGENT_EXITED', 'end: AGENT_EXITED']);
  });

  test('does not become ready once it is asked to end', async () => {
    child.whenReady(task('one'));
    const stopped = child.stop(ladder);

    child.setReady();
    expect(child).toMatchObject({ state: 'stopping', isUsable: false });
    await stopped;

    expect(told).toEqual(['one: AGENT_EXITED', 'end: AGENT_EXITED']);
    expect(child.state).toBe('ended');
  });
});

describe('a child that cannot be started', () => {
  test('says so to all that wait', async () => {
    start(program('cai-is-no-program'));
    child.whenReady(task('one'));

    await child.stop(ladder);

    expect(told).toEqual(['one: AGENT_START', 'end: AGENT_START']);
  });
});

describe('requests', () => {
  beforeEach(() => {
    start(echo);
    child.setReady();
  });

  test('reach the agent under the id that is given, and wait for their answer', async () => {
    child.request('7', requestLine('7', 'session/prompt', '{"a":1.0}'), asker('seven'));
    await line(1);

    expect(lines).toEqual(['{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"a":1.0}}']);
    answer('7');
    expect(told).toEqual(['seven: 7']);
  });

  test('of our own have ids that nobody else gives', async () => {
    const ids = [child.ask('one', undefined, asker('one')), child.ask('two', '{}', asker('two')), newOwnId()];
    await line(2);

    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(JSON.parse(id)).toMatch(/^cai-[a-z0-9]+-\d+$/);
    expect(lines[1]).toBe(`{"jsonrpc":"2.0","id":${ids[1]},"method":"two","params":{}}`);
    answer(ids[1]!);
    expect(told).toEqual([`two: ${ids[1]}`]);
  });

  test('fail exactly once when the agent ends, oldest first, then the end is told', async () => {
    for (const id of ['1', '2', '3']) child.request(id, requestLine(id, 'm', undefined), asker(id));
    answer('2');

    await child.stop(ladder);

    expect(told).toEqual(['2: 2', '1: AGENT_EXITED', '3: AGENT_EXITED', 'end: AGENT_EXITED']);
    expect(child.open.size).toBe(0);
  });

  test('fail at once, and once, when the child is abandoned', async () => {
    child.request('1', requestLine('1', 'm', undefined), asker('1'));

    child.abandon(reason, ladder);
    expect(told).toEqual(['1: AGENT_START']);
    expect(child).toMatchObject({ state: 'stopping', isUsable: false, endReason: reason });
    child.whenReady(task('late'));
    await child.stop(ladder);

    expect(told).toEqual(['1: AGENT_START', 'late: AGENT_START', 'end: AGENT_EXITED']);
    expect(child.endReason).toBe(reason);
  });

  test('that come to a child that has ended hear why', async () => {
    await child.stop(ladder);

    child.whenReady(task('late'));

    expect(told).toEqual(['end: AGENT_EXITED', 'late: AGENT_EXITED']);
  });

  test('that come while it is asked to end are refused', async () => {
    const stopped = child.stop(ladder);

    child.whenReady(task('late'));

    expect(told).toEqual(['late: AGENT_EXITED']);
    await stopped;
  });
});

describe('an agent that does not read', () => {
  test('gets no more requests once so much waits for it', () => {
    start(program('sleep', '60'));
    child.setReady();
    child.request('1', requestLine('1', 'm', `"${megabyte}"`), asker('1'));

    child.request('2', requestLine('2', 'm', undefined), asker('2'));

    expect(told).toEqual(['2: AGENT_STALLED']);
    expect(child.open.size).toBe(1);
    expect(child.isUsable).toBe(true);
  });

  test('gets no more notifications but those that cancel; answers it gets all', async () => {
    start(program('sh', '-c', 'sleep 0.2; cat'));
    child.setReady();
    child.notify(Buffer.from(`"${megabyte}"\n`), false);

    child.notify(Buffer.from('"dropped"\n'), false);
    child.notify(Buffer.from('"cancel"\n'), true);
    child.answer(Buffer.from('"answer"\n'));

    await line(3);
    expect(lines.slice(1)).toEqual(['"cancel"', '"answer"']);
  });

  test('is ended when answers and cancels pile up, by SIGKILL if need be', async () => {
    start(program('sh', '-c', 'trap "" TERM; echo ready; sleep 60'));
    child.setReady();
    await line(1);

    for (let i = 0; i < 3; i++) child.answer(Buffer.from(`"${megabyte}"\n`));
    expect(child.state).toBe('stopping');
    // None of these gives it more time.
    const nagging = setInterval(() => child.notify(Buffer.from('{}\n'), true), 20);
    while (told.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    clearInterval(nagging);

    expect(told).toEqual(['end: AGENT_EXITED']);
    expect(child.endReason?.message).toMatch(/was ended by SIGKILL/);
  });
});

describe('an agent that writes more than the editor reads', () => {
  test('waits until there is room, and then goes on in order', async () => {
    const count = 50_000;
    start(program('seq', String(count)), (text) => child.deliver(Buffer.from(`${text}\n`)));
    while (!child.lane.mustWait()) await new Promise<void>((resolve) => (wake = resolve));
    const held = lines.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(lines).toHaveLength(held);

    while (told.length === 0 || child.lane.mustWait()) {
      gate.open();
      await new Promise((resolve) => setImmediate(resolve));
    }

    expect(told).toEqual(['end: AGENT_EXITED']);
    expect(lines).toEqual(Array.from({ length: count }, (_, i) => String(i + 1)));
  });
});

/** Starts an agent; `onLine` sees a line after it has been noted. */
function start(agent: AgentCommand, onLine?: (text: string) => void): void {
  gate = new Gate();
  lines = [];
  told = [];
  child = new WorkspaceChild({
    process: {
      agent,
      cwd: tmpdir(),
      env: process.env,
      limits: { maxLineBytes: 4 * 1024 * 1024, maxSearchBytes: 1024 },
      log: noLog,
    },
    root: '/w',
    map: createPathMap({ hostRoots: ['/w'], agentRoots: ['/w'] }),
    writer: new LineWriter(gate, 128 * 1024, () => undefined),
    inputBudgetBytes: 1024 * 1024,
    log: noLog,
  });
  started.push(child);
  child.start({
    onLine: (text) => {
      lines.push((text as Buffer).toString());
      onLine?.(lines.at(-1)!);
      wake();
    },
    onEnd: (failure) => {
      told.push(`end: ${failure.code}`);
      wake();
    },
  });
}

/** Resolves when the agent has written so many lines. */
async function line(count: number): Promise<void> {
  while (lines.length < count) await new Promise<void>((resolve) => (wake = resolve));
}

/** The agent answers what is open under that id. */
function answer(id: string): void {
  const nothing = { params: () => undefined, result: () => undefined, error: undefined };
  child.open.settle(id, scan(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`), nothing));
}

function task(name: string, bytes = 0): HeldTask {
  return {
    bytes,
    run: () => told.push(`${name} runs`),
    onFailure: (failure) => told.push(`${name}: ${failure.code}`),
  };
}

function asker(name: string): ChildRequest {
  return {
    resultPlan: undefined,
    editorId: undefined,
    method: 'm',
    onAnswer: (message) => told.push(`${name}: ${message.id}`),
    onFailure: (failure) => told.push(`${name}: ${failure.code}`),
  };
}

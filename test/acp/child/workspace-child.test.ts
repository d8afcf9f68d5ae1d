import { ask } from '../../../src/acp/child/own-requests';
import { CaiError } from '../../../src/errors';
import { newOwnId, requestLine } from '../../../src/rpc/answer';
import { program } from '../../agent/agent-run';
import { ChildRun, ladder } from './child-run';

const reason = new CaiError('AGENT_START', 'no use');
/** It gives back what it is sent, so its lines tell what an agent was sent. */
const echo = program('cat');

let run: ChildRun;

afterEach(async () => await run.end());

describe('a child that starts', () => {
  beforeEach(() => (run = new ChildRun(echo)));

  test('holds tasks back and runs them in their order once it is ready', () => {
    for (const name of ['one', 'two', 'three']) run.child.whenReady(run.task(name));
    expect(run.told).toEqual([]);
    expect(run.child).toMatchObject({ state: 'starting', isUsable: true });

    run.child.setReady();
    run.child.whenReady(run.task('four'));

    expect(run.told).toEqual(['one runs', 'two runs', 'three runs', 'four runs']);
    expect(run.child).toMatchObject({ state: 'ready', isUsable: true });
  });

  test('runs what a task adds in the place of that task', () => {
    run.child.whenReady({ ...run.task('one'), run: () => run.child.whenReady(run.task('inner')) });
    run.child.whenReady(run.task('two'));

    run.child.setReady();

    expect(run.told).toEqual(['inner runs', 'two runs']);
  });

  test('serves the workspace that it was made for', () => {
    expect(run.child.root).toBe('/w');
    expect(run.child.map.isIdentity).toBe(true);
  });

  test('does not keep tasks without end, however small they are', () => {
    for (let i = 0; i < 10_000; i++) run.child.whenReady(run.task('small'));

    expect(run.told.length).toBeGreaterThan(0);
    expect(run.told.length).toBeLessThan(9_900);
    expect(run.told[0]).toBe('small: AGENT_STALLED');
  });

  test('refuses a task when too much waits, and only that', () => {
    run.child.whenReady(run.task('one', 900_000));
    run.child.whenReady(run.task('two', 200_000));
    run.child.whenReady(run.task('three', 100_000));

    run.child.setReady();

    expect(run.told).toEqual(['two: AGENT_STALLED', 'one runs', 'three runs']);
  });

  test('fails what waits once, when it is abandoned', async () => {
    run.child.whenReady(run.task('one'));

    run.child.abandon(reason, ladder);
    await run.ended();

    expect(run.told).toEqual(['one: AGENT_START', 'end: AGENT_START']);
  });

  test('does not become ready once it is asked to end', async () => {
    run.child.whenReady(run.task('one'));
    const stopped = run.child.stop(ladder);

    run.child.setReady();
    expect(run.child).toMatchObject({ state: 'stopping', isUsable: false });
    await stopped;

    expect(run.told).toEqual(['one: AGENT_EXITED', 'end: AGENT_EXITED']);
    expect(run.child.state).toBe('ended');
  });
});

describe('requests', () => {
  beforeEach(() => {
    run = new ChildRun(echo);
    run.child.setReady();
  });

  test('reach the agent under the id that is given, and wait for their answer', async () => {
    run.child.request('7', requestLine('7', 'session/prompt', '{"a":1.0}'), run.asker('seven'));
    await run.line(1);

    expect(run.lines).toEqual(['{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"a":1.0}}']);
    run.answer('7');
    expect(run.told).toEqual(['seven: 7']);
  });

  test('of our own have ids that nobody else gives, and wait for their answer', async () => {
    const answers = [ask(run.child, 'one', '{}'), ask(run.child, 'two', '{}', run.asker('two'))];
    await run.line(2);
    const ids = run.lines.map((line) => JSON.stringify((JSON.parse(line) as { id: string }).id));

    expect(new Set([...ids, newOwnId()]).size).toBe(3);
    for (const id of ids) expect(JSON.parse(id)).toMatch(/^cai-[a-z0-9]+-\d+$/);
    expect(run.lines[1]).toBe(`{"jsonrpc":"2.0","id":${ids[1]},"method":"two","params":{}}`);
    run.answer(ids[1]!);
    expect(run.told).toEqual([`two: ${ids[1]}`]);
    expect(await answers[1]).toMatchObject({ id: ids[1] });
    await run.child.stop(ladder);
    await expect(answers[0]).rejects.toMatchObject({ code: 'AGENT_EXITED' });
  });

  test('fail exactly once when the agent ends, oldest first, then the end is told', async () => {
    for (const id of ['1', '2', '3']) run.child.request(id, requestLine(id, 'm', undefined), run.asker(id));
    run.answer('2');

    await run.child.stop(ladder);

    expect(run.told).toEqual(['2: 2', '1: AGENT_EXITED', '3: AGENT_EXITED', 'end: AGENT_EXITED']);
    expect(run.child.requests.size).toBe(0);
  });

  test('fail at once, and once, when the child is abandoned, which ends it', async () => {
    const late = run.task('late');
    run.child.request('1', requestLine('1', 'm', undefined), {
      ...run.asker('1'),
      onFailure: (failure) => {
        run.told.push(`1: ${failure.code}`);
        run.child.whenReady(late);
      },
    });

    run.child.abandon(reason, ladder);
    expect(run.told).toEqual(['1: AGENT_START', 'late: AGENT_START']);
    expect(run.child).toMatchObject({ state: 'stopping', isUsable: false, endReason: reason });
    await run.ended();

    expect(run.told).toEqual(['1: AGENT_START', 'late: AGENT_START', 'end: AGENT_START']);
    expect(run.child.endReason).toBe(reason);
  });
});

describe('a child whose way to the agent is lost', () => {
  const bytesOfOne = requestLine('1', 'one', undefined).length;

  beforeEach(() => {
    run = new ChildRun(echo);
    run.child.setReady();
  });

  /** Two requests that are open. */
  function ask(): void {
    for (const name of ['one', 'two'])
      run.child.request(`${name.length}${name}`, requestLine('1', name, undefined), {
        ...run.asker(name),
        method: name,
      });
  }

  test('gives back what the agent has not got, and is given no more', async () => {
    run.child.setServed();
    ask();

    run.child.cutOff(bytesOfOne);

    expect(run.told).toEqual(['two: UNDELIVERED']);
    run.child.whenReady(run.task('late'));
    expect(run.told).toEqual(['two: UNDELIVERED', 'late: AGENT_EXITED']);
    expect(run.child.isUsable).toBe(false);
    await run.child.stop(ladder);
    expect(run.told).toEqual([
      'two: UNDELIVERED',
      'late: AGENT_EXITED',
      'one: AGENT_EXITED',
      'end: AGENT_EXITED',
    ]);
    expect(run.child.wasStopped).toBe(false);
  });

  test('gives nothing back that a cancel may have meant', () => {
    run.child.setServed();
    ask();
    run.child.notify(requestLine('1', 'cancel', undefined), true);

    run.child.cutOff(bytesOfOne);

    expect(run.told).toEqual([]);
  });

  test('just ends if the agent has been of no use yet: then it is started again only so often', () => {
    ask();

    run.child.cutOff(0);

    expect(run.child.isUsable).toBe(true);
    expect(run.told).toEqual([]);
    expect(run.child.isUsable).toBe(true);
  });
});

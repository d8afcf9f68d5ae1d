import { ask } from '../../../src/acp/child/own-requests';
import { CaiError } from '../../../src/errors';
import { newOwnId, requestLine } from '../../../src/rpc/answer';
import { program } from '../../agent/agent-run';
import { ChildRun, ladder, megabyte } from './child-run';

const reason = new CaiError('AGENT_START', 'no use');
/** It gives back what it is sent, so its lines tell what an agent was sent. */
const echo = program('cat');

let run: ChildRun;

afterEach(async () => await run.end());

describe('a child that starts', () => {
  beforeEach(() => (run = new ChildRun(echo)));

  test('runs what a task adds in the place of that task', () => {
    run.child.whenReady({ ...run.task('one'), run: () => run.child.whenReady(run.task('inner')) });
    run.child.whenReady(run.task('two'));

    run.child.setReady();

    expect(run.told).toEqual(['inner runs', 'two runs']);
  });

  test('refuses a task when too much waits, and only that', () => {
    run.child.whenReady(run.task('one', 900_000));
    run.child.whenReady(run.task('two', 200_000));
    run.child.whenReady(run.task('three', 100_000));

    run.child.setReady();

    expect(run.told).toEqual(['two: AGENT_STALLED', 'one runs', 'three runs']);
  });

  test('stays, though its start was limited, once it is ready', async () => {
    run.child.limitStart(1, () => reason);

    run.child.setReady();
    await new Promise((resolve) => setTimeout(resolve, 2));
    run.child.request('1', requestLine('1', 'm', undefined), run.asker('1'));
    await run.line(1);

    expect(run.lines).toEqual([JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'm' })]);
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
  function askTwice(): void {
    for (const name of ['one', 'two'])
      run.child.request(JSON.stringify(name), requestLine('1', name, undefined), {
        ...run.asker(name),
        method: name,
      });
  }

  test('gives back what the agent has not got, and is given no more', async () => {
    run.child.setServed();
    askTwice();

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
    askTwice();
    run.child.notify(requestLine('1', 'cancel', undefined), true);

    run.child.cutOff(bytesOfOne);

    expect(run.told).toEqual([]);
  });

  test('just ends if the agent has been of no use yet: then it is started again only so often', () => {
    askTwice();

    run.child.cutOff(0);

    expect(run.child.isUsable).toBe(true);
    expect(run.told).toEqual([]);
  });
});

test('an agent that does not read is ended when cancels alone pile up', () => {
  run = new ChildRun(program('sleep', '60'));
  run.child.setReady();

  for (let i = 0; i < 3; i++) run.child.notify(Buffer.from(`"${megabyte}"\n`), true);

  expect(run.child.state).toBe('stopping');
});

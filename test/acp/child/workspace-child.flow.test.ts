import { requestLine } from '../../../src/rpc/answer';
import { program } from '../../agent/agent-run';
import { ChildRun, megabyte } from './child-run';

let run: ChildRun;

afterEach(async () => await run.end());

describe('an agent that does not read', () => {
  test('gets no more requests once so much waits for it', () => {
    run = new ChildRun(program('sleep', '60'));
    run.child.setReady();
    run.child.request('1', requestLine('1', 'm', `"${megabyte}"`), run.asker('1'));

    run.child.request('2', requestLine('2', 'm', undefined), run.asker('2'));

    expect(run.told).toEqual(['2: AGENT_STALLED']);
    expect(run.child.open.size).toBe(1);
    expect(run.child.isUsable).toBe(true);
  });

  test('gets no more notifications but those that cancel; answers it gets all', async () => {
    run = new ChildRun(program('sh', '-c', 'sleep 0.2; cat'));
    run.child.setReady();
    run.child.notify(Buffer.from(`"${megabyte}"\n`), false);

    run.child.notify(Buffer.from('"dropped"\n'), false);
    run.child.notify(Buffer.from('"cancel"\n'), true);
    run.child.answer(Buffer.from('"answer"\n'));

    await run.line(3);
    expect(run.lines.slice(1)).toEqual(['"cancel"', '"answer"']);
  });

  test('is ended when answers and cancels pile up, by SIGKILL if need be', async () => {
    run = new ChildRun(program('sh', '-c', 'trap "" TERM; echo ready; sleep 60'));
    run.child.setReady();
    await run.line(1);

    for (let i = 0; i < 3; i++) run.child.answer(Buffer.from(`"${megabyte}"\n`));
    expect(run.child.state).toBe('stopping');
    // None of these gives it more time.
    const nagging = setInterval(() => run.child.notify(Buffer.from('{}\n'), true), 20);
    await run.ended();
    clearInterval(nagging);

    expect(run.told).toEqual(['end: AGENT_EXITED']);
    expect(run.child.endReason?.message).toMatch(/was killed by SIGKILL/);
  });

  test('is ended when cancels alone pile up', () => {
    run = new ChildRun(program('sleep', '60'));
    run.child.setReady();

    for (let i = 0; i < 3; i++) run.child.notify(Buffer.from(`"${megabyte}"\n`), true);

    expect(run.child.state).toBe('stopping');
  });
});

describe('an agent that writes more than the editor reads', () => {
  test('waits until there is room, and then goes on in order', async () => {
    const count = 50_000;
    let delivered = 0;
    run = new ChildRun(program('seq', String(count)), (text) => {
      delivered += text.length + 1;
      run.child.deliver(Buffer.from(`${text}\n`));
    });
    await run.until(() => run.child.lane.stopIfFull());
    const held = run.lines.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(run.lines).toHaveLength(held);

    while (run.told.length === 0 || run.child.lane.stopIfFull()) {
      run.gate.open();
      await new Promise((resolve) => setImmediate(resolve));
      // Half the writer's budget is a lane's, and a turn is on its way.
      const written = run.gate.batches.reduce((sum, batch) => sum + batch.length, 0);
      expect(delivered - written).toBeLessThan(128 * 1024);
    }

    expect(run.told).toEqual(['end: AGENT_EXITED']);
    expect(run.lines).toEqual(Array.from({ length: count }, (_, i) => String(i + 1)));
  });
});

import { HeldTasks, type HeldTask } from '../../../src/acp/child/waiting-tasks';

function task(bytes: number): HeldTask {
  return { bytes, run: () => undefined, onFailure: () => undefined };
}

describe('tasks that wait', () => {
  test('come out in their order, once, and leave room', () => {
    const held = new HeldTasks(10_000);
    const tasks = [task(4_000), task(3_000)];
    for (const each of tasks) expect(held.add(each)).toBe(true);
    expect(held.add(task(1_000))).toBe(false);

    expect(held.takeAll()).toEqual(tasks);

    expect(held.takeAll()).toEqual([]);
    expect(held.add(task(8_900))).toBe(true);
  });

  test('are one of any size, also beside those that write nothing', () => {
    const held = new HeldTasks(1_024);
    expect(held.add(task(0))).toBe(true);

    expect(held.add(task(100_000))).toBe(true);

    expect(held.add(task(1))).toBe(false);
    expect(held.add(task(0))).toBe(false);
  });

  test('take room also when they write nothing', () => {
    const held = new HeldTasks(10_000);

    let count = 0;
    while (held.add(task(0))) count++;

    expect(count).toBe(9);
  });
});

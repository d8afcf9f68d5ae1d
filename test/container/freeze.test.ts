import { join } from 'node:path';
import type { Engine } from '../../src/container/engine/engine';
import { Freezer, Frozen, whileThawed } from '../../src/container/freeze';
import { ProcessLocks } from '../../src/system/process-lock';
import { label } from '../../src/container/spec/spec';
import { CaiError } from '../../src/errors';
import { newFolder } from '../support/temp-folder';
import { containerInfo } from './given';

const refusal = new CaiError('CONTAINER_START', 'the engine cannot pause');

let locks: ProcessLocks;
/** The containers of the engine below, and the state of each. */
let states: Record<string, string>;
/** What the engine has done: `pause a1`. */
let done: string[];
/** How often the containers have been listed; called before that. */
let lists: number;
let onList: () => void;
/** Called before a pause. */
let onPause: (id: string) => void;

/** Lets the clock run 20 times as fast, so that a test need not wait until somebody gives up. */
function hasten(): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => 20 * now());
}
afterEach(() => jest.restoreAllMocks());

beforeEach(() => {
  locks = new ProcessLocks(join(newFolder(), 'frozen'));
  states = { a1: 'running' };
  done = [];
  lists = 0;
  onList = () => undefined;
  onPause = () => undefined;
});

const labels = { [label.managed]: 'true', [label.user]: '1000' };

const infoOf = (id: string, state: string) =>
  containerInfo({ id, labels, state, isRunning: /running|paused/.test(state) });

const engine = {
  listContainers: () => {
    lists++;
    onList();
    const all = Object.entries(states);
    return Promise.resolve(all.map(([id, state]) => ({ id, name: id, state, labels, createdAt: 0 })));
  },
  inspectContainer: (id: string) => Promise.resolve(states[id] && infoOf(id, states[id])),
  setPaused: (id: string, isPaused: boolean) => {
    if (isPaused) onPause(id);
    const from = isPaused ? 'running' : 'paused';
    if (states[id] !== from) return Promise.reject(new CaiError('CONTAINER_START', `${id} is not ${from}`));
    states[id] = isPaused ? 'paused' : 'running';
    done.push(`${isPaused ? 'pause' : 'unpause'} ${id}`);
    return Promise.resolve();
  },
} as unknown as Engine;

const freezer = (container = 'a1') => new Freezer(engine, locks, { container, hostUser: 1000 });

describe('while files are served', () => {
  test('every container of the user stands still that runs', async () => {
    Object.assign(states, { b2: 'running', c3: 'restarting', a7: 'exited' });
    onPause = (id) => {
      if (states[id] === 'restarting') states[id] = 'running';
    };
    const one = freezer();

    await one.freeze();
    expect(done.sort()).toEqual(['pause a1', 'pause b2', 'pause c3']);

    await one.thaw();
    expect(Object.values(states)).not.toContain('paused');
    expect(locks.holders()).toEqual([]);
  });

  test('none is served where the containers are on another machine', async () => {
    const far = new Freezer({ ...engine, isElsewhere: true }, locks, { container: 'a1', hostUser: 1000 });

    await expect(far.freeze()).rejects.toThrow('agents on another machine get no files of the editor');
    expect(done).toEqual([]);
  });

  test('one that begins to run meanwhile stands still, too', async () => {
    states.b2 = 'created';
    // It has been listed once.
    onList = () => {
      if (lists > 1 && states.b2 === 'created') states.b2 = 'running';
    };

    await freezer().freeze();

    expect([states.a1, states.b2]).toEqual(['paused', 'paused']);
  });

  test('one that has begun to run since the last file stands still, too, and one that has ended is no hindrance', async () => {
    Object.assign(states, { b2: 'created', c3: 'running' });
    const one = freezer();
    await one.freeze();
    await one.thaw();
    states.b2 = 'running';
    states.c3 = 'exited';

    await one.freeze();
    expect(Object.values(states)).toEqual(['paused', 'paused', 'exited']);

    await one.thaw();
    [lists, done] = [0, []];
    await one.freeze();
    expect([lists, done.sort()]).toEqual([1, ['pause a1', 'pause b2']]);
  });

  test('another that serves files waits', async () => {
    states.b2 = 'running';
    const [one, other] = [freezer(), freezer('b2')];
    await one.freeze();
    const waiting = other.freeze();
    expect(done).toHaveLength(2);

    await one.thaw();
    await waiting;

    expect([states.a1, states.b2]).toEqual(['paused', 'paused']);
    await other.thaw();
    expect(done).toHaveLength(8);
  });

  test('a thaw does not overtake the freeze that it ends', async () => {
    const one = freezer();
    await Promise.all([one.freeze(), one.thaw()]);

    expect([done, locks.holders()]).toEqual([['pause a1', 'unpause a1'], []]);
  });

  test('an engine that cannot do it is not asked again, and nothing is left frozen', async () => {
    hasten();
    states.b2 = 'running';
    let asked = 0;
    onPause = (id) => {
      if (id !== 'b2') return;
      asked++;
      throw refusal;
    };
    const one = freezer();

    await expect(one.freeze()).rejects.toBe(refusal);
    const before = asked;
    await expect(one.freeze()).rejects.toBe(refusal);

    expect([asked - before, states.a1, locks.holders()]).toEqual([0, 'running', []]);
  });

  test('an engine that has done it before is asked again after it has failed', async () => {
    hasten();
    const one = freezer();
    await one.freeze();
    await one.thaw();
    onPause = () => {
      throw refusal;
    };
    await expect(one.freeze()).rejects.toBe(refusal);
    onPause = () => undefined;

    await one.freeze();

    expect(states.a1).toBe('paused');
  });

  test('a container that its user has paused is nothing to rely on, and stays as it is', async () => {
    hasten();
    states.b2 = 'paused';
    const one = freezer();

    await expect(one.freeze()).rejects.toThrow('the container b2 cannot be paused: it is paused already');
    states.b2 = 'running';
    await one.freeze();

    expect(states.b2).toBe('paused');
  });
});

describe('a container that is wanted', () => {
  test.each(['a1', 'b2'])('is waited for while files are served: %s', async (id) => {
    const one = freezer();
    await one.freeze();
    const info = infoOf(id, 'running');

    expect(await new Frozen(engine, locks).mustWaitFor(info)).toBe(true);
    await one.thaw();
    expect(await new Frozen(engine, locks).mustWaitFor(info)).toBe(false);
  });

  test('does not wait while another one ends', async () => {
    await whileThawed(engine, locks, 'a1', async () => {
      const waits = ['a1', 'b2'].map((id) => new Frozen(engine, locks).mustWaitFor(infoOf(id, 'running')));

      expect(await Promise.all(waits)).toEqual([true, false]);
    });
  });

  test('is given up if its user has paused it, and only after a moment', async () => {
    hasten();
    const frozen = new Frozen(engine, locks);
    const info = infoOf('a1', 'paused');
    expect(await frozen.mustWaitFor(info)).toBe(true);

    const again = async (): Promise<void> => {
      while (await frozen.mustWaitFor(info));
    };

    await expect(again()).rejects.toThrow(/^the container .* is paused: docker unpause /);
  });

  test('can be ended while its files are being served', async () => {
    const one = freezer();
    await one.freeze();
    let wasPaused: boolean | undefined;
    const ending = whileThawed(engine, locks, 'a1', () => {
      wasPaused = states.a1 === 'paused';
      return Promise.resolve();
    });
    await one.thaw();
    await ending;

    expect(wasPaused).toBe(false);
  });
});

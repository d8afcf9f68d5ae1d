import { join } from 'node:path';
import type { Engine } from '../../src/container/engine';
import { Freezer, Frozen, isConcerned, whileThawed } from '../../src/container/freeze';
import { FreezeLocks } from '../../src/container/freeze-locks';
import { label } from '../../src/container/spec';
import { CaiError } from '../../src/errors';
import { newFolder } from '../workspace/temp-folder';
import { containerInfo } from './given';

const refusal = new CaiError('CONTAINER_START', 'the engine cannot pause');

/** A container of the engine below. */
interface Fake {
  readonly binds: readonly string[];
  state: string;
}

let locks: FreezeLocks;
let fakes: Record<string, Fake>;
/** What the engine has done: `pause a1`. */
let done: string[];
/** How often the containers have been listed; called before that. */
let lists: number;
let onList: () => void;
/** Called before a pause. */
let onPause: (id: string) => void;

beforeEach(() => {
  locks = new FreezeLocks(join(newFolder(), 'frozen'));
  fakes = { a1: { binds: ['/w /w rw'], state: 'running' } };
  done = [];
  lists = 0;
  onList = () => undefined;
  onPause = () => undefined;
});

const labelsOf = ({ binds }: Fake) => ({
  [label.managed]: 'true',
  [label.user]: '1000',
  [label.spec]: JSON.stringify({ mounts: binds.map((bind) => `bind ${bind}`) }),
});

const infoOf = (id: string, fake: Fake) =>
  containerInfo({
    id,
    labels: labelsOf(fake),
    state: fake.state,
    isRunning: /running|paused/.test(fake.state),
  });

const engine = {
  listContainers: () => {
    lists++;
    onList();
    const all = Object.entries(fakes);
    return Promise.resolve(
      all.map(([id, fake]) => ({ id, name: id, state: fake.state, labels: labelsOf(fake), createdAt: 0 })),
    );
  },
  inspectContainer: (id: string) => Promise.resolve(fakes[id] && infoOf(id, fakes[id])),
  setPaused: (id: string, isPaused: boolean) => {
    if (isPaused) onPause(id);
    const from = isPaused ? 'running' : 'paused';
    if (fakes[id]!.state !== from)
      return Promise.reject(new CaiError('CONTAINER_START', `${id} is not ${from}`));
    fakes[id]!.state = isPaused ? 'paused' : 'running';
    done.push(`${isPaused ? 'pause' : 'unpause'} ${id}`);
    return Promise.resolve();
  },
} as unknown as Engine;

const freezer = (container = 'a1') => new Freezer(engine, locks, { container, hostUser: 1000 });

describe('while files are served', () => {
  test('every container stands still that can write the same folder, or one above or below', async () => {
    Object.assign(fakes, {
      b2: { binds: ['/w /w rw'], state: 'running' },
      c3: { binds: ['/w/inner /w/inner rw'], state: 'running' },
      d4: { binds: ['/ /mnt rw'], state: 'running' },
      e5: { binds: ['/w2 /w2 rw'], state: 'running' },
      f6: { binds: ['/w /w ro'], state: 'running' },
      a7: { binds: ['/w /w rw'], state: 'exited' },
    });
    const one = freezer();

    await one.freeze();
    expect(done.sort()).toEqual(['pause a1', 'pause b2', 'pause c3', 'pause d4']);

    await one.thaw();
    expect(Object.values(fakes).filter(({ state }) => state === 'paused')).toEqual([]);
    expect(locks.holders()).toEqual([]);
  });

  test('one that begins to run meanwhile stands still, too', async () => {
    fakes.b2 = { binds: ['/w /w rw'], state: 'created' };
    // It has been listed once.
    onList = () =>
      (fakes.b2!.state = lists > 1 && fakes.b2!.state === 'created' ? 'running' : fakes.b2!.state);

    await freezer().freeze();

    expect([fakes.a1!.state, fakes.b2.state]).toEqual(['paused', 'paused']);
  });

  test('one that has begun to run since the last file stands still, too, and one that has ended is no hindrance', async () => {
    Object.assign(fakes, {
      b2: { binds: ['/w /w rw'], state: 'created' },
      c3: { binds: ['/w /w rw'], state: 'running' },
    });
    const one = freezer();
    await one.freeze();
    await one.thaw();
    fakes.b2!.state = 'running';
    fakes.c3!.state = 'exited';

    await one.freeze();
    expect(Object.values(fakes).map(({ state }) => state)).toEqual(['paused', 'paused', 'exited']);

    await one.thaw();
    [lists, done] = [0, []];
    await one.freeze();
    expect([lists, done.sort()]).toEqual([1, ['pause a1', 'pause b2']]);
  });

  test('another that serves files of the same folder waits', async () => {
    fakes.b2 = { binds: ['/w /w rw'], state: 'running' };
    const [one, other] = [freezer(), freezer('b2')];
    await one.freeze();
    const waiting = other.freeze();
    expect(done).toHaveLength(2);

    await one.thaw();
    await waiting;

    expect([fakes.a1!.state, fakes.b2.state]).toEqual(['paused', 'paused']);
    await other.thaw();
    expect(done).toHaveLength(8);
  });

  test('a thaw does not overtake the freeze that it ends', async () => {
    const one = freezer();
    await Promise.all([one.freeze(), one.thaw()]);

    expect([done, locks.holders()]).toEqual([['pause a1', 'unpause a1'], []]);
  });

  test('an engine that cannot do it is not asked again, and nothing is left frozen', async () => {
    fakes.b2 = { binds: ['/w /w rw'], state: 'running' };
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

    expect([asked - before, fakes.a1!.state, locks.holders()]).toEqual([0, 'running', []]);
  });

  test('an engine that has done it before is asked again after it has failed', async () => {
    const one = freezer();
    await one.freeze();
    await one.thaw();
    onPause = () => {
      throw refusal;
    };
    await expect(one.freeze()).rejects.toBe(refusal);
    onPause = () => undefined;

    await one.freeze();

    expect(fakes.a1!.state).toBe('paused');
  });

  test('a container that its user has paused is nothing to rely on, and stays as it is', async () => {
    fakes.b2 = { binds: ['/w /w rw'], state: 'paused' };
    const one = freezer();

    await expect(one.freeze()).rejects.toThrow('the container b2 cannot be paused: it is paused already');
    fakes.b2.state = 'running';
    await one.freeze();

    expect(fakes.b2.state).toBe('paused');
  });
});

describe('a container that is wanted', () => {
  test.each([
    ['itself', 'a1', ['/elsewhere /elsewhere rw']],
    ['another with the same folder', 'b2', ['/w /w rw']],
  ])('is waited for while files of %s are served', async (_, id, binds) => {
    const one = freezer();
    await one.freeze();
    const info = infoOf(id, { binds, state: 'running' });

    expect(await new Frozen(engine, locks).mustWaitFor(info)).toBe(true);
    await one.thaw();
    expect(await new Frozen(engine, locks).mustWaitFor(info)).toBe(false);
  });

  test('does not wait for files of another folder', async () => {
    await freezer().freeze();

    expect(
      await new Frozen(engine, locks).mustWaitFor(infoOf('b2', { binds: ['/w2 /w2 rw'], state: 'running' })),
    ).toBe(false);
  });

  test('is given up if its user has paused it, and only after a moment', async () => {
    const frozen = new Frozen(engine, locks);
    const info = infoOf('a1', { binds: [], state: 'paused' });
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
      wasPaused = fakes.a1!.state === 'paused';
      return Promise.resolve();
    });
    await one.thaw();
    await ending;

    expect(wasPaused).toBe(false);
  });
});

test.each([
  ['["/a b"]', ['/a b /a b rw'], true],
  ['["/a b/c"]', ['/a b /a b rw'], true],
  ['["/x"]', ['/a b /a b rw'], false],
  ['["/a"]', ['/ab /ab rw'], false],
  ['["/a"]', ['/a /a ro'], false],
  ['[]', ['/a /a rw'], false],
  ['null', ['/a /a rw'], true],
  ['', ['/a /a rw'], true],
])('whether folders %s are those of a record with %j: %s', (note, binds, expected) => {
  expect(isConcerned(note, JSON.stringify({ mounts: binds.map((bind) => `bind ${bind}`) }))).toBe(expected);
});

test('a container whose record cannot be read may have every folder', () => {
  expect(isConcerned('["/a"]', undefined)).toBe(true);
});

import { Readable } from 'node:stream';
import type { ContainerInfo } from '../../src/container/engine/container-info';
import type { ContainerPlan, Engine } from '../../src/container/engine/engine';
import { openProgress } from '../../src/container/image/progress';
import { ownerOf, provideServices, removeWithServices, stopWithServices } from '../../src/container/services';
import { label } from '../../src/container/spec/labels';
import { circumstances, containerInfo, settings } from './given';

const services = [{ name: 'db', image: 'postgres', env: [], after: [], ends: false, memoryBytes: 2 ** 28 }];
const owner = containerInfo({
  id: 'f00',
  name: 'cai-x',
  startedAt: 5_000,
  labels: { [label.services]: 'db' },
});
const name = 'cai-x-db';

/** A service that runs beside `owner`, with changes. */
const running = (changes: Partial<ContainerInfo> = {}) =>
  containerInfo({
    id: 'd0',
    name,
    startedAt: 6_000,
    labels: { [label.service]: 'db', [label.serviceOf]: 'f00' },
    ...changes,
  });
const stopped = (changes: Partial<ContainerInfo> = {}) =>
  running({ state: 'exited', isRunning: false, exitCode: 3, ...changes });

/** An engine with at most one service; `log` tells what it was asked to change. */
class FakeEngine {
  readonly log: string[] = [];
  /** Whether what is started ends at once. */
  isBroken = false;
  /** Whether another process makes the container first. */
  isLate = false;
  readonly images = { find: () => Promise.resolve({ id: 'sha256:i', tags: [], labels: {}, env: [], command: ['serve'] }) }; // prettier-ignore

  constructor(private service: ContainerInfo | undefined) {}

  about = () => Promise.resolve(circumstances.engine);
  inspectContainer = (which: string) => Promise.resolve(which === name ? this.service : owner);
  createContainer = (made: string, { labels }: ContainerPlan) => {
    this.#note('create', made);
    this.service = stopped({ id: 'd1', startedAt: undefined, labels });
    return Promise.resolve(this.isLate ? undefined : 'd1');
  };
  startContainer = (id: string) => {
    this.#note('start', id);
    this.service = { ...this.service!, isRunning: !this.isBroken, startedAt: 7_000, exitCode: 3 };
    return Promise.resolve();
  };
  stopContainer = (id: string) => {
    this.#note('stop', id);
    if (this.service?.id === id) this.service = { ...this.service, isRunning: false };
    return Promise.resolve();
  };
  removeContainer = (id: string) => {
    this.#note('remove', id);
    if (this.service?.id === id) this.service = undefined;
    return Promise.resolve();
  };
  logsTail = () => Promise.resolve('no space\n');

  #note(verb: string, what: string): void {
    this.log.push(`${verb} ${what}`);
  }
}

async function provide(engine: FakeEngine, isOutdated = false): Promise<string[]> {
  const told: string[] = [];
  const progress = openProgress({ write: () => true }, true);
  const request = {
    settings: settings({ services }),
    tell: (each: string) => told.push(each),
    progress,
    buildImage: () => Promise.resolve(undefined),
  };
  await provideServices(engine as unknown as Engine, owner, isOutdated, request);
  return told;
}

describe('provideServices', () => {
  test.each([
    ['makes one that is not there', undefined, ['create cai-x-db', 'start d1']],
    ['leaves one alone that runs', running(), []],
    ['starts one that has ended with its container', stopped({ startedAt: 4_000 }), ['start d0']],
    ['starts one again that has the network of an earlier start', running({ startedAt: 4_000 }), ['stop d0', 'start d0']],
    ['makes one anew that was left half removed', stopped({ state: 'dead' }), ['remove d0', 'create cai-x-db', 'start d1']],
    ['makes one anew that was beside an earlier container', running({ labels: { [label.service]: 'db', [label.serviceOf]: 'old' } }), ['remove d0', 'create cai-x-db', 'start d1']],
  ])('%s', async (_, found, log) => {
    const engine = new FakeEngine(found);

    expect(await provide(engine)).toEqual([]);
    expect(engine.log).toEqual(log);
  }); // prettier-ignore

  test('tells of one that has ended by itself', async () => {
    const engine = new FakeEngine(stopped());

    expect(await provide(engine)).toEqual([
      'the service "db" had ended with status 3, and is started again: see "cai logs --service db"',
    ]);
    expect(engine.log).toEqual(['start d0']);
  });

  test('fails with what one has printed that ends at once', async () => {
    const engine = Object.assign(new FakeEngine(undefined), { isBroken: true });

    await expect(provide(engine)).rejects.toMatchObject({
      code: 'CONTAINER_START',
      message: 'the service "db" ended with status 3 as soon as it was started:\nno space',
    });
    expect(engine.log).toEqual(['create cai-x-db', 'start d1']);
  });

  test('leaves one alone that has ended with success, until its container starts again', async () => {
    const engine = new FakeEngine(stopped({ exitCode: 0 }));
    const later = new FakeEngine(stopped({ exitCode: 0, startedAt: 4_000 }));

    await provide(engine);
    await provide(later);

    expect([engine.log, later.log]).toEqual([[], ['start d0']]);
  });

  test('uses one that another process makes at the same time', async () => {
    const engine = Object.assign(new FakeEngine(undefined), { isLate: true });

    await provide(engine);

    expect(engine.log).toEqual(['create cai-x-db', 'start d1']);
  });

  test('takes no container of somebody else', async () => {
    const engine = new FakeEngine(running({ labels: {} }));

    await expect(provide(engine)).rejects.toMatchObject({ code: 'FOREIGN_CONTAINER' });
    expect(engine.log).toEqual([]);
  });

  test('makes none beside a container of other settings, but starts what is there', async () => {
    const [none, some] = [new FakeEngine(undefined), new FakeEngine(stopped())];

    await provide(none, true);
    await provide(some, true);

    expect([none.log, some.log]).toEqual([[], ['start d0']]);
  });
});

test('services end before their container is removed, and only those that are beside it', async () => {
  const [own, other] = [
    new FakeEngine(running()),
    new FakeEngine(running({ labels: { [label.service]: 'db', [label.serviceOf]: 'another' } })),
  ];

  for (const engine of [own, other]) await removeWithServices(engine as unknown as Engine, ownerOf(owner));

  expect(own.log).toEqual(['stop d0', 'remove d0', 'remove f00']);
  expect(other.log).toEqual(['remove f00']);
});

test('services are stopped with their container', async () => {
  const engine = new FakeEngine(running());

  await stopWithServices(engine as unknown as Engine, ownerOf(owner), 10);

  expect([...engine.log].sort()).toEqual(['stop d0', 'stop f00']);
});

describe('services that come up', () => {
  /** An engine whose services end, or are ready, once they have been looked at; `log` has what happens in order. */
  class SlowEngine {
    readonly log: string[] = [];
    readonly #made = new Map<string, ContainerInfo>();
    readonly images = {
      find: (image: string) =>
        Promise.resolve({
          id: image,
          tags: [],
          labels: {},
          env: [],
          command: ['x'],
          ports: image === 'one' ? [5_432] : [],
        }),
    };

    about = () => Promise.resolve(circumstances.engine);
    inspectContainer = (which: string) => {
      const found = this.#made.get(which);
      const isEnding =
        found?.isRunning === true && found.name.endsWith('fill') && this.log.at(-1) === 'start cai-x-fill';
      if (isEnding) this.#note('end', found.name, { isRunning: false, state: 'exited' });
      return Promise.resolve(isEnding ? found : this.#made.get(which));
    };
    createContainer = (name: string, { labels }: ContainerPlan) => {
      this.#made.set(name, stopped({ id: name, name, labels, startedAt: undefined, exitCode: 0 }));
      return Promise.resolve(name);
    };
    startContainer = (id: string) => {
      this.#note('start', id, { isRunning: true, state: 'running', startedAt: Date.now() });
      return Promise.resolve();
    };
    startIn = (id: string, [, , script = '', , ...health]: string[]) => {
      const port = script.includes("1538' 0A'") ? ' at 5432' : '';
      this.log.push(`ready ${id}${port}: ${health.join()}`);
      return Promise.resolve(Readable.from(['ready\n']));
    };

    #note(verb: string, name: string, changes: Partial<ContainerInfo>): void {
      this.log.push(`${verb} ${name}`);
      this.#made.set(name, { ...this.#made.get(name)!, ...changes });
    }
  }

  test('start behind those that they come after, and are waited for', async () => {
    const service = { image: 'one', env: [], after: [] as string[], ends: false, memoryBytes: 2 ** 28 };
    const all = [
      { ...service, name: 'app', image: 'none', after: ['fill', 'gone'] },
      { ...service, name: 'fill', after: ['db'], ends: true },
      { ...service, name: 'db', health: ['a', 'b'] as [string, string] },
    ];
    const engine = new SlowEngine();
    const info = containerInfo({ ...owner, labels: { [label.services]: 'app,fill,db' } });
    const progress = openProgress({ write: () => true }, true);
    const buildImage = () => Promise.resolve(undefined);
    const request = { settings: settings({ services: all }), tell: () => undefined, progress, buildImage };

    await provideServices(engine as unknown as Engine, info, false, request);

    expect(engine.log).toEqual([
      ...['start cai-x-db', 'ready cai-x-db at 5432: a,b'],
      ...['start cai-x-fill', 'end cai-x-fill', 'start cai-x-app'],
    ]);
  });
});

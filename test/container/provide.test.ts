import { Host } from '../../src/system/host';
import type { ContainerProcess } from '../../src/container/engine/container-processes';
import type { ContainerInfo } from '../../src/container/engine/container-info';
import type { ContainerPlan, Engine } from '../../src/container/engine/engine';
import { connectTo, lookAhead, provideContainer } from '../../src/container/provide';
import type { ImageInfo } from '../../src/container/engine/engine-info';
import { openProgress } from '../../src/container/image/progress';
import { label } from '../../src/container/spec/labels';
import { CaiError } from '../../src/errors';
import { circumstances, containerInfo, settings } from './given';

type ContainerRequest = Parameters<typeof provideContainer>[1];

/** The same workspace, after another folder has got its name. */
const replaced = settings({ binds: settings().binds.map((bind) => ({ ...bind, identity: '1:9' })) });

const noImage = new CaiError('IMAGE', 'there is no image');
let removed: string[];

/** An engine with one container, in which that many commands run. */
function engineWith(changes: Parameters<typeof containerInfo>[0], commands = 0): Engine {
  removed = [];
  return {
    inspectContainer: () => Promise.resolve(containerInfo(changes)),
    processes: () => Promise.resolve(supervisors(commands)),
    removeContainer: (id: string) => Promise.resolve(void removed.push(id)),
  } as unknown as Engine;
}

/** Of so many commands, below what has started them. */
function supervisors(count: number): ContainerProcess[] {
  const commands = Array.from({ length: count }, (_, index) => [
    { pid: 10 + 2 * index, parent: 1, command: 'sshd: agent@notty' },
    { pid: 11 + 2 * index, parent: 10 + 2 * index, command: '/usr/bin/perl /run/cai/supervisor' },
  ]);
  return [{ pid: 1, parent: 0, command: '/usr/bin/perl /run/cai/keeper' }, ...commands.flat()];
}

function request(changes: Partial<ContainerRequest>): ContainerRequest {
  return {
    settings: settings(),
    findImage: () => Promise.resolve(undefined),
    image: () => Promise.reject(noImage),
    isFresh: false,
    mostServed: 1,
    host: new Host({}),
    tell: () => undefined,
    progress: openProgress({ write: () => true }, true),
    buildImage: () => Promise.resolve(undefined),
    ...changes,
  };
}

describe('provideContainer, where there is no image to make another one from', () => {
  test.each([
    ['is to be made anew', { isFresh: true }],
    ['has changed settings', { settings: settings({ pids: 7 }) }],
    ['has another folder than the workspace is now', { settings: replaced }],
  ])('leaves a container alone that %s', async (_, changes) => {
    await expect(provideContainer(engineWith({}), request(changes))).rejects.toBe(noImage);

    expect(removed).toEqual([]);
  });

  test('gives the one that is there', async () => {
    expect(await provideContainer(engineWith({}), request({}))).toMatchObject({
      hostKey: expect.any(String) as string,
    });
  });
});

describe('a container that is looked at ahead', () => {
  const { workspace, agent, hostUser, authorizedKey } = settings();
  const named = { workspace, agent, hostUser, authorizedKey };
  const refusal = new CaiError('CONTAINER_START', 'no way in');
  let entered: string[];

  function engine(changes: Parameters<typeof containerInfo>[0]): Engine {
    entered = [];
    return {
      ...engineWith(changes),
      lookCommand: () => '',
      connectTo: ({ id }: { id: string }) => {
        entered.push(id);
        return Promise.reject(refusal);
      },
    };
  }

  test('is connected to, and who takes the connection hears how that goes', async () => {
    const door = engine({});
    const ahead = await lookAhead(door, named, '');
    const container = await provideContainer(door, request({}));

    await expect(connectTo(door, container, '', ahead)).rejects.toBe(refusal);

    expect(entered).toEqual([container.id]);
  });

  test.each([
    ['is not as it was made', { user: '0:0' }],
    ['does not run', { state: 'exited', isRunning: false }],
    ['stands still', { state: 'paused' }],
  ])('is not connected to where it %s', async (_, changes) => {
    const { info, connection } = await lookAhead(engine(changes), named, '');

    expect(info).toMatchObject(changes);
    expect(connection).toBeUndefined();
    expect(entered).toEqual([]);
  });

  test('is not looked at again', async () => {
    const looks = { ...engine({}), inspectContainer: () => Promise.reject(refusal) };

    const container = await provideContainer(looks, request({ seen: { info: containerInfo({}) } }));

    expect(container).toMatchObject({ id: containerInfo({}).id });
  });

  test('has its connection ended where another start of it is used', async () => {
    const end = jest.fn();
    const ahead = {
      info: containerInfo({ startedAt: 1 }),
      connection: Promise.resolve({ end } as unknown as Awaited<ReturnType<typeof connectTo>>),
    };
    const door = engine({ startedAt: 2 });
    const container = await provideContainer(door, request({}));

    await expect(connectTo(door, container, '', ahead)).rejects.toBe(refusal);

    expect(end).toHaveBeenCalledTimes(1);
  });
});

describe('provideContainer, where commands run', () => {
  const protectedPath = {
    source: '/home/u/app/.npmrc',
    target: '/home/u/app/.npmrc',
    identity: '1:5',
    isReadOnly: true,
    isRoot: false,
  };

  test.each([
    [
      'for a folder that has been replaced',
      replaced,
      'REPLACED',
      /^"\/home\/u\/app" was moved or replaced .*, and commands still run in the old folder: end them with: cai stop --force --workspace "\/home\/u\/app"/,
    ],
    [
      'to write what it protects',
      settings({ protection: undefined }),
      'CONTAINER_START',
      /commands in it cannot write what is protected, and some still run/,
    ],
  ])('refuses %s', async (_, wanted, code, message) => {
    const refused = provideContainer(engineWith({}, 1), request({ settings: wanted }));

    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
    expect(removed).toEqual([]);
  });

  test('refuses to protect what they can write', async () => {
    const labels = { ...containerInfo().labels, [label.protection]: 'off' };

    await expect(provideContainer(engineWith({ labels }, 1), request({}))).rejects.toThrow(
      'commands in it can write what this machine would execute, and some still run',
    );
  });

  test('gives the container, and tells what is not as it should be', async () => {
    const told: string[] = [];
    const labels = { ...containerInfo().labels, [label.protection]: 'on\n1:4 ro /home/u/app/.npmrc' };
    const wanted = settings({ pids: 7, protection: [protectedPath] });
    const tell = (notice: string) => told.push(notice);

    await provideContainer(engineWith({ labels }, 1), request({ settings: wanted, tell }));

    expect(told).toEqual([
      expect.stringContaining(
        'the configuration or the image has changed since the container cai-x was made',
      ),
      expect.stringMatching(
        /^"\/home\/u\/app\/.npmrc" was replaced on this machine while commands run .*cai-x/,
      ),
    ]);
  });
});

test('a fresh container that another process has made meanwhile is used', async () => {
  const engine = engineWith({});
  const [old, made] = [containerInfo(), containerInfo({ id: 'a'.repeat(64) })];
  // The image is had between the first two looks.
  const infos = [old, old, made];
  engine.inspectContainer = () => Promise.resolve(infos.shift());
  const image = () => Promise.resolve({ id: old.imageId, labels: {} } as object as ImageInfo);

  expect(await provideContainer(engine, request({ isFresh: true, image }))).toMatchObject({ id: made.id });
  expect(removed).toEqual([old.id]);
});

describe('provideContainer, where the commands in a container cannot be counted', () => {
  const noList = new CaiError('CONTAINER_NOT_FOUND', 'cannot list the processes');

  /** `now`: what the engine tells of the container after the failure. */
  function failingEngine(now: ContainerInfo | undefined): Engine {
    const found = [containerInfo(), now, undefined];
    return Object.assign(engineWith({}), {
      inspectContainer: () => Promise.resolve(found.shift()),
      processes: () => Promise.reject(noList),
    });
  }

  test.each([
    ['removed', undefined],
    ['stopped', containerInfo({ state: 'exited', isRunning: false })],
  ])('looks again if another process has %s it meanwhile', async (_, now) => {
    const wanted = request({ settings: settings({ pids: 7 }) });

    // Nothing is there at the second look, so that the image is wanted.
    await expect(provideContainer(failingEngine(now), wanted)).rejects.toBe(noImage);
  });

  test('fails if the container is as it was', async () => {
    const wanted = request({ settings: settings({ pids: 7 }) });

    await expect(provideContainer(failingEngine(containerInfo()), wanted)).rejects.toBe(noList);
  });
});

test('an image that comes while a container is made from an older one is what the next is made from', async () => {
  const engine = engineWith({});
  const made: string[] = [];
  let info: ContainerInfo | undefined;
  Object.assign(engine, {
    inspectContainer: () => Promise.resolve(info),
    about: () => Promise.resolve({ ...circumstances.engine, machine: undefined }),
    createVolume: () => Promise.resolve(),
    listVolumes: () => Promise.resolve([]),
    createContainer: (_name: string, { image, labels }: ContainerPlan) => {
      if (made.push(image) > 2) throw new Error('made again and again');
      info = containerInfo({ imageId: image, labels });
      return Promise.resolve(info.id);
    },
    startContainer: () => Promise.resolve(),
    removeContainer: () => Promise.resolve((info = undefined)),
  });
  const [older, newer] = ['sha256:old', 'sha256:new'].map((id) =>
    Promise.resolve({ id, labels: {} } as object as ImageInfo),
  );

  const found = await provideContainer(engine, request({ image: () => older!, findImage: () => newer! }));
  expect(found).toMatchObject({ imageId: 'sha256:new' });
  expect(made).toEqual(['sha256:old', 'sha256:new']);
});

describe('provideContainer, where the engine never gets on', () => {
  const image = () => Promise.resolve({ id: 'sha256:i', labels: {} } as object as ImageInfo);

  function stuckEngine(info: ContainerInfo | undefined): Engine {
    // A minute passes between two looks at the clock.
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 60_000));
    return Object.assign(engineWith({}), {
      inspectContainer: () => Promise.resolve(info),
      about: () => Promise.resolve(circumstances.engine),
      createVolume: () => Promise.resolve(),
      listVolumes: () => Promise.resolve([]),
      createContainer: () => Promise.resolve(undefined),
    });
  }

  afterEach(() => jest.restoreAllMocks());

  test('tells that a removal does not end', async () => {
    await expect(
      provideContainer(stuckEngine(containerInfo({ state: 'removing' })), request({ image })),
    ).rejects.toMatchObject({
      code: 'CONTAINER_START',
      message: expect.stringMatching(/ is being removed, and that does not end: /) as string,
    });
  });

  test('tells that a name is taken by nothing that it shows', async () => {
    await expect(provideContainer(stuckEngine(undefined), request({ image }))).rejects.toMatchObject({
      code: 'CONTAINER_START',
      message: expect.stringMatching(/ is taken, but shows no such container: .*podman rm /) as string,
    });
  });

  test('removes what an engine has left half removed', async () => {
    const engine = stuckEngine(undefined);
    const infos = [containerInfo({ state: 'dead' }), containerInfo({ state: 'dead' }), containerInfo()];
    engine.inspectContainer = () => Promise.resolve(infos.shift());
    const told: string[] = [];

    await provideContainer(engine, request({ image, tell: (each) => told.push(each) }));
    expect(removed).toHaveLength(1);
    expect(told).toEqual([
      expect.stringMatching(/ is recreated, because a removal of it has failed half way$/),
    ]);
  });
});

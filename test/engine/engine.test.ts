/** What every engine has to do, of whatever kind. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { noRights } from '../../src/container/engine/container-info';
import type { ContainerPlan, Engine, InnerEntry } from '../../src/container/engine/engine';
import type { BuildEvent } from '../../src/container/engine/image-store';
import { CaiError } from '../../src/errors';
import { agentHome } from '../../src/workspace/mount';
import { newFolder } from '../support/temp-folder';
import { expectedError } from '../expected-error';
import { engineForTests, expectedAbout, isKubernetes } from './engines';

/** Has a shell and the usual small programs. */
const image =
  (isKubernetes ? process.env.CAI_TEST_K8S_IMAGE : process.env.CAI_TEST_IMAGE) ?? 'node:22-bookworm-slim';
const prefix = `cai-engine-test-${process.pid}`;
const labels = { [prefix]: 'yes' };
let engine: Engine;
let imageId: string;
let count = 0;
/** Of the images that were to be built. */
const tags: string[] = [];

beforeAll(async () => {
  engine = await engineForTests();
  imageId = (await engine.images.find(image))!.id;
});

afterAll(async () => {
  for (const { id } of await engine.listContainers(labels)) await engine.removeContainer(id);
  for (const { name } of await engine.listVolumes(labels)) await engine.removeVolume(name);
  for (const tag of tags) await engine.images.remove(tag);
});

describe('Engine', () => {
  test('tells what the engine is', async () => {
    const about = await engine.about();

    expect(about).toEqual({
      name: expect.stringMatching(/^\w+ \d+\.\d+/) as string,
      isRootless: false,
      memoryBytes: expect.any(Number) as number,
      cpus: expect.any(Number) as number,
      osType: 'linux',
      startMs: expect.any(Number) as number,
      ...expectedAbout,
      ...(engine.isElsewhere === true && {
        sharesKernel: false,
        machine: expect.any(String) as string,
      }),
    });
    expect(about.memoryBytes).toBeGreaterThan(2 ** 28);
  });

  test('takes a container through its life', async () => {
    const name = newName();
    const id = await create(running('trap "exit 7" TERM; sleep 100 & wait'), name);
    const created = (await engine.inspectContainer(name))!;
    await engine.startContainer(id, []);
    await engine.startContainer(id, []);
    const started = (await engine.inspectContainer(id))!;
    // The shell may not have started it yet.
    let processes = await engine.processes(id);
    while (!processes.some(({ command }) => command === 'sleep 100')) processes = await engine.processes(id);
    const count = await engine.processCount(id);
    const status = engine.waitContainer(id);
    const { can } = await engine.about();
    // It ends at once, but on a busy machine that can take a while.
    await engine.stopContainer(id, 60);
    await engine.stopContainer(id, 60);

    expect(await status).toBe(7);
    expect(created).toMatchObject({ id, name, state: 'created', isRunning: false, startedAt: undefined, pid: 0 }); // prettier-ignore
    expect(started).toMatchObject({ state: 'running', isRunning: true, exitCode: 0, isOomKilled: false });
    expect(Math.abs(started.startedAt! - Date.now())).toBeLessThan(60_000);
    const [pid, parent] = [expect.any(Number) as number, expect.any(Number) as number];
    const sleep = processes.find(({ command }) => command === 'sleep 100')!;
    const command = expect.stringMatching(/^\/bin\/sh -c trap/) as string;
    // In any order: process ids begin again at some time.
    expect(processes).toContainEqual({ pid: sleep.parent, parent, command });
    expect(processes).toContainEqual({ pid, parent: sleep.parent, command: 'sleep 100' });
    expect(count).toBe(can.pids ? 2 : undefined);
    const stopped = await engine.inspectContainer(id);
    const listed = await engine.listContainers({ ...labels, 'test.name': name });
    if (can.restart) {
      expect(stopped).toMatchObject({ state: 'exited', isRunning: false, exitCode: 7 });
      expect(await engine.processes(id)).toEqual([]);
      expect(await engine.processCount(id)).toBeUndefined();
    } else {
      expect(stopped).toBeUndefined();
    }
    const createdAt = expect.closeTo(started.startedAt!, -4) as number;
    const ended = { id, name, state: 'exited', labels: started.labels, createdAt };
    expect(listed).toEqual(can.restart ? [ended] : []);

    await engine.removeContainer(id);
    await engine.removeContainer(id);
    await engine.stopContainer(id, 0);

    expect(await engine.inspectContainer(name)).toBeUndefined();
  });

  test('tells what a container may do and use, the same on every engine', async () => {
    const [folder, readOnly] = [newFolder(), newFolder()];
    const volume = newName();
    await engine.createVolume(volume, labels);
    const name = newName();
    const mounts = [
      { type: 'volume', source: volume, target: '/data', isReadOnly: false },
      { type: 'bind', source: folder, target: folder, isReadOnly: false },
      { type: 'bind', source: readOnly, target: readOnly, isReadOnly: true },
    ];
    const { can, seccomp, sharesKernel } = await engine.about();
    const rights = {
      ...noRights,
      capabilities: ['SETGID', 'SETUID', 'SYS_CHROOT'],
      memoryBytes: 2 ** 28,
      pids: can.pids ? 100 : 0,
      hasNetwork: true,
      seccomp,
    };
    const plan = {
      ...running('sleep 100'),
      user: '4321:4322',
      hostname: 'some-host',
      workingFolder: folder,
      env: { A: 'b', EMPTY: '' },
      mounts,
      rights,
      cpus: 1.5,
      extraHosts: ['b:10.0.0.9', 'a:10.0.0.8'],
    };
    const id = await create(plan, name);
    await engine.startContainer(id, []);

    const info = (await engine.inspectContainer(id))!;

    expect(info).toMatchObject({
      user: '4321:4322',
      hostname: 'some-host',
      labels: { ...labels, 'test.name': name },
      imageId,
      mounts: mounts.sort((a, b) => (a.target < b.target ? -1 : 1)),
    });
    expect(info.env).toEqual(expect.arrayContaining(['A=b', 'EMPTY=']));
    expect(info.pid > 0).toBe(sharesKernel);
    expect(info.rights).toEqual({ ...rights, cgroups: expect.any(String) as string });
    await engine.removeContainer(id);
  });

  test('puts files in with their owners before the first start, having read those of the image', async () => {
    const own = { uid: 4321, gid: 4322 };
    let passwd = '';
    const script = `ls -lnA /run/cai/ ${agentHome}; id -un; cat /etc/passwd`;
    const plan = { ...running(script), user: '4321:4322' };
    const id = await create(plan, newName(), async ({ read, put }) => {
      passwd = `${String((await read('/etc/passwd'))?.content)}agent:x:4321:4322:agent:/:/bin/sh\n`;
      expect([await read('/etc'), await read('/etc/missing')]).toEqual([undefined, undefined]);
      const entries: InnerEntry[] = [
        { path: '/run/cai', is: 'folder', mode: 0o755, uid: 0, gid: 0 },
        { path: '/run/cai/keeper', is: { file: 'é\n' }, mode: 0o755, uid: 0, gid: 0 },
        { path: '/run/cai/host_key', is: { file: 'secret' }, mode: 0o600, ...own },
        { path: agentHome, is: 'folder', mode: 0o755, ...own },
        { path: `${agentHome}/link`, is: { link: '/run/cai/keeper' }, mode: 0o777, ...own },
        { path: '/etc/passwd', is: { file: passwd }, mode: 0o644, uid: 0, gid: 0 },
      ];
      await put(entries);
    });
    await engine.startContainer(id, [
      { path: '/run/cai/late', is: { file: '' }, mode: 0o644, uid: 0, gid: 0 },
    ]);
    await engine.waitContainer(id);

    const log = await engine.logsTail(id, 100);
    // Others can read and run it, and it is root who could write it, if anybody.
    expect(log).toMatch(/^-r[w-]xr-xr-x +1 +0 +\d+ +3 .* keeper$/m);
    expect(log).toMatch(/^-rw------- +1 4321 +4322 +6 .* host_key$/m);
    expect(log).toMatch(/^lrwxrwxrwx +1 4321 +4322 .* link -> \/run\/cai\/keeper$/m);
    // What cannot be started again has nothing that comes late.
    const late = /^-rw-r--r-- +1 +0 +0 +0 .* late$/m;
    expect(late.test(log)).toBe((await engine.about()).can.restart);
    expect(log).toMatch(/^agent$/m);
    // podman adds a line of its own for a user that it does not find.
    expect(log.endsWith(passwd)).toBe(true);
  });

  test('has no container that could not be filled', async () => {
    const name = newName();
    const reason = await failure(
      create(running('true'), name, () => Promise.reject(new CaiError('CONFIG', 'no'))),
    );

    expect(reason.message).toBe('no');
    expect(await engine.inspectContainer(name)).toBeUndefined();
  });

  test('works with the files of a volume, and leaves nothing behind', async () => {
    const [volume, name] = [newName(), newName()];
    await engine.createVolume(volume, labels);
    const plan = {
      ...running('false'),
      user: '7:8',
      mounts: [{ type: 'volume', source: volume, target: '/v', isReadOnly: false }],
    };
    await engine.withVolume(name, plan, ({ put }) =>
      put([{ path: '/v/x', is: { file: 'kept' }, mode: 0o640, uid: 7, gid: 8 }]),
    );
    const found = await engine.withVolume(name, plan, ({ read }) => read('/v/x'));

    expect(found).toEqual({ content: Buffer.from('kept'), mode: 0o640, uid: 7, gid: 8 });
    expect(await engine.inspectContainer(name)).toBeUndefined();
  });

  test('tells the last lines that a container printed, on stdout and stderr', async () => {
    const id = await run('trap "echo to stderr >&2; exit 9" TERM; for i in 1 2 3 4 5; do echo line $i; done; while :; do sleep 0.1; done'); // prettier-ignore
    // Each stream has its own way to the log.
    let log = '';
    while (!log.includes('line 5')) log = await engine.logsTail(id, 1);
    const status = engine.waitContainer(id);
    await engine.stopContainer(id, 5);

    expect(await status).toBe(9);
    if ((await engine.about()).can.restart) expect(await engine.logsTail(id, 2)).toBe('line 5\nto stderr\n');
  });

  test('gives one container to twenty who create it at once', async () => {
    const name = newName();

    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const own = await engine.createContainer(name, running('true'), nothing);
        for (;;) {
          const info = own === undefined ? await engine.inspectContainer(name) : { id: own };
          if (info !== undefined) return { id: info.id, isOwn: own !== undefined };
          await sleep(5);
        }
      }),
    );

    expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
    expect(ids.filter(({ isOwn }) => isOwn)).toHaveLength(1);
  });

  test('says what is not there', async () => {
    const nowhere = `${prefix}-nowhere`;

    expect(await failure(engine.startContainer(nowhere, []))).toMatchObject({
      code: 'CONTAINER_NOT_FOUND',
      message: expect.stringMatching(
        new RegExp(`^cannot start the container ${nowhere}: (no .*container|somebody has removed it)`, 'i'),
      ) as string,
    });
    expect(await failure(engine.processes(nowhere))).toMatchObject({ code: 'CONTAINER_NOT_FOUND' });
    expect(await failure(create({ ...running(''), image: nowhere }, newName()))).toMatchObject({
      code: 'IMAGE',
      message: expect.stringContaining(nowhere) as string,
    });
    expect(await engine.images.find(nowhere)).toBeUndefined();
    await engine.images.remove(nowhere);
    await engine.removeVolume(nowhere);
  });

  test('says what the engine says of a container that cannot start', async () => {
    const name = newName();
    const id = await create({ ...running(''), command: ['/no/such/program'] }, name);

    expect(await failure(engine.startContainer(id, []))).toMatchObject({
      code: expect.stringMatching(/^CONTAINER_/) as string,
      message: expect.stringMatching(
        `^cannot start the container (${name}|${id}): [^]*/no/such/program`,
      ) as string,
    });
  });

  test('keeps volumes', async () => {
    const name = newName();
    await engine.createVolume(name, labels);
    await engine.createVolume(name, labels);
    const found = await engine.listVolumes({ ...labels });
    const id = await run('sleep 100', {
      mounts: [{ type: 'volume', source: name, target: '/v', isReadOnly: false }],
    });
    const inUse = await failure(engine.removeVolume(name));
    await engine.removeContainer(id);
    await engine.removeVolume(name);

    expect(found).toContainEqual({ name, labels });
    expect(inUse).toMatchObject(
      expectedError('CONTAINER_START', new RegExp(`^cannot remove the volume ${name}: .*`)),
    );
    expect(await engine.listVolumes({ ...labels, 'no-such': 'label' })).toEqual([]);
    expect((await engine.listVolumes(labels)).map((volume) => volume.name)).not.toContain(name);
  });
});

(isKubernetes ? describe.skip : describe)(
  `Engine.build${isKubernetes ? ' (Kubernetes builds no images)' : ''}`,
  () => {
    test('builds from nothing and tells each step', async () => {
      const tag = `${newName()}:1`;
      const events: BuildEvent[] = [];
      const dockerfile = 'FROM scratch\nARG CONTENT\nCOPY Dockerfile /x\nENV CONTENT=$CONTENT\n';

      await build({ tag, dockerfile, args: { CONTENT: 'é "\'$' } }, events);

      expect(events.filter(({ kind }) => kind === 'step')).toEqual([
        { kind: 'step', step: 1, total: expect.any(Number) as number, text: 'FROM scratch' },
        { kind: 'step', step: 2, total: expect.any(Number) as number, text: 'ARG CONTENT' },
        { kind: 'step', step: 3, total: expect.any(Number) as number, text: 'COPY Dockerfile /x' },
        expect.objectContaining({ step: 4, text: expect.stringMatching(/^ENV CONTENT=/) as string }),
        // podman turns labels into a step.
        ...events.filter((event) => event.kind === 'step' && event.step > 4),
      ]);
      const found = (await engine.images.find(tag))!;
      expect(found).toMatchObject({ labels, env: expect.arrayContaining(['CONTENT=é "\'$']) as string[] });
      expect(found.tags.some((name) => name.endsWith(tag))).toBe(true);

      await engine.images.remove(tag);

      expect(await engine.images.find(tag)).toBeUndefined();
    });

    test('tells what the steps print, line by line', async () => {
      const events: BuildEvent[] = [];
      const dockerfile = `FROM ${image}\nRUN printf 'one\\ntw'; sleep 0.3; printf 'o\\n\\033[31mred\\033[0m\\n'\n`;

      await build({ tag: `${newName()}:1`, dockerfile }, events);

      const lines = events.flatMap((event) => (event.kind === 'log' ? [event.text] : []));
      expect(lines).toEqual(expect.arrayContaining(['one', 'two', 'red']));
    });

    test('fails with the last twenty lines', async () => {
      const dockerfile = `FROM ${image}\nRUN seq 101 150; echo the cause; exit 3\n`;

      const error = await failure(build({ tag: `${newName()}:1`, dockerfile }));

      expect(error.code).toBe('IMAGE');
      const [first, ...tail] = error.message.split('\n');
      expect(first).toMatch(/^cannot build the image cai-engine-test.*: .*(?:code|status):? 3$/);
      expect(tail).toHaveLength(20);
      expect(tail).toEqual(expect.arrayContaining(['140', '150', 'the cause']));
    });

    test('fails for a Dockerfile that is none', async () => {
      expect(await failure(build({ tag: `${newName()}:1`, dockerfile: 'NONSENSE\n' }))).toMatchObject(
        expectedError('IMAGE', /^cannot build the image .*: ./),
      );
    });

    test('fails for files that cannot be read', async () => {
      const context = new Readable({ read: () => undefined });
      context.push(Buffer.alloc(512));
      setImmediate(() => context.destroy(Object.assign(new Error('no such file: x'), { code: 'ENOENT' })));

      expect(await failure(buildFrom(context, { tag: `${newName()}:1` }))).toMatchObject(
        expectedError('IMAGE', /^cannot build the image .*: its files cannot be read: no such file: x$/),
      );
    });

    test('says why an image cannot be pulled', async () => {
      const ref = 'localhost:1/cai-engine-test/nowhere:1';

      expect(await failure(engine.images.pull(ref, () => undefined))).toMatchObject(
        expectedError('IMAGE', new RegExp(`^cannot pull the image ${ref}: .*`)),
      );
    });
  },
);

function newName(): string {
  return `${prefix}-${++count}`;
}

const nothing = (): Promise<void> => Promise.resolve();

/** A container that runs this script, has the labels of the tests, and may do nothing. */
function running(script: string): ContainerPlan {
  return {
    image: imageId,
    user: '0:0',
    command: ['/bin/sh', '-c', script],
    workingFolder: '/',
    env: {},
    labels: { ...labels, 'test.name': `${prefix}-${count}` },
    volumeLabels: labels,
    mounts: [],
    rights: noRights,
    cpus: 0,
    extraHosts: [],
    isTemporary: false,
  };
}

async function create(
  plan: ContainerPlan,
  name: string,
  fill: Parameters<Engine['createContainer']>[2] = nothing,
): Promise<string> {
  return (await engine.createContainer(name, plan, fill))!;
}

async function run(script: string, more: Partial<ContainerPlan> = {}): Promise<string> {
  const name = newName();
  const id = await create({ ...running(script), ...more }, name);
  await engine.startContainer(id, []);
  return id;
}

interface Build {
  readonly tag: string;
  readonly dockerfile: string;
  readonly args?: Readonly<Record<string, string>>;
}

async function build({ dockerfile, ...request }: Build, events: BuildEvent[] = []): Promise<void> {
  await buildFrom(tar([{ name: 'Dockerfile', content: dockerfile }]), request, events);
}

async function buildFrom(
  context: Readable,
  { tag, args = {} }: Omit<Build, 'dockerfile'>,
  events: BuildEvent[] = [],
): Promise<void> {
  tags.push(tag);
  const request = { tag, dockerfile: 'Dockerfile', args, labels, isFresh: true, usesHostNetwork: false };
  await engine.images.build(context, request, (event) => events.push(event));
}

interface Entry {
  readonly name: string;
  readonly type?: 'directory';
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly content?: string;
}

function tar(entries: readonly Entry[]): Readable {
  const archive = pack();
  for (const { content, ...header } of entries) archive.entry(header, content ?? '');
  archive.finalize();
  return archive as unknown as Readable;
}

async function failure(promise: Promise<unknown>): Promise<CaiError> {
  const reason = await promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  if (reason instanceof CaiError) return reason;
  throw reason as Error;
}

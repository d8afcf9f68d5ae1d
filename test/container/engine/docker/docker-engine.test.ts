import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { DockerEngine } from '../../../../src/container/engine/docker/docker-engine';
import { noRights } from '../../../../src/container/engine/container-info';
import type { EngineAddress } from '../../../../src/container/engine/docker/context';
import { Host } from '../../../../src/system/host';
import { CaiError } from '../../../../src/errors';
import { newFolder } from '../../../support/temp-folder';
import { addressOf, fakeEngine, type Answer, type Answers } from '../../fake-engine';

/*
 * The answers are written from the documentation of the Docker Engine API (SystemPing, ContainerInspect,
 * ContainerCreate, ImageCreate and the history of its versions) unless they say that they were observed.
 */
/** A plan of no interest. */
const plan = { image: 'i', user: '1:1', command: [], workingFolder: '/', env: {}, labels: {}, volumeLabels: {}, mounts: [], rights: noRights, cpus: 0, extraHosts: [], isTemporary: false }; // prettier-ignore
const nothing = (): Promise<void> => Promise.resolve();
const connect = (address: EngineAddress) => DockerEngine.connect(address, new Host({ HOME: '/none' }));
const pingOf = (version: string, server: string) => ({
  headers: { 'Api-Version': version, 'Docker-Experimental': 'false', Ostype: 'linux', Server: server },
  body: 'OK',
});
const docker20 = { 'GET /_ping': pingOf('1.41', 'Docker/20.10.24 (linux)') };
const docker29 = { 'GET /_ping': pingOf('1.52', 'Docker/29.0.1 (linux)') };
const podman4 = {
  'GET /_ping': {
    headers: { 'Api-Version': '1.41', 'Libpod-Api-Version': '4.3.1', Server: 'Libpod/4.3.1 (linux)' },
    body: 'OK',
  },
};
const noSuchContainer = { status: 404, body: { message: 'No such container: x' } };

describe('Engine.connect', () => {
  test.each([
    ['20.10', docker20, '1.41'],
    ['29.0, which takes nothing below 1.44', docker29, '1.52'],
    [
      'one that is newer than anything we know',
      { 'GET /_ping': pingOf('1.99', 'Docker/99.0 (linux)') },
      '1.56',
    ],
    ['podman', podman4, '1.41'],
  ])('speaks the version of Docker %s', async (_, answers, version) => {
    const { engine, requests } = await connected(answers);

    expect(await engine.inspectContainer('x')).toBeUndefined();

    expect(requests).toEqual(['GET /_ping', `GET /v${version}/containers/x/json`]);
  });

  test('says so if the engine takes our version no more', async () => {
    const refusal =
      'client version 1.56 is too old. Minimum supported API version is 1.60, please upgrade your client to a newer version';
    const { engine, address } = await connected({
      'GET /_ping': pingOf('1.70', 'Docker/99.0 (linux)'),
      'GET /v1.56/containers/x/json': { status: 400, body: { message: refusal } },
    });

    expect(await failure(engine.inspectContainer('x'))).toEqual({
      code: 'NO_ENGINE',
      message: `the engine at ${address.endpoint} (Docker context "default") and this cai have no API version in common (${refusal}): update the older of the two`,
    });
  });

  test.each([
    [
      'too old',
      pingOf('1.39', 'Docker/18.09'),
      'its API version is 1.39, and cai needs 1.40, as of Docker 19.03',
    ],
    ['no engine', { body: 'hello' }, 'it tells no API version'],
    ['missing', { status: 404, body: 'nothing here' }, 'HTTP status 404: nothing here'],
    ['broken', { status: 503, body: { message: 'Desktop is paused' } }, 'HTTP status 503: Desktop is paused'],
    [
      'behind TLS',
      { status: 400, body: 'Client sent an HTTP request to an HTTPS server.' },
      'HTTP status 400: Client sent an HTTP request to an HTTPS server.',
    ],
  ])('refuses an engine that is %s', async (_, answer, why) => {
    const { address } = await fakeEngine({ 'GET /_ping': answer });

    expect(await failure(connect(address))).toEqual({
      code: 'NO_ENGINE',
      message: `what answers at ${address.endpoint} (Docker context "default") is no engine that can be used (${why}): name another with --context, DOCKER_HOST, or "context" in [engine] of your config.toml`,
    });
  });

  test('says so if there is no socket', async () => {
    const address = addressOf(join(newFolder(), 'none.sock'));

    expect(await failure(connect(address))).toEqual({
      code: 'NO_ENGINE',
      message: `the engine at ${address.endpoint} (Docker context "default") is not running, for there is no such socket: start it ("sudo systemctl start docker", or Docker Desktop), or name another with --context, DOCKER_HOST, or "context" in [engine] of your config.toml`,
    });
  });

  test('says so if nothing listens', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');

    expect((await failure(connect(addressOf(file)))).message).toMatch(
      / is not running, for nothing listens there: start it \(/,
    );
  });

  test('says so if the socket is not ours to use', async () => {
    const { address } = await fakeEngine(docker20);
    chmodSync(address.options.socketPath!, 0o000);

    const attempt = asNobody(() => connect(address));

    expect((await failure(attempt)).message).toMatch(
      / does not let you in: join the group of the socket \("sudo usermod -aG docker \$USER", then sign in again\), or use a rootless engine$/,
    );
  });

  test('says so if something else than HTTP answers', async () => {
    const path = join(newFolder(), 'other.sock');
    const server = createServer((socket) => socket.end('220 mail.example ESMTP\r\n'));
    await new Promise<void>((resolve) => server.listen(path, resolve));

    const error = await failure(connect(addressOf(path)));
    server.close();

    expect(error.message).toMatch(
      / could not tell that it is there \(.*\): see whether "docker version" works$/,
    );
  });

  test('says so if no answer comes', async () => {
    const { address } = await fakeEngine({ 'GET /_ping': () => undefined });
    const limit = jest.spyOn(AbortSignal, 'timeout');
    limit.mockReturnValueOnce(AbortSignal.timeout(50));

    expect(await failure(connect(address))).toEqual({
      code: 'NO_ENGINE',
      message: `the engine at ${address.endpoint} (Docker context "default") has not answered for 5 s: restart it, or name another with --context, DOCKER_HOST, or "context" in [engine] of your config.toml`,
    });
    expect(limit).toHaveBeenLastCalledWith(5_000);
    limit.mockRestore();
  });

  test('takes nothing for this engine from DOCKER_HOST', async () => {
    const { address, requests } = await fakeEngine(docker20);
    const before = { ...process.env };
    Object.assign(process.env, { DOCKER_HOST: 'tcp://192.0.2.1:2375', DOCKER_CLIENT_TIMEOUT: '1' });
    try {
      await connect(address);
      Object.assign(process.env, { DOCKER_CERT_PATH: join(newFolder(), 'none') });

      expect((await failure(connect(address))).message).toMatch(
        /^DOCKER_HOST and DOCKER_CERT_PATH cannot be used: .*: mend or unset them$/,
      );
    } finally {
      process.env = before;
    }
    expect(requests).toEqual(['GET /_ping']);
  });
});

describe('an engine that is gone', () => {
  test.each([
    ['before it answers', (response: { destroy(): void }) => response.destroy()],
    [
      'in the middle of its answer',
      // What a killed engine does to those who wait for a container.
      (response: { write(text: string): void; destroy(): void; writeHead(status: number): void }) => {
        response.writeHead(200);
        response.write('{"Status');
        setImmediate(() => response.destroy());
      },
    ],
  ])('%s is told', async (_, answer) => {
    const { engine, address } = await connected({ ...docker20, 'POST /containers/x/wait': answer });

    expect(await failure(engine.waitContainer('x'))).toEqual({
      code: 'NO_ENGINE',
      message: `the engine at ${address.endpoint} (Docker context "default") broke off while it was to wait for the container x: see whether it still runs ("docker version")`,
    });
  });

  test('in the middle of a build is told', async () => {
    const { address } = await fakeEngine({
      ...docker20,
      'POST /images/create': (response) => {
        response.write('{"status":"Pulling from library/x","id":"1"}\n');
        setImmediate(() => response.destroy());
      },
    });
    const engine = await connect(address);

    expect((await failure(engine.images.pull('x:1', () => undefined))).message).toMatch(
      / broke off while it was to pull the image x:1: /,
    );
  });
});

describe('an engine that answers as none does', () => {
  const odd: Answer[] = [
    ...['null', '7', '"x"', '{"a":', '[{}]', '[null]'].map((body) => ({ body })),
    // It would be asked at an address of its choice.
    { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
    { status: 500, body: 'x'.repeat(2 ** 21) },
  ];
  const asked: [string, (engine: DockerEngine) => Promise<unknown>][] = [
    ['GET /containers/json', (engine) => engine.listContainers({})],
    ['GET /containers/x/json', (engine) => engine.inspectContainer('x')],
    ['GET /containers/x/top', (engine) => engine.processes('x')],
    ['GET /volumes', (engine) => engine.listVolumes({ a: 'b' })],
    ['GET /system/df', (engine) => engine.diskUse()],
    ['POST /containers/x/wait', (engine) => engine.waitContainer('x')],
    ['POST /containers/create', (engine) => engine.createContainer('x', plan, nothing)],
    ['POST /images/create', (engine) => engine.images.pull('x', () => undefined)],
    ['POST /exec/1/start', (engine) => engine.startIn('x', ['true'])],
  ];

  test.each(asked)('has every answer that fails, to %s, told as a failure of that', async (request, ask) => {
    for (const answer of odd) {
      const { engine } = await connected({
        ...docker20,
        'POST /containers/x/exec': { status: 201, body: { Id: '1' } },
        [request]: answer,
      });

      // Some of them can be read as nothing, or as what is not known.
      const told: unknown = await ask(engine).catch((reason: unknown) => reason);

      if (told instanceof Error) expect(told).toBeInstanceOf(CaiError);
      if ('status' in answer) expect(told).toBeInstanceOf(CaiError);
    }
  });

  test('is not read without end', async () => {
    const { engine } = await connected({
      ...docker20,
      'GET /containers/json': (response) => void response.end(Buffer.alloc(65 * 2 ** 20, ' ')),
    });

    expect((await failure(engine.listContainers({}))).message).toMatch(
      / could not list the containers \(its answer is longer than that of any engine\): /,
    );
  });

  test('has a change of the protocol told that nobody asked for', async () => {
    const path = join(newFolder(), 'odd.sock');
    const server = createServer((socket) => {
      const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
      socket.on('error', () => undefined).once('data', () => socket.write(switching));
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));

    const error = await failure(connect(addressOf(path)));
    server.close();

    expect(error.message).toMatch(
      / could not tell that it is there \(HTTP status 101 is no answer to that\): /,
    );
  });
});

describe('Engine.createContainer', () => {
  // Observed: podman 4.3.1 does not answer with 409, as it is documented.
  const podmanTaken =
    'container create: creating container storage: the container name "x" is already in use by 5194245cdf48. You have to remove that container to be able to reuse that name: that name is already in use';

  test.each([
    [
      'Docker',
      docker20,
      409,
      'Conflict. The container name "/x" is already in use by container "68de46f91046".',
    ],
    ['podman', podman4, 500, podmanTaken],
  ])('finds the name taken on %s', async (_, ping, status, message) => {
    const { engine, requests } = await connected({
      ...ping,
      'POST /containers/create': { status, body: { message } },
    });

    expect(await engine.createContainer('x', { ...plan, env: { SECRET: '1' } }, nothing)).toBeUndefined();

    expect(requests.at(-1)).toBe('POST /v1.41/containers/create?name=x');
  });

  test.each([500, 409])('does not take any other failure for that (%d)', async (status) => {
    const { engine } = await connected({
      ...podman4,
      'POST /containers/create': { status, body: { message: 'container-init binary not found' } },
    });

    expect(await failure(engine.createContainer('x', plan, nothing))).toEqual({
      code: 'CONTAINER_START',
      message: 'cannot create the container x: container-init binary not found',
    });
  });
});

describe('Engine.removeContainer', () => {
  const inProgress = { status: 409, body: { message: 'removal of container x is already in progress' } };
  const stillRuns = { status: 409, body: { message: 'cannot remove a running container x' } };

  test.each([
    ['is not there', noSuchContainer],
    ['somebody else removes', inProgress],
  ])('does not mind a container that %s', async (_, answer) => {
    const { engine, requests } = await connected({ ...docker20, 'DELETE /containers/x': answer });

    await engine.removeContainer('x');

    expect(requests.at(-1)).toBe('DELETE /v1.41/containers/x?force=true&v=true');
  });

  test('fails for one that the engine keeps', async () => {
    const { engine } = await connected({ ...docker20, 'DELETE /containers/x': stillRuns });

    expect(await failure(engine.removeContainer('x'))).toEqual({
      code: 'CONTAINER_START',
      message: 'cannot remove the container x: cannot remove a running container x',
    });
  });
});

describe('Engine.pull', () => {
  test('tells how far each layer is', async () => {
    const lines = [
      { status: 'Pulling from library/x', id: '1' },
      { status: 'Downloading', progressDetail: { current: 5, total: 10 }, progress: '[>  ]', id: 'abc' },
      { status: 'Pull complete', progressDetail: {}, id: 'abc' },
      { status: 'Status: Downloaded newer image for x:1' },
    ];
    const { engine, requests } = await connected({
      ...docker20,
      ...answerLines('POST /images/create', lines),
    });
    const events: unknown[] = [];

    await engine.images.pull('x:1', (event) => events.push(event));

    expect(requests.at(-1)).toBe('POST /v1.41/images/create?fromImage=x&tag=1');
    expect(events).toEqual([
      { kind: 'pull', id: '1', text: 'Pulling from library/x' },
      { kind: 'pull', id: 'abc', text: 'Downloading [>  ]' },
      { kind: 'pull', id: 'abc', text: 'Pull complete' },
      { kind: 'log', text: 'Status: Downloaded newer image for x:1' },
    ]);
  });
});

test('Engine.build sends an archive as it is packed', async () => {
  const { engine, headers } = await connected({
    ...docker20,
    ...answerLines('POST /build', [{ stream: 'x' }]),
  });
  const archive = pack();
  archive.entry({ name: 'Dockerfile' }, 'FROM scratch');
  archive.finalize();
  const events: unknown[] = [];
  const options = {
    tag: 't',
    dockerfile: 'Dockerfile',
    args: {},
    labels: {},
    isFresh: false,
    usesHostNetwork: false,
  };

  await engine.images.build(archive as unknown as Readable, options, (event) => events.push(event));

  expect(headers.at(-1)).toMatchObject({ 'content-type': 'application/tar' });
  expect(events).toEqual([{ kind: 'log', text: 'x' }]);
});

describe('Engine.push', () => {
  const ref = '127.0.0.1:5000/team/containai:claude';
  const path = '/images/127.0.0.1:5000/team/containai/push';
  const authOf = (shown: string | undefined): unknown =>
    JSON.parse(Buffer.from(shown ?? '', 'base64url').toString());

  test.each([
    ['nothing', undefined, {}],
    ['a name and a password', { username: 'ü', password: '?>' }, { username: 'ü', password: '?>' }],
    ['an identity token', { identityToken: 't' }, { identitytoken: 't' }],
  ])('shows the registry %s, and tells how far each layer is', async (_, login, shown) => {
    const lines = [
      { status: 'The push refers to repository [127.0.0.1:5000/team/containai]' },
      { status: 'Pushing', progressDetail: { current: 5, total: 10 }, progress: '[>  ]', id: 'abc' },
      { status: 'Pushed', progressDetail: {}, id: 'abc' },
      { progressDetail: {}, aux: { Tag: 'claude', Digest: 'sha256:1', Size: 1 } },
    ];
    const { engine, requests, headers } = await connected({
      ...docker20,
      ...answerLines(`POST ${path}`, lines),
    });
    const events: unknown[] = [];

    await engine.images.push(ref, login, (event) => events.push(event));

    expect(requests.at(-1)).toBe(`POST /v1.41${path}?tag=claude`);
    expect(authOf(headers.at(-1)!['x-registry-auth'] as string)).toEqual(shown);
    expect(events.slice(1)).toEqual([
      { kind: 'pull', id: 'abc', text: 'Pushing [>  ]' },
      { kind: 'pull', id: 'abc', text: 'Pushed' },
    ]);
  });

  test('fails as the registry does', async () => {
    const lines = [{ errorDetail: { message: 'denied: not yours' }, error: 'denied: not yours' }];
    const { engine } = await connected({ ...docker20, ...answerLines(`POST ${path}`, lines) });

    expect(await failure(engine.images.push(ref, undefined, () => undefined))).toEqual({
      code: 'IMAGE',
      message: `cannot push the image ${ref}: denied: not yours`,
    });
  });
});

describe('Engine.about', () => {
  test('asks once, and only when it is wanted', async () => {
    const { engine, requests } = await connected({
      ...podman4,
      'GET /libpod/info': { body: { host: { security: { rootless: true }, cgroupControllers: ['pids'] } } },
      'GET /info': {
        body: {
          ServerVersion: '4.3.1',
          MemTotal: 1024,
          OSType: 'linux',
          SecurityOptions: ['name=seccomp,profile=default'],
          MemoryLimit: false,
          PidsLimit: true,
          CpuCfsQuota: false,
        },
      },
    });

    const [first, second] = [await engine.about(), await engine.about()];

    expect(first).toMatchObject({
      name: 'podman 4.3.1, API 1.41, rootless',
      isRootless: true,
      memoryBytes: 1024,
      osType: 'linux',
      can: {
        memory: false,
        pids: true,
        cpus: false,
        systemCalls: false,
        restart: true,
        build: true,
      },
    });
    expect(second).toBe(first);
    expect(requests).toEqual(['GET /_ping', 'GET /v1.41/info', 'GET /v1.41/libpod/info']);
  });
});

describe('Engine.listContainers', () => {
  test('finds only what has all the labels: podman lists what has one of them, and others tell none', async () => {
    const listed = [{ a: 'b', c: 'd', e: 'f' }, { a: 'b', c: '' }, { a: 'b' }, null].map((Labels, index) => ({
      Id: `${index}`,
      Names: [`/x${index}`],
      State: 'created',
      Labels,
      Created: 2,
    }));
    const { engine } = await connected({ ...docker20, 'GET /containers/json': { body: listed } });

    expect(await engine.listContainers({ a: 'b', c: 'd' })).toEqual([
      { id: '0', name: 'x0', state: 'created', labels: { a: 'b', c: 'd', e: 'f' }, createdAt: 2000 },
    ]);
    expect((await engine.listContainers({})).at(-1)).toMatchObject({ labels: {} });
  });
});

describe('Engine.listVolumes', () => {
  test('finds none where the engine has none', async () => {
    const { engine, requests } = await connected({ ...docker20, 'GET /volumes': { body: { Volumes: null, Warnings: null } } }); // prettier-ignore

    expect(await engine.listVolumes({ a: 'b=c' })).toEqual([]);

    expect(decodeURIComponent(requests.at(-1)!)).toBe('GET /v1.41/volumes?filters={"label":["a=b=c"]}');
  });
});

/** An engine that gives these answers, greeted, and what it was asked. */
async function connected(answers: Answers) {
  const fake = await fakeEngine(answers);
  return { ...fake, engine: await connect(fake.address) };
}

function answerLines(request: string, lines: readonly object[]): Answers {
  return { [request]: { body: lines.map((line) => `${JSON.stringify(line)}\r\n`).join('') } };
}

/** Root may use any socket. */
async function asNobody<T>(action: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return await action();
  process.seteuid!(65534);
  try {
    return await action();
  } finally {
    process.seteuid!(0);
  }
}

async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  const reason = await promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  if (reason instanceof CaiError) return { code: reason.code, message: reason.message };
  throw reason as Error;
}

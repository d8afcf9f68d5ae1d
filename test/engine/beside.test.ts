/** Services beside the container of an agent. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { hasDevcontainers, inside, marked, newProject, newUser, removeImages, trust } from './devcontainers';
import { testUnless } from './engines';
import { buildServiceImage, serviceImage } from './service-image';
import { buildTimeoutMs, Place } from './place';
import { Cai, docker } from './support';

beforeAll(buildServiceImage, buildTimeoutMs);

const redis = `[[services]]
name = "cache"
image = "${serviceImage}"
health = ["redis-cli", "ping"]
volume = "/data"
`;
const postgres = `[[services]]
name = "db"
image = "${serviceImage}"
command = ["postgres"]
env = ["POSTGRES_PASSWORD=a=b"]
health = ["pg_isready", "-h", "/run/postgresql"]
volume = "/data"
memory = "256MiB"
`;

/** Sends bytes to a service from inside, and prints what it answers first. */
const ask = (name: string, port: number, bytes: string) => [
  'node',
  '-e',
  `require('net').connect(${port}, '${name}', function () { this.write(Buffer.from('${bytes}', 'latin1')); }).once('data', (data) => { console.log(String(data).trim()); process.exit(); })`,
];
/** As one argument of a shell. */
const shell = (command: readonly string[]) =>
  command.map((each) => `'${each.replaceAll("'", `'\\''`)}'`).join(' ');
const askRedis = (command: string) => ask('cache', 6379, `${command}\\r\\n`);
/** Source: PostgreSQL, "SSLRequest": the answer is S or N. */
const askPostgres = ask('db', 5432, '\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f');

/** Ids of the containers of services of a workspace; of the one of that name. */
async function servicesOf({ workspace }: Pick<Place, 'workspace'>, name?: string): Promise<string[]> {
  const labels = [
    `containai.workspace=${workspace}`,
    `containai.service${name === undefined ? '' : `=${name}`}`,
  ];
  const filters = labels.flatMap((each) => ['--filter', `label=${each}`]);
  return (await docker('ps', '--all', '--quiet', '--no-trunc', ...filters)).split('\n').filter(Boolean);
}

async function serviceOf(place: Place, name: string): Promise<string> {
  return (await servicesOf(place, name))[0]!;
}

async function inspect(id: string, template: string): Promise<string> {
  return await docker('inspect', '--format', template, id);
}

describe('services of databases', () => {
  let place: Place;
  let ids: string[];

  beforeAll(async () => {
    place = await new Place(new Cai(`${redis}${postgres}`)).opened();
    ids = await servicesOf(place);
  }, buildTimeoutMs);

  test('are ready, and answer at their names', async () => {
    expect(await place.prints(askRedis('PING'))).toBe('+PONG');
    expect(await place.prints(askPostgres)).toMatch(/^[NS]$/);
    expect(ids).toHaveLength(2);
  });

  test('are listed with their container', async () => {
    const table = (await place.cai.run(['ps'])).stdout.toString();
    const rows = JSON.parse((await place.cai.run(['ps', '--json'])).stdout.toString()) as { workspace: string; services: string[] }[]; // prettier-ignore

    expect(table).toMatch(/ SERVICES\n/);
    expect(table).toMatch(new RegExp(` ${place.workspace} .* cache,db\n`));
    expect(rows.find(({ workspace }) => workspace === place.workspace)!.services).toEqual(['cache', 'db']);
  });

  test('are what cai forward leads to', async () => {
    const forward = place.cai.start(['forward', '--workspace', place.workspace, '0:6379']);
    await forward.says('\n');
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(forward.stdout.toString())!;
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('PING\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    forward.child.kill('SIGINT');
    await forward.ends();

    expect(answer.toString()).toBe('+PONG\r\n');
  });

  test('have no right beyond their own files, and limits', async () => {
    const id = await serviceOf(place, 'db');
    const fields = '{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.HostConfig.Privileged}}';

    expect(await inspect(id, fields)).toBe(`${256 * 2 ** 20} 1024 false`);
    const status = await docker('exec', id, 'cat', '/proc/1/status');
    // CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID. Source: capabilities(7).
    expect(status).toMatch(/^CapBnd:\t00000000000000eb$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    const ofPostgres = 'for each in /proc/[0-9]*; do [ "$(cat $each/comm)" != postgres ] || grep -h CapEff $each/status; done | sort -u'; // prettier-ignore
    expect(await docker('exec', id, 'sh', '-c', ofPostgres)).toBe('CapEff:\t0000000000000000');
  });

  test('end in their own way with cai stop, and keep their data', async () => {
    expect(await place.prints(askRedis('SET key kept'))).toBe('+OK');
    await place.cai.start(['stop', '--workspace', place.workspace]).succeeds();

    expect(await Promise.all(ids.map((id) => inspect(id, '{{.State.Running}} {{.State.ExitCode}}')))).toEqual(['false 0', 'false 0']); // prettier-ignore
    expect(await place.prints(askRedis('GET key'))).toContain('kept');
    expect(await place.prints(askPostgres)).toMatch(/^[NS]$/);
    expect((await servicesOf(place)).sort()).toEqual([...ids].sort());
  });

  test('end when the container is killed, and start with it again', async () => {
    const ended = Promise.all(ids.map((id) => docker('wait', id)));
    await docker('kill', await place.prints(['hostname']));

    expect(await ended).toEqual(['0', '0']);
    expect(await place.prints(askRedis('GET key'))).toContain('kept');
  });

  test('are started again after they have ended, which is told', async () => {
    await docker('kill', await serviceOf(place, 'cache'));

    const { stderr } = await place.cai.run(['exec', '--workspace', place.workspace, '--', 'true']);

    expect(stderr).toContain('the service "cache" had ended with status 137, and is started again');
    expect(await place.prints(askRedis('PING'))).toBe('+PONG');
  });

  test('tell what they print by cai logs', async () => {
    const log = async (...args: string[]) =>
      await place.cai.run(['logs', '--workspace', place.workspace, '--service', ...args]);

    expect((await log('db')).stdout.toString()).toContain('database system is ready to accept connections');
    expect((await log('cache', '--lines', '1')).stdout.toString().trim().split('\n')).toHaveLength(1);
    expect(await log('other')).toMatchObject({ status: 10, stderr: expect.stringContaining('there is no service "other"') as string }); // prettier-ignore
  });

  testUnless('the end of a network that others use')(
    'are left over where somebody else removes the container, until it is made again',
    async () => {
      await docker('rm', '--force', await place.prints(['hostname']));

      const { stdout } = await place.cai.run(['prune', '--dry-run']);
      expect(stdout.toString()).toMatch(/-cache .*the container that it served is gone/);
      expect(await place.prints(askRedis('GET key'))).toContain('kept');
      expect((await servicesOf(place)).filter((id) => ids.includes(id))).toEqual([]);
      expect(await servicesOf(place)).toHaveLength(2);
    },
  );

  test('go with the container, and their data only where that is asked for', async () => {
    const names = async () => {
      const format = '{{.Name}} {{.Label "containai.workspace"}}';
      const all = await docker('volume', 'ls', '--filter', 'label=containai.service', '--format', format);
      return all.split('\n').filter((line) => line.endsWith(` ${place.workspace}`));
    };
    await place.cai.start(['rm', '--workspace', place.workspace]).succeeds();
    expect(await servicesOf(place)).toEqual([]);
    expect(await names()).toHaveLength(2);

    expect(await place.prints(askRedis('GET key'))).toContain('kept');
    await place.cai.start(['rm', '--volumes', '--yes', '--workspace', place.workspace]).succeeds();
    expect(await servicesOf(place)).toEqual([]);
    expect(await names()).toEqual([]);
  });
});

test('a service ends with a container that nothing runs in', async () => {
  const place = await new Place(new Cai(`[container]\nidle = "1s"\n${redis}`)).opened();

  expect(await docker('wait', await serviceOf(place, 'cache'))).toBe('0');
});

describe('a service that does not come up', () => {
  test('is told with what it printed last', async () => {
    const broken = redis.replace('health', 'command = ["sh", "-c", "echo no disk; exit 3"]\nhealth');
    const { status, stderr } = await new Place(new Cai(broken)).run(['true']);

    expect(status).toBe(11);
    expect(stderr).toContain('the service "cache" ended with status 3 as soon as it was started:\nno disk');
  });

  test('has a network that would lead to others', async () => {
    const { status, stderr } = await new Place(new Cai(`egress = "open"\n${redis}`)).run(['true']);

    expect(status).toBe(2);
    expect(stderr).toMatch(/config\.toml:\d+: "network\.egress" is "open", with which other containers would reach the services/); // prettier-ignore
  });
});

const describeIfBuilt = hasDevcontainers ? describe : describe.skip;

describeIfBuilt('a Compose project', () => {
  afterAll(removeImages);

  test(
    'has its other services beside the container, as it says and no more, and in its order',
    async () => {
      const workspace = newProject(
        { dockerComposeFile: '../compose.yml', service: 'app' },
        {
          ...marked,
          'compose.yml': {
            services: {
              app: {
                build: '.devcontainer',
                environment: { PLACE: 'my_cache' },
                depends_on: { filled: { condition: 'service_completed_successfully' } },
              },
              filled: {
                image: serviceImage,
                command: 'redis-cli -h my_cache set key filled',
                depends_on: { my_cache: { condition: 'service_healthy' } },
              },
              my_cache: {
                build: { context: 'cache', args: { IMAGE: '${IMAGE:-none}' } },
                healthcheck: { test: 'redis-cli ping' },
                ports: ['6379'],
              },
              db: {
                image: serviceImage,
                command: 'postgres',
                environment: { POSTGRES_PASSWORD: 'a=b' },
                healthcheck: { test: ['CMD', 'pg_isready', '-h', '/run/postgresql'] },
                volumes: ['data:/data', './:/workspace'],
                deploy: { resources: { limits: { memory: '256m' } } },
              },
              idle: { image: 'none', profiles: ['more'] },
            },
          },
          '.env': `IMAGE=${serviceImage}\n`,
          'cache/Dockerfile': 'ARG IMAGE\nFROM $IMAGE\nCOPY mark /mark\n',
          'cache/mark': 'mark\n',
        },
      );
      const cai = newUser();
      const told = (await trust(cai, workspace)).stdout.toString();
      expect(told).toContain('/compose.yml:1: services[0].name: not set -> "filled"');
      expect(told).toContain('with the service "my_cache", built from the Dockerfile "cache/Dockerfile"');
      expect(told).toContain('service "my_cache": "ports" is ignored');
      expect(told).toContain('service "db": "volumes: ./:/workspace" is ignored');

      const script = `test -e /from-devcontainer && echo "$PLACE" && ${shell(ask('my_cache', 6379, 'GET key\\r\\n'))} && ${shell(askPostgres)} && ${shell(ask('localhost', 6379, 'PING\\r\\n'))}`;
      const { text } = await inside(cai, workspace, script);

      expect(text).toMatch(/^my_cache\n\$6\r\nfilled\n[NS]\n\+PONG$/);
      expect(await servicesOf({ workspace })).toHaveLength(3);
      const [cache] = await servicesOf({ workspace }, 'my_cache');
      expect(await docker('exec', cache!, 'cat', '/mark')).toBe('mark');
      const [id] = await servicesOf({ workspace }, 'db');
      const fields = '{{.HostConfig.Memory}}{{range .Mounts}} {{.Type}} {{.Destination}}{{end}}';
      expect(await inspect(id!, fields)).toBe(`${256 * 2 ** 20} volume /data`);

      await cai.start(['rm', '--volumes', '--yes', '--workspace', workspace]).succeeds();
      expect(await servicesOf({ workspace })).toEqual([]);
    },
    buildTimeoutMs,
  );
});

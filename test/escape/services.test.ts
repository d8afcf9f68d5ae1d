/** Attacks on the services beside the container of an agent, and from them. */
import { once } from 'node:events';
import { createServer, connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { hasDevcontainers, inside, marked, newProject, newUser, removeImages, trust } from '../engine/devcontainers'; // prettier-ignore
import { buildServiceImage, serviceImage } from '../engine/service-image';
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai, docker, ownFile } from '../engine/support';
import { attempt, reachedIf } from './attempt';

const service = `[[services]]
name = "cache"
image = "${serviceImage}"
health = ["redis-cli", "ping"]
`;

let place: Place;
/** The container of the service. */
let id: string;

beforeAll(async () => {
  buildServiceImage();
  place = await new Place(new Cai(service)).opened();
  id = await serviceOf(place);
}, buildTimeoutMs);

/** The container of the service of a workspace; empty: there is none. */
async function serviceOf({ workspace }: Pick<Place, 'workspace'>): Promise<string> {
  const filters = [`label=containai.workspace=${workspace}`, 'label=containai.service'];
  return await docker('ps', '--all', '--quiet', ...filters.flatMap((each) => ['--filter', each]));
}

/**
 * A program of Node that prints which of these places can be connected to, or, where something is sent, which answer as
 * Redis does: some networks take every connection.
 */
const knock = (places: readonly (readonly [host: string, port: number])[], sent = '') =>
  `const wait = ([host, port]) => new Promise((done) => {
     const socket = require('net').connect({ host, port, timeout: 3000 }, () => socket.write('${sent}'));
     socket.on('${sent === '' ? 'connect' : 'data'}', (data = 'PONG') => done(String(data).includes('PONG') ? [host] : []));
     for (const end of ['timeout', 'error', 'close']) socket.on(end, () => done([]));
   });
   Promise.all(${JSON.stringify(places)}.map(wait)).then((all) => { console.log('answered:' + all.flat()); process.exit(); })`;

const none = 'answered:';

/** Where Docker's own network has addresses for containers, the first of which is the host. */
const bridge = Array.from({ length: 20 }, (_, last) => `172.17.0.${last + 1}`);

describe('a service beside the container of an agent', () => {
  attempt('a container of another workspace reaches a service', async () => {
    const hosts = ['cache', '127.0.0.1', ...bridge];
    const script = knock(
      hosts.map((host) => [host, 6379]),
      'PING\\r\\n',
    );
    const own = await place.prints(['node', '-e', script]);
    if (own !== 'answered:cache,127.0.0.1') throw new Error(`its own agent reaches ${own}`);
    const found = await Promise.all(
      ['', 'egress = "open"\n'].map(async (config) => {
        const neighbour = await new Place(new Cai(config)).opened();
        return (await neighbour.run(['node', '-e', script])).stdout.toString().trim();
      }),
    );
    return reachedIf(found.join() !== `${none},${none}`, found.join());
  });

  attempt('a program of the host reaches a service', async () => {
    const published = await docker('port', id);
    const addresses = await docker('inspect', '--format', '{{json .NetworkSettings.Networks}}', id);
    const socket = connect(6379, '127.0.0.1');
    const isReached = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    return reachedIf(isReached || published !== '' || addresses.includes('IPAddress'), published + addresses);
  });

  attempt('a service reaches the host or its network', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const script = knock([...bridge, 'host.docker.internal'].map((host) => [host, port]));
    const found = await docker('exec', id, 'node', '-e', script);
    server.close();
    const networks = await docker('exec', id, 'ls', '/sys/class/net');
    return reachedIf(found !== none || networks !== 'lo', `${found} by ${networks}`);
  });

  attempt('an agent sees, ends or enters a process of a service', async () => {
    const script = 'pkill redis; ps -eo args | grep -v grep | grep redis; ls -d /proc/[0-9]*/root/data';
    const { stdout } = await place.run(['sh', '-c', script]);
    const runs = await docker('inspect', '--format', '{{.State.Running}}', id);
    return reachedIf(stdout.length > 0 || runs !== 'true', `${stdout.toString()}, running: ${runs}`);
  });

  attempt('a service outlives its agent’s container by a socket named like that of the keeper', async () => {
    const script = `process.chdir('/tmp'); require('fs').mkdirSync('x /run/cai/door', { recursive: true }); require('net').createServer().listen('x /run/cai/door/ssh', () => console.log('listens')); setTimeout(() => undefined, 600000)`; // prettier-ignore
    await docker('exec', '--detach', id, 'node', '-e', script);
    const names = async () => await docker('exec', id, 'cat', '/proc/net/unix');
    while (!(await names()).includes('x /run/cai/door/ssh'));
    const ended = docker('wait', id);
    await docker('kill', await place.prints(['hostname']));
    const late = new Promise((done) => setTimeout(() => done('late'), 60_000).unref());
    return reachedIf((await Promise.race([ended, late])) === 'late', 'it runs on');
  });
});

attempt('a repository that nobody trusts starts a service', async () => {
  const stranger = new Place();
  ownFile(join(stranger.workspace, '.containai/config.toml'), service);
  await stranger.opened();
  const { stdout } = await stranger.run(['getent', 'hosts', 'cache']);
  const found = await serviceOf(stranger);
  return reachedIf(found !== '' || stdout.length > 0, `${found} ${stdout.toString()}`);
});

const describeIfBuilt = hasDevcontainers ? describe : describe.skip;

describeIfBuilt('a Compose project', () => {
  const settings = { dockerComposeFile: '../compose.yml', service: 'app' };
  /** A project with a service besides the one of the agents. */
  const project = (keys: object = {}) =>
    newProject(settings, {
      ...marked,
      'compose.yml': {
        services: { app: { build: '.devcontainer' }, cache: { image: '${IMAGE}', ...keys } },
      },
      '.env': `IMAGE=${serviceImage}\n`,
    });
  afterAll(removeImages);

  attempt(
    'a service of a Compose file gets rights, the network or files of the host, or a port there',
    async () => {
      const asked = {
        privileged: true,
        cap_add: ['SYS_ADMIN'],
        devices: ['/dev/kvm'],
        security_opt: ['seccomp=unconfined'],
        network_mode: 'host',
        pid: 'host',
        ports: ['16379:6379'],
        volumes: ['/var/run/docker.sock:/docker.sock', '..:/host', { type: 'bind', source: '/', target: '/root' }], // prettier-ignore
      };
      const workspace = project(asked);
      const user = newUser();
      const told = (await trust(user, workspace)).stdout.toString();
      const { text } = await inside(user, workspace, 'getent hosts cache');
      const found = await serviceOf({ workspace });
      if (!text.includes('cache') || found === '' || !told.includes('"privileged", "cap_add", "devices"'))
        throw new Error(`${text} ${told}`);
      const format =
        '{{.HostConfig.Privileged}} {{.HostConfig.CapAdd}} {{.HostConfig.Devices}} {{.HostConfig.PidMode}} {{.HostConfig.NetworkMode}} {{.HostConfig.PortBindings}} {{range .Mounts}}{{.Type}}{{end}}';
      const made = await docker('inspect', '--format', format, found);
      // podman names the usual place of processes.
      const isUsual = /^false \[[A-Z_ ]*\] \[\] (?:private)? container:\w+ map\[\] (volume)?$/.test(made);
      return reachedIf(!isUsual || made.includes('SYS_ADMIN'), made);
    },
    buildTimeoutMs,
  );

  attempt(
    'a Compose project that nobody trusts starts a service',
    async () => {
      const workspace = project();
      const { text } = await inside(
        newUser(),
        workspace,
        'getent hosts cache; ls /from-devcontainer || true',
      );
      const found = await serviceOf({ workspace });
      return reachedIf(text !== '' || found !== '', `${text} ${found}`);
    },
    buildTimeoutMs,
  );

  attempt(
    'an agent has a service or a mount by what it writes into a Compose file or .env',
    async () => {
      const user = newUser();
      const evil = JSON.stringify({ image: serviceImage, volumes: ['/:/host'] });
      // What is built has a digest: devcontainer.test.ts in `test/workspace` shows what that has in it.
      const workspaces = await Promise.all(
        [
          `echo '{"services":{"app":{"build":".devcontainer"},"cache":${evil},"evil":${evil}}}' > compose.yml`,
          `echo 'IMAGE=${serviceImage} # evil' > .env`,
          `rm .env; ln -s ${user.home}/evil .env`,
        ].map(async (change) => {
          const workspace = project();
          await trust(user, workspace);
          await inside(user, workspace, change);
          return workspace;
        }),
      );
      const found: string[] = [];
      for (const workspace of workspaces) {
        const before = await serviceOf({ workspace });
        if (before === '') throw new Error('what the user agrees to is not started');
        const { text } = await inside(user, workspace, 'getent hosts cache evil; test -e /from-devcontainer && echo theirs || true'); // prettier-ignore
        found.push(text, await serviceOf({ workspace }));
      }
      return reachedIf(
        found.some((each) => each !== ''),
        found.join(),
      );
    },
    buildTimeoutMs,
  );
});

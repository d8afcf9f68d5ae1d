import { execFile } from 'node:child_process';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { doorOf, portTo, whatHears } from './door';
import { Place, buildTimeoutMs } from './place';
import { user } from './support';

let place: Place;
let door: string;
/** Leads to the door, for OpenSSH's own client. */
let port: number;
let server: Server;
let image: string;

beforeAll(async () => {
  place = await new Place().opened();
  door = await doorOf(place);
  ({ port, server } = await portTo(door));
  image = await place.inspect('{{.Image}}');
}, buildTimeoutMs);

afterAll(() => void server.close());

const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'ConnectTimeout=20', 'LogLevel=INFO'].flatMap((each) => ['-o', each]); // prettier-ignore

interface Said {
  readonly status: number;
  readonly text: string;
}

/** OpenSSH's own client, in another container that has the network of this machine. */
function ssh(key: string | undefined, args: readonly string[]): Promise<Said> {
  const mounts = key === undefined ? [] : ['--volume', `${key}:/key:ro`];
  const identity = key === undefined ? [] : ['-i', '/key'];
  const run = ['run', '--rm', '--network', 'host', ...mounts, '--entrypoint', 'sh', image];
  // podman does not tell the status of a container that removes itself.
  const script = ['-c', 'ssh "$@"; echo "status $?"', 'ssh'];
  return new Promise((resolve) => {
    execFile('docker', [...run, ...script, ...options, ...identity, ...args], (_, stdout, stderr) => {
      const [end = '', status] = /status (\d+)\n$/.exec(stdout) ?? [];
      resolve({ status: Number(status), text: stdout.slice(0, stdout.length - end.length) + stderr });
    });
  });
}

const ourKey = () => join(place.cai.env.XDG_STATE_HOME!, 'containai/ssh/id_ed25519');

describe('sshd in a container', () => {
  test('listens on no network, and for the proxy of a command on the loopback address alone', async () => {
    expect(await place.inspect('{{json .HostConfig.PortBindings}} {{json .NetworkSettings.Ports}}')).toMatch(/^(?:null|\{\}) (?:null|\{\})$/); // prettier-ignore
    expect(await place.inspect('{{.HostConfig.NetworkMode}}')).toBe('none');
    // Its first line are headings.
    expect(await place.prints(['tail', '-n', '+2', '/proc/net/route'])).toBe('');
    const lines = (await place.prints(['cat', '/proc/net/tcp', '/proc/net/tcp6'])).split('\n');
    const listening = lines.map((line) => line.trim().split(/\s+/)).filter(([, , , state]) => state === '0A');
    // The proxy of this command, on 127.0.0.1.
    expect(listening.map(([, local]) => local)).toEqual([expect.stringMatching(/^0100007F:/)]);
  });

  test('is reached by the user of the container and by root, and by nobody else of this machine', async () => {
    const nobody = { uid: 65_534, gid: 65_534 };

    expect(await whatHears(user, door)).toMatch(/^SSH-2.0-OpenSSH/);
    expect(await whatHears({ uid: 0, gid: 0 }, door)).toMatch(/^SSH-2.0-OpenSSH/);
    expect(await whatHears(nobody, door)).toBe('EACCES');
  });

  test('does not let in the agent by keys that it puts into its home folder', async () => {
    const files = 'authorized_keys authorized_keys2';
    await place.prints(['sh', '-c', `mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id && for each in ${files}; do cp ~/.ssh/id.pub ~/.ssh/$each; done; cp ~/.ssh/id .`]); // prettier-ignore

    for (const key of [undefined, `${place.workspace}/id`]) {
      const { status, text } = await ssh(key, ['-p', String(port), 'agent@127.0.0.1', 'id']);

      expect(status).toBe(255);
      expect(text).toMatch(/agent@\S+: Permission denied \(publickey\)\./);
    }
  });

  test('does not let our key be anybody else', async () => {
    for (const name of ['root', 'node', 'nobody']) {
      const { text } = await ssh(ourKey(), ['-p', String(port), `${name}@127.0.0.1`, 'id']);

      expect(text).toMatch(/Permission denied \(publickey\)\./);
    }
  });
});

describe('a command', () => {
  test.each(['socket', 'exec'])(
    'has the usual umask, and the limits of the container, by the way in %s',
    async (way) => {
      const show = ['bash', '-c', 'umask; ulimit -i; ulimit -l'];

      expect(await place.prints(show, { env: { CAI_WAY_IN: way } })).toBe('0022\n4096\n4096');
    },
  );
});

describe('our own key', () => {
  const login = (...args: string[]) => ssh(ourKey(), ['-p', String(port), ...args, 'agent@127.0.0.1', 'echo in; env']); // prettier-ignore

  test('lets us in, and brings nothing of ours along', async () => {
    const { status, text } = await login('-o', 'SetEnv=LEAK=1');

    expect({ status, isIn: text.includes('in\n') }).toEqual({ status: 0, isIn: true });
    expect(text).not.toMatch(/LEAK/);
  });

  test('opens ways from the container on its loopback address alone, where nobody else reaches them', async () => {
    const ways = ['-R0.0.0.0:8099:127.0.0.1:22', '-R*:8099:127.0.0.1:22', '-R[::]:8099:127.0.0.1:22', '-R127.0.0.2:8099:127.0.0.1:22']; // prettier-ignore
    for (const way of ways) {
      const { status, text } = await login('-o', 'ExitOnForwardFailure=yes', way);

      expect([way, status]).toEqual([way, 255]);
      expect(text).toMatch(/remote port forwarding failed/);
    }
    const own = await login('-o', 'ExitOnForwardFailure=yes', '-R127.0.0.1:8099:127.0.0.1:22');
    expect(own.status).toBe(0);
  });

  test('opens ways to the loopback address of the container alone', async () => {
    const to = (target: string) => ssh(ourKey(), ['-p', String(port), '-W', target, 'agent@127.0.0.1']);

    const serve =
      "require('node:net').createServer((s) => s.end('SERVED')).listen(2222, () => console.log('begun'))";
    const served = place.start(['node', '-e', serve]);
    await served.says('begun');

    expect((await to('127.0.0.1:2222')).text).toContain('SERVED');
    for (const target of ['127.0.0.2:2222', '172.17.0.1:22'])
      expect((await to(target)).text).toMatch(/administratively prohibited/);
    served.child.kill('SIGTERM');
  });
});

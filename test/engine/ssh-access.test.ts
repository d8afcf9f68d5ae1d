import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';

let place: Place;
let port: number;
let address: string;
let image: string;

beforeAll(async () => {
  place = await new Place().opened();
  port = Number(await place.inspect('{{(index (index .NetworkSettings.Ports "2222/tcp") 0).HostPort}}'));
  address = await place.inspect('{{.NetworkSettings.IPAddress}}');
  image = await place.inspect('{{.Image}}');
}, buildTimeoutMs);

const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'ConnectTimeout=20', 'LogLevel=INFO'].flatMap((each) => ['-o', each]); // prettier-ignore

interface Said {
  readonly status: number;
  readonly text: string;
}

/** OpenSSH's own client, in another container. */
function ssh(network: 'bridge' | 'host', key: string | undefined, args: readonly string[]): Promise<Said> {
  const mounts = key === undefined ? [] : ['--volume', `${key}:/key:ro`];
  const identity = key === undefined ? [] : ['-i', '/key'];
  const run = ['run', '--rm', '--network', network, ...mounts, '--entrypoint', 'sh', image];
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
  test('is published on the loopback address alone', async () => {
    expect(await place.inspect('{{json .NetworkSettings.Ports}}')).toBe(
      JSON.stringify({ '2222/tcp': [{ HostIp: '127.0.0.1', HostPort: String(port) }] }),
    );
    const others = Object.values(networkInterfaces()).flatMap((each) => each ?? []).filter(({ internal }) => !internal); // prettier-ignore
    const answers = others.map(({ address: host, family, scopeid }) => opens(family === 'IPv6' && scopeid ? `${host}%${scopeid}` : host)); // prettier-ignore

    expect(others).not.toEqual([]);
    expect(await Promise.all(answers)).toEqual(others.map(() => false));
    expect(await opens('127.0.0.1')).toBe(true);
  });

  test('does not let in a neighbour who reaches it', async () => {
    const { status, text } = await ssh('bridge', undefined, ['-p', '2222', `agent@${address}`, 'id']);

    expect(status).toBe(255);
    expect(text).toMatch(/agent@\S+: Permission denied \(publickey\)\./);
  });

  test('does not let in a neighbour by keys that the agent puts into its home folder', async () => {
    const files = 'authorized_keys authorized_keys2';
    await place.prints(['sh', '-c', `mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id && for each in ${files}; do cp ~/.ssh/id.pub ~/.ssh/$each; done; cp ~/.ssh/id .`]); // prettier-ignore

    const { status, text } = await ssh('bridge', `${place.workspace}/id`, [
      '-p',
      '2222',
      `agent@${address}`,
      'id',
    ]);

    expect(status).toBe(255);
    expect(text).toMatch(/Permission denied \(publickey\)\./);
  });

  test('does not let our key be anybody else', async () => {
    for (const name of ['root', 'node', 'nobody']) {
      const { text } = await ssh('host', ourKey(), ['-p', String(port), `${name}@127.0.0.1`, 'id']);

      expect(text).toMatch(/Permission denied \(publickey\)\./);
    }
  });
});

describe('our own key', () => {
  const login = (...args: string[]) => ssh('host', ourKey(), ['-p', String(port), ...args, 'agent@127.0.0.1', 'echo in; env']); // prettier-ignore

  test('lets us in, and brings nothing of ours along', async () => {
    const { status, text } = await login('-o', 'SetEnv=LEAK=1');

    expect({ status, isIn: text.includes('in\n') }).toEqual({ status: 0, isIn: true });
    expect(text).not.toMatch(/LEAK/);
  });

  test('opens ways from the container on its loopback address alone, where nobody else reaches them', async () => {
    const ways = ['-R0.0.0.0:8099:127.0.0.1:22', '-R*:8099:127.0.0.1:22', '-R[::]:8099:127.0.0.1:22', `-R${address}:8099:127.0.0.1:22`]; // prettier-ignore
    for (const way of ways) {
      const { status, text } = await login('-o', 'ExitOnForwardFailure=yes', way);

      expect([way, status]).toEqual([way, 255]);
      expect(text).toMatch(/remote port forwarding failed/);
    }
    const own = await login('-o', 'ExitOnForwardFailure=yes', '-R127.0.0.1:8099:127.0.0.1:22');
    expect(own.status).toBe(0);
  });

  test('opens ways to the loopback address of the container alone', async () => {
    const to = (target: string) =>
      ssh('host', ourKey(), ['-p', String(port), '-W', target, 'agent@127.0.0.1']);

    expect((await to('127.0.0.1:2222')).text).toMatch(/^SSH-2.0-OpenSSH/m);
    for (const target of [`${address}:2222`, '172.17.0.1:22'])
      expect((await to(target)).text).toMatch(/administratively prohibited/);
  });
});

/** Whether something listens at our port of that address. */
function opens(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket
      .on('close', () => socket.destroy())
      .setTimeout(10_000, () => socket.destroy(new Error('no answer')));
    socket.on('connect', () => socket.destroy());
  });
}

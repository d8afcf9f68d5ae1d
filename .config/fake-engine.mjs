/*
 * For the build: an engine whose containers have an sshd in which every command has ended well, so that V8 compiles what
 * `cai exec` needs from its arguments to its end.
 */
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import ssh2 from 'ssh2';

const id = 'fake';

/** Listens on that socket. Source of requests and answers: Docker Engine API. */
export function fakeEngine(socketPath) {
  const containers = new Map();
  let hostKey;
  const answers = [
    [/\/_ping$/, () => 'OK'],
    [
      /\/info$/,
      () => ({ OSType: 'linux', MemTotal: 2 ** 33, NCPU: 2, KernelVersion: '6.1', SecurityOptions: [] }),
    ],
    [/\/images\/.*\/json$/, () => ({ Id: 'sha256:fake', Config: { Labels: {} } })],
    [
      /\/containers\/create\?name=/,
      ({ url }, body) => {
        containers.set(/name=([^&]*)/.exec(url)[1], JSON.parse(body));
        return { Id: id };
      },
    ],
    [
      /\/containers\/.*\/archive/,
      (_, body) => {
        hostKey = /-----BEGIN OPENSSH[^]*?-----END OPENSSH PRIVATE KEY-----\n/.exec(body)?.[0] ?? hostKey;
      },
    ],
    [/\/containers\/.*\/json$/, ({ url }) => inspected(/containers\/(.*)\/json/.exec(url)[1])],
    [/\/volumes/, () => ({ Volumes: [] })],
    [/\/exec$/, () => ({ Id: id })],
    [/./, () => ({})],
  ];

  function inspected(idOrName) {
    const [name, made] = [...containers].find(([each]) => each === idOrName || idOrName === id) ?? [];
    if (made === undefined) return undefined;
    const { HostConfig, Labels, Env, User } = made;
    const Mounts = HostConfig.Mounts.map(({ Type, Source, Target, ReadOnly }) => ({
      Type,
      Source,
      Name: Source,
      Destination: Target,
      RW: !ReadOnly,
    }));
    return {
      ...{
        Id: id,
        Name: `/${name}`,
        Image: 'sha256:fake',
        Config: { Labels, Env, User },
        HostConfig,
        Mounts,
      },
      State: { Status: 'running', Running: true, ExitCode: 0, StartedAt: '2026-01-01T00:00:00Z', Pid: 0 },
      NetworkSettings: { Networks: { none: {} } },
    };
  }

  const server = createServer(async (request, response) => {
    const [, answer] = answers.find(([pattern]) => pattern.test(request.url));
    const body = answer(request, (await buffer(request)).toString('latin1'));
    const isFile = request.method === 'GET' && request.url.includes('/archive');
    response.writeHead(isFile || (body === undefined && request.method === 'GET') ? 404 : 200, {
      'Api-Version': '1.47',
    });
    response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
  });
  server.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    serve(socket, hostKey);
  });
  server.listen(socketPath);
  return server;
}

/** An sshd on the stream of an exec, which frames what comes out. */
function serve(socket, hostKey) {
  const stream = new Duplex({
    read() {},
    write(chunk, _, done) {
      const header = Buffer.alloc(8);
      header.writeUInt8(1);
      header.writeUInt32BE(chunk.length, 4);
      socket.write(Buffer.concat([header, chunk]), done);
    },
  });
  socket
    .on('data', (chunk) => stream.push(chunk))
    // A server leaves its half open.
    .on('end', () => socket.destroy())
    .on('close', () => stream.push(null))
    .on('error', () => undefined);
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    client.on('error', () => undefined);
    client.on('authentication', (context) => context.accept());
    client.on('request', (accept) => accept?.(1024));
    client.on('session', (accept) =>
      accept().on('exec', (acceptExec) => {
        const channel = acceptExec();
        channel.once('data', () => {
          channel.write('\0');
          channel.exit(0);
          channel.end();
        });
      }),
    );
  });
  server.injectSocket(stream);
}

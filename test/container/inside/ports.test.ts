import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { networkInterfaces, platform } from 'node:os';
import { join, resolve } from 'node:path';
import { encodeHeader } from '../../../src/container/ssh/remote-command';
import { newFolder } from '../../support/temp-folder';

const inside = resolve(__dirname, '../../../src/container/inside');
const path = ['PATH', process.env.PATH!] as const;

/** Listens on what its arguments say, `ADDRESS PORT` or a path for a child of its own, and writes the ports. */
const listening = `
  const { createServer } = require('node:net');
  const servers = new Map();
  process.stdin.setEncoding('utf8').on('data', (text) => {
    for (const order of text.trim().split('\\n')) {
      const [action, host, port] = order.split(' ');
      if (action === 'close') servers.get(host).close(() => console.log('closed'));
      else {
        const server = createServer().listen({ host, port: Number(port ?? 0), ipv6Only: action === 'only' }, () => {
          servers.set(String(server.address().port), server);
          console.log(server.address().port);
        });
        server.on('error', (error) => console.log(error.code));
      }
    }
  });
`;

const programs: ChildProcessWithoutNullStreams[] = [];
afterEach(async () => {
  for (const program of programs.splice(0)) {
    // It ends all that the command has started.
    program.kill('SIGTERM');
    await once(program, 'close');
  }
});

/** A program whose lines a test waits for. */
class Lines {
  readonly all: string[] = [];
  #rest = '';
  #wake: () => void = () => undefined;

  constructor(readonly program: ChildProcessWithoutNullStreams) {
    programs.push(program);
    program.stdin.on('error', () => undefined);
    program.stdout.on('data', (chunk: Buffer) => {
      const lines = (this.#rest + chunk.toString().replace(/^[0-9]*\0/, '')).split('\n');
      this.#rest = lines.pop()!;
      this.all.push(...lines);
      this.#wake();
    });
  }

  /** The next line. */
  async next(): Promise<string> {
    while (this.all.length === 0) await new Promise<void>((done) => (this.#wake = done));
    return this.all.shift()!;
  }

  /** What it answers to an order. */
  async asked(order: string): Promise<string> {
    this.program.stdin.write(`${order}\n`);
    return await this.next();
  }
}

/** A command under the supervisor. We are what sshd's process is: the parent of the supervisors of a connection. */
function supervised(argv: readonly [string, ...string[]]): Lines {
  const program = spawn('perl', [join(inside, 'supervisor')]);
  program.stdin.write(encodeHeader({ argv, cwd: '/', env: [path] }));
  return new Lines(program);
}

function command(): Lines {
  return supervised([process.execPath, '-e', listening]);
}

/** What looks for ports, with its supervisor where it is here. */
function watcher(): Lines {
  const copy = join(newFolder(), 'ports');
  const script = readFileSync(join(inside, 'ports'), 'utf8');
  writeFileSync(copy, script.replace('/run/cai/supervisor', join(inside, 'supervisor')));
  return supervised(['perl', copy]);
}

/** It needs Linux, as the containers have it. */
const describeOnLinux = platform() === 'linux' ? describe : describe.skip;
const hasIpv6 = Object.values(networkInterfaces()).some((each) =>
  each?.some(({ address }) => address === '::1'),
);

describeOnLinux('ports', () => {
  test('tells what the command listens on, and when that ends', async () => {
    const [ports, login] = [watcher(), command()];

    const port = await login.asked('listen 127.0.0.1');
    expect(await ports.next()).toBe(`+${port} 127.0.0.1`);
    await login.asked(`close ${port}`);

    expect(await ports.next()).toBe(`-${port}`);
  });

  test('tells what is listened on everywhere, or has been before it looked', async () => {
    const login = command();
    const port = await login.asked('listen 0.0.0.0');

    expect(await watcher().next()).toBe(`+${port} 127.0.0.1`);
  });

  (hasIpv6 ? test : test.skip)('tells the addresses of IPv6, too', async () => {
    const [ports, login] = [watcher(), command()];

    const own = await login.asked('listen ::1');
    expect(await ports.next()).toBe(`+${own} ::1`);
    const all = await login.asked('listen ::');

    expect(await ports.next()).toBe(`+${all} 127.0.0.1 ::1`);
  });

  test('tells nothing of another process, and of a port that another had', async () => {
    const ports = watcher();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const login = command();
    const first = await login.asked('listen 127.0.0.1');
    expect(await ports.next()).toBe(`+${first} 127.0.0.1`);

    other.close();
    await once(other, 'close');
    expect(await login.asked(`listen 127.0.0.1 ${port}`)).toBe(String(port));
    const last = await login.asked('listen 127.0.0.1');

    expect(await ports.next()).toBe(`+${last} 127.0.0.1`);
  });

  test('tells of what the command has started, in whatever session', async () => {
    const ports = watcher();
    const script = `setsid "$0" -e "$1" & cat`;
    const login = supervised(['sh', '-c', script, process.execPath, 'require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port) })']); // prettier-ignore

    const port = await login.next();

    expect(await ports.next()).toBe(`+${port} 127.0.0.1`);
  });

  (process.getuid?.() === 0 ? test : test.skip)('tells of no port below 1024', async () => {
    const [ports, login] = [watcher(), command()];
    const used = new Set(execFileSync('sh', ['-c', 'cat /proc/net/tcp*'], { encoding: 'utf8' }).match(/:[0-9A-F]{4} /g)); // prettier-ignore
    const free = [1_023, 1_022, 1_021].find((port) => !used.has(`:0${port.toString(16).toUpperCase()} `));

    await login.asked(`listen 127.0.0.1 ${free}`);
    const port = await login.asked('listen 127.0.0.1');

    expect(await ports.next()).toBe(`+${port} 127.0.0.1`);
  });
});

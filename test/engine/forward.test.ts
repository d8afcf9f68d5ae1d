import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { cai, runIn } from './own-agent';
import { Place } from './place';
import { Cai, newWorkspace, ownFile } from './support';

describe('cai forward', () => {
  const program = `
    const { createServer } = require('node:net');
    const echo = createServer({ allowHalfOpen: true }, (socket) => {
      let bytes = 0;
      socket.on('error', () => undefined).on('data', (chunk) => (bytes += chunk.length));
      socket.on('end', () => socket.end(bytes + ' bytes'));
    });
    const web = require('node:http').createServer((asked, answer) => answer.end('inside ' + asked.url));
    echo.listen(5174, '127.0.0.1', () => web.listen(5173, '127.0.0.1', () => process.stdout.write('listening')));
  `;

  /** A workspace whose servers are forwarded, and the ports here. */
  async function forwarded(...pairs: string[]) {
    const workspace = newWorkspace();
    ownFile(`${workspace}/servers.js`, program);
    const servers = cai.start(['exec', '--', 'node', 'servers.js'], { cwd: workspace });
    await servers.says('listening');
    const forward = cai.start(['forward', ...pairs], { cwd: workspace });
    const count = (): number => forward.stdout.toString().split('\n').length - 1;
    while (count() < pairs.length)
      await Promise.race([once(forward.child.stdout, 'data'), forward.succeeds()]);
    const ports = [...forward.stdout.toString().matchAll(/^http:\/\/127\.0\.0\.1:(\d+)$/gm)].map(([, port]) => Number(port)); // prettier-ignore
    expect(ports).toHaveLength(pairs.length);
    const end = async () => {
      for (const each of [forward, servers]) each.child.kill('SIGINT');
      return [await forward.ends(), await servers.ends()] as const;
    };
    return { workspace, forward, ports, end };
  }

  async function get(port: number, path: string): Promise<string> {
    const asked = request({ host: '127.0.0.1', port, path }).end();
    const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
    return await text(answer);
  }

  /** What comes back for that many bytes, of which the end is told. */
  async function send(port: number, bytes: number): Promise<string> {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    socket.end(Buffer.alloc(bytes));
    return Buffer.concat((await socket.toArray()) as Buffer[]).toString();
  }

  test('leads to servers inside, over many connections at once', async () => {
    const { ports, end } = await forwarded('0:5173', '0:5174');
    const sizes = Array.from({ length: 100 }, (_, index) => index * 10_000);

    const page = await get(ports[0]!, '/page');
    const answers = await Promise.all(sizes.map((bytes) => send(ports[1]!, bytes)));
    const [{ status }] = await end();

    expect(page).toBe('inside /page');
    expect(answers).toEqual(sizes.map((bytes) => `${bytes} bytes`));
    expect(status).toBe(130);
  });

  test('closes a connection to a port where nothing listens, and goes on', async () => {
    const { forward, ports, end } = await forwarded('0:9', '0:5173');

    const [error] = (await once(connect(ports[0]!, '127.0.0.1').resume(), 'close')) as [boolean];
    await forward.complains('cai: nothing answers on port 9 of the container: start the server there\n');
    const page = await get(ports[1]!, '/');
    await end();

    expect(error).toBe(false);
    expect(page).toBe('inside /');
    expect(forward.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('ends when the container does', async () => {
    const { workspace, forward, end } = await forwarded('0:5173');

    await runIn(workspace, ['rm', '--force']);
    const { status, stderr } = await forward.ends();
    await end();

    expect(status).toBe(10);
    expect(stderr).toMatch(/^cai: the container cai-\S+ was removed\n$/);
  });
});

describe('network.host_ports', () => {
  let servers: Server[];
  /** Ports of this machine where each byte comes back; the configuration names all but the last one. */
  let ports: number[];
  let place: Place;

  async function echo(port = 0): Promise<number> {
    const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
    servers.push(server.listen(port, '127.0.0.1'));
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  async function given(more = ''): Promise<void> {
    ports = [await echo(), await echo(), await echo()];
    place = await new Place(new Cai(`host_ports = [${ports.slice(0, -1).join()}]\n${more}`)).opened();
  }

  beforeEach(() => void (servers = []));
  afterEach(() => servers.forEach((server) => server.close()));

  /** A program of Node that prints for each place what comes back from there. */
  const knock = (...places: (readonly [host: string, port: number])[]) =>
    `const said = ([host, port]) => new Promise((done) => {
       const socket = require('net').connect({ host, port }, () => socket.write('echo'));
       socket.once('data', (data) => { done(String(data)); socket.destroy(); });
       socket.on('error', () => undefined).on('close', () => done('none'));
     });
     Promise.all(${JSON.stringify(places)}.map(said)).then((all) => console.log(all.join()));`;
  const node = (script: string) => ['node', '-e', script];

  test('are reached at localhost and at host.docker.internal, by several commands, and no other port is', async () => {
    await given();
    const [first, second, other] = ports as [number, number, number];
    const names = ['localhost', '127.0.0.1', 'host.docker.internal'] as const;
    const places = [first, second, other].flatMap((port) => names.map((name) => [name, port] as const));
    const expected = [...Array<string>(6).fill('echo'), ...Array<string>(3).fill('none')].join();

    // Whoever ends takes along what the others have through it.
    const commands = [1, 2, 3].map(() => place.start(node(`${knock(...places)} process.stdin.resume();`)));
    for (const each of commands) await each.says('none\n');
    for (const each of commands) each.child.stdin.end();

    for (const each of commands)
      expect(await each.succeeds()).toMatchObject({ stdout: Buffer.from(`${expected}\n`), stderr: '' });
  });

  test('are taken over by another command that runs when the first one ends or is killed', async () => {
    await given();
    const reached = `const look = () => require('net').connect(${ports[0]}, 'localhost', () => console.log('reached')).on('error', () => setTimeout(look, 50)); process.stdin.once('data', look);`;
    const first = place.start(['sh', '-c', 'echo begun; cat']);
    await first.says('begun');
    const others = [1, 2].map(() =>
      place.start(['sh', '-c', 'echo begun; exec "$0" "$@"', ...node(reached)]),
    );
    for (const each of others) await each.says('begun');

    first.child.stdin.end();
    await first.succeeds();
    others[0]!.child.stdin.write('look');
    await others[0]!.says('reached');
    for (const each of others) expect(each.stderr).toBe('');
    others[0]!.child.kill('SIGKILL');
    await others[0]!.ends();
    others[1]!.child.stdin.write('look');
    await others[1]!.says('reached');
    others[1]!.child.kill('SIGTERM');
  });

  test('are told of where nothing listens here, and closed at once', async () => {
    await given();
    const [first] = ports as [number];
    await new Promise((closed) => servers[0]!.close(closed));

    const command = place.cai.start(['exec', '--workspace', place.workspace, '--', ...node(knock(['localhost', first]))]); // prettier-ignore

    expect((await command.succeeds()).stdout.toString()).toBe('none\n');
    expect(command.stderr).toBe(`cai: nothing answers on port ${first} of this machine: start the server\n`);
    servers.shift();
    await echo(first);
    expect(await place.prints(node(knock(['localhost', first])))).toBe('echo');
  });

  test('are told of once where a program in the container listens there, and the command runs', async () => {
    await given();
    const [first, second] = ports as [number, number];
    const listen = `require('net').createServer((s) => s.end('inside')).listen(${first}, '127.0.0.1', () => console.log('on'))`;
    // The port that a command has until it ends is free for a program in a container without the setting.
    place.cai.configure('');
    const taker = place.start(node(listen));
    await taker.says('on');
    place.cai.configure(`host_ports = [${first}, ${second}]\n`);

    const knocks = node(knock(['localhost', first], ['localhost', second]));
    const command = place.cai.start(['exec', '--workspace', place.workspace, '--', ...knocks]);
    const { stdout, stderr } = await command.succeeds();

    expect(stdout.toString()).toBe('inside,echo\n');
    expect(stderr.match(/^cai: port .*/gm)).toEqual([
      expect.stringMatching(`^cai: port ${first} is taken in the container, by a program or service there`),
    ]);
    taker.child.kill('SIGTERM');
    await taker.ends();
  });

  test('are reached at localhost with a network of the engine, which knows its own names', async () => {
    await given('egress = "open"\n');

    expect(await place.prints(node(knock(['localhost', ports[0]!], ['localhost', ports[2]!])))).toBe(
      'echo,none',
    );
    expect(await place.prints(['sh', '-c', 'grep docker /etc/hosts || true'])).toBe('');
  });
});

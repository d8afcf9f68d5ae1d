import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { cai, runIn } from './own-agent';
import { newWorkspace, ownFile } from './support';

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

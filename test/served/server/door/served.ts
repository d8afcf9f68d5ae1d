/** A door behind a real server, and requests to it byte by byte. */
import { createServer, type IncomingMessage } from 'node:http';
import * as http2 from 'node:http2';
import { connect, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { Door, type DoorOptions } from '../../../../src/served/server/door/door';
import { Tokens } from '../../../../src/served/server/door/tokens';
import { isRefusal, type Refusal, type Visitor } from '../../../../src/served/server/door/visitor';
import { Host } from '../../../../src/system/host';
import { newFolder } from '../../../support/temp-folder';

/** Who else may come in. */
export const users = [
  { name: 'ann', agents: ['claude'], workspaces: ['/srv/shop'] },
  { name: 'bot', agents: 'all', workspaces: 'all' },
] as const;

const open: Server[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** What the door is to be, besides what every one is. */
export type Given = Partial<Omit<DoorOptions, 'serve'>> & { readonly serve?: Partial<DoorOptions['serve']> };

/** A user's door; time stands still, but for `pass`. */
export function newDoor({ serve, ...given }: Given = {}) {
  const host = new Host({ HOME: '/home/u', XDG_STATE_HOME: newFolder() });
  let now = 0;
  const options = { host, isBehindProxy: false, now: () => now, ...given };
  const door = new Door({
    ...options,
    serve: { hosts: [], origins: [], users: [], groups: [], ...serve } as never,
  });
  const tokens = new Tokens(host);
  return { door, tokens, owner: tokens.ownerToken(), host, pass: (ms: number) => (now += ms) };
}

/** A server of node, as it comes, that asks `answer` of each request. */
export async function serve(answer: (request: IncomingMessage) => object, path?: string) {
  const server = createServer((request, response) => {
    response.end(JSON.stringify(answer(request)));
  });
  server.on('upgrade', (request, socket) => {
    const body = JSON.stringify(answer(request));
    socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  open.push(server);
  const place = path === undefined ? { port: 0, host: '127.0.0.1' } : { path };
  await once(server.listen(place), 'listening');
  const port = path === undefined ? (server.address() as AddressInfo).port : 0;
  /** Sends lines as they are, an empty one behind them; `status` is that of node's own answer, if it gave one. */
  const send = async (
    ...lines: readonly string[]
  ): Promise<{ status: number; answer: Visitor | Refusal }> => {
    const socket = path === undefined ? connect(port, '127.0.0.1') : connect(path);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.end([...lines, '', ''].join('\r\n'));
    await once(socket, 'close');
    const body = /\{.*\}/s.exec(text)?.[0] ?? '{}';
    return { status: Number(text.split(' ')[1]), answer: JSON.parse(body) as Visitor | Refusal };
  };
  return { server, port, send };
}

/** The same over HTTP/2, as far as only headers count; `ask` sends a request and gives the answer to it. */
export async function serveHttp2(answer: (request: http2.Http2ServerRequest) => object) {
  let last: object = {};
  const server = http2.createServer((request, response) => {
    last = answer(request);
    response.end();
  });
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = async (headers: http2.OutgoingHttpHeaders): Promise<object> => {
    const client = http2.connect(`http://127.0.0.1:${port}`);
    const stream = client.request({ ':authority': `localhost:${port}`, ...headers });
    await once(stream.resume().end(), 'end');
    client.close();
    return last;
  };
  return { port, ask };
}

/** A path for a Unix socket. */
export function socketPath(): string {
  return join(newFolder(), 's');
}

/** The status of a refusal, or who came in. */
export function outcome(answer: object): number | string {
  return isRefusal(answer) ? answer.status : (answer as Visitor).name;
}

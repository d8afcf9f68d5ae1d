/** A server of a user that two others may use, each in a folder of their own, and clients that send it any byte. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import { join } from 'node:path';
import { WebSocket, type ClientOptions } from 'ws';
import { cai } from '../support/cli';
import type { Json } from '../support/inbox';
import { Served } from '../support/served';
import { newFolder } from '../support/temp-folder';

/** Headers of a request. */
export type Headers = Record<string, string>;

/** A request of no method but those of ACP. */
export interface Asked {
  readonly method?: string;
  readonly headers?: Headers;
  readonly body?: string;
  /** Default: the address of HTTP. */
  readonly at?: string;
}

/** One message of a connection. */
export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json | null;
  readonly error?: { readonly code: number; readonly message: string };
}

export const json = { 'content-type': 'application/json' };
export const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}';

/** The server, and who may use it. Listens by HTTP, TLS, plain lines and a socket. */
export class DoorWorld {
  /** What the pages of those who have signed in know besides, by their cookies. */
  readonly #keys = new Map<string, string>();

  private constructor(
    readonly served: Served,
    readonly ann: Headers,
    readonly bob: Headers,
    private readonly clock: string,
  ) {}

  /** Resolves when it listens; `config`: more of the user's, TOML. */
  static async open(config = ''): Promise<DoorWorld> {
    const folder = newFolder();
    const [key, cert, clock] = ['key.pem', 'cert.pem', 'clock'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(clock, '0');
    const how = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const files = ['-subj', '/CN=localhost', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', ...how, ...files], { stdio: 'ignore' });
    // No container holds the limits of these users: in test mode they are taken, and a name is a program.
    const programs = { mock: 'mock-acp-server', flood: 'agents/floods.mjs' };
    for (const [name, file] of Object.entries(programs)) {
      const program = join(__dirname, '../../fixtures', file);
      writeFileSync(join(folder, name), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
        mode: 0o700,
      });
    }
    const served = await Served.start({
      listen: ['127.0.0.1:0', 'https://127.0.0.1:0', 'tcp://127.0.0.1:0', 'unix:HOME/run/s.sock'],
      args: ['--tls-cert', cert, '--tls-key', key],
      config: `[acp]\nmax_line_from_editor = "1MiB"\n${['ann', 'bob'].map(userNamed).join('')}${config}`,
      env: {
        CAI_ACP_TEST_MODE: '1',
        PATH: `${folder}:${process.env.PATH}`,
        CAI_TEST_CLOCK: clock,
        NODE_OPTIONS: `--require=${join(__dirname, 'door-clock.cjs')}`,
      },
    });
    for (const name of ['ann', 'bob']) served.workspace(name);
    const headers = (name: string) => ({ authorization: `Bearer ${token(served, 'add', name)}` });
    return new DoorWorld(served, headers('ann'), headers('bob'), clock);
  }

  get http(): string {
    return this.served.addresses[0]!;
  }

  get https(): string {
    return this.served.addresses[1]!;
  }

  get host(): string {
    return new URL(this.http).host;
  }

  get owner(): Headers {
    return this.served.owner;
  }

  /** A folder below what ann may use. */
  folderOf(name: string, ...below: string[]): string {
    const path = join(this.served.workspace(name), ...below);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** So much time has passed for the server since it was started, in milliseconds. */
  later(ms: number): void {
    writeFileSync(this.clock, String(ms));
  }

  revoke(name: string): void {
    token(this.served, 'revoke', name);
  }

  /** The headers of a proxy by which people come in whom it names in `x-person`; `serve.identity_header` is that. */
  newProxy(): Headers {
    return { authorization: `Bearer ${token(this.served, 'add', 'sso', '--proxy')}` };
  }

  /** Sends a request by HTTP/1.1; the target is sent as it is written. */
  async ask(path: string, { method = 'GET', headers = {}, body, at = this.http }: Asked = {}) {
    const { hostname: host, port } = new URL(at);
    const request = http.request({ host, port, path, method, headers: this.#keyed(headers), agent: false });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode!, text, headers: answer.headers };
  }

  /** A ticket that the owner has made for somebody. */
  async ticketFor(user: string): Promise<string> {
    const body = JSON.stringify({ user });
    const { text } = await this.ask('/page/tickets', { method: 'POST', headers: { ...this.owner, ...json }, body }); // prettier-ignore
    return /#ticket=([\w-]+)/.exec(text)![1]!;
  }

  /** Sends a ticket as the page does; `headers` are added, and may replace the page's. */
  async signIn(ticket: unknown, headers: Headers = {}) {
    const all = { ...this.page, ...json, ...headers };
    return await this.ask('/page/sign-in', {
      method: 'POST',
      headers: all,
      body: JSON.stringify({ ticket }),
    });
  }

  /** What a browser adds to a request of the page of this server. */
  get page(): Headers {
    return { origin: this.http, 'sec-fetch-site': 'same-origin' };
  }

  /** The cookie of a browser that has signed in as somebody. */
  async cookieOf(user: string): Promise<string> {
    const { headers, text } = await this.signIn(await this.ticketFor(user));
    const cookie = headers['set-cookie']![0]!.split(';')[0]!;
    this.#keys.set(cookie.split('=')[1]!, (JSON.parse(text) as { key: string }).key);
    return cookie;
  }

  /** Whoever sends a cookie sends its key, too, unless they say otherwise. */
  #keyed<T extends http2.OutgoingHttpHeaders>(headers: T): T {
    const found = [...this.#keys].find(([cookie]) => String(headers.cookie).includes(cookie));
    return found === undefined ? headers : { 'cai-page-key': found[1], ...headers };
  }

  /** Sends bytes as they are to an address, and takes what comes until the server ends the connection. */
  async raw(bytes: string, at = this.http): Promise<string> {
    const { hostname: host, port } = new URL(at.replace(/^tcp:/, 'http:'));
    const socket = net.connect({ host, port: Number(port), allowHalfOpen: true });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => undefined).write(bytes, 'latin1');
    await Promise.race([once(socket, 'end'), once(socket, 'close')]);
    socket.destroy();
    return text;
  }

  /** Sends a request by HTTP/2 with these headers, pseudo-headers too. */
  async ask2(headers: http2.OutgoingHttpHeaders): Promise<number> {
    const client = http2.connect(this.https, { rejectUnauthorized: false });
    client.on('error', () => undefined);
    const request = client.request({ ':path': '/acp', ...this.#keyed(headers) });
    const status = new Promise<number>((resolve) => {
      request.on('response', (answer) => resolve(Number(answer[':status'])));
      request.on('error', () => resolve(0)).on('close', () => resolve(0));
    });
    const settled = await status;
    client.destroy();
    return settled;
  }

  /** The status with which an upgrade is answered; 101 is open, and closed at once. */
  async upgrade(headers: Headers, protocols: readonly string[] = [], path = '/acp'): Promise<number> {
    const socket = new WebSocket(`${this.http.replace('http', 'ws')}${path}`, [...protocols], {
      headers: this.#keyed(headers),
    });
    socket.on('error', () => undefined);
    const status = await new Promise<number>((resolve) => {
      socket.on('open', () => resolve(101));
      socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode!));
      socket.on('close', () => resolve(0));
    });
    socket.close();
    return status;
  }

  /** An open connection of somebody. */
  async connect(headers: Headers, options: ClientOptions = {}, query = ''): Promise<Client> {
    const url = `${this.http.replace('http', 'ws')}/acp${query}`;
    const socket = new WebSocket(url, { ...options, headers: this.#keyed(headers) });
    const opened = Promise.all([once(socket, 'upgrade'), once(socket, 'open')]);
    const [[response]] = (await opened) as [[http.IncomingMessage], unknown];
    return new Client(socket, String(response.headers['acp-connection-id']));
  }

  /** The same, with a session in that folder. */
  async session(headers: Headers, cwd: string): Promise<{ client: Client; sessionId: string }> {
    const client = await this.connect(headers);
    await client.call('initialize', { protocolVersion: 1 });
    const { result, error } = await client.call('session/new', { cwd, mcpServers: [] });
    if (typeof result?.sessionId !== 'string') throw new Error(`no session: ${JSON.stringify(error)}`);
    return { client, sessionId: result.sessionId };
  }

  /** An open connection of Streamable HTTP. */
  async post(headers: Headers): Promise<Headers> {
    const answer = await this.ask('/acp', {
      method: 'POST',
      headers: { ...headers, ...json },
      body: initialize,
    });
    return { ...headers, 'acp-connection-id': String(answer.headers['acp-connection-id']) };
  }
}

/** One client by WebSocket. */
export class Client {
  /** All that has come. */
  readonly got: Message[] = [];
  /** The code with which it was closed. */
  readonly closed: Promise<number>;
  #lastId = 0;

  constructor(
    readonly socket: WebSocket,
    readonly id: string,
  ) {
    socket.on('error', () => undefined);
    // Each call that waits for its answer has one.
    socket.setMaxListeners(0);
    socket.on('message', (data: Buffer) => {
      this.got.push(JSON.parse(data.toString()) as Message);
      socket.emit('got');
    });
    this.closed = new Promise((resolve) => socket.on('close', resolve));
  }

  send(message: object): void {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** Resolves with the first message that fits. */
  async next(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.got.find(fits);
      if (found !== undefined) return found;
      await once(this.socket, 'got');
    }
  }

  /** Begins a request; resolves with its id. */
  begin(method: string, params: object): number {
    const id = ++this.#lastId;
    this.send({ id, method, params });
    return id;
  }

  /** The answer to a request. */
  async answer(id: number): Promise<Message> {
    return await this.next((message) => message.id === id && message.method === undefined);
  }

  async call(method: string, params: object): Promise<Message> {
    return await this.answer(this.begin(method, params));
  }

  async prompt(sessionId: string, text: string): Promise<Message> {
    return await this.call('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }

  /** All that the agent has said. */
  get said(): string {
    return this.got
      .map(({ params }) => (params?.update as { content?: { text?: string } } | undefined)?.content?.text)
      .join('');
  }
}

/** What `cai serve token` of the server's user prints. */
function token({ home }: Served, ...words: string[]): string {
  const env = { PATH: process.env.PATH, HOME: home };
  return execFileSync(process.execPath, [cai, 'serve', 'token', ...words], { env, stdio: 'pipe' })
    .toString()
    .trim();
}

function userNamed(name: string): string {
  return `[[serve.users]]\nname = "${name}"\nagents = ["mock"]\nworkspaces = ["HOME/work/${name}"]\n`;
}

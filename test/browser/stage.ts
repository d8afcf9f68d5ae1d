/** A real `cai serve` behind a way that can be cut, with an agent that does what a test says. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';
import { cai, runCli, userWith, type CliOptions } from '../support/cli';
import { Inbox, type Json } from '../support/inbox';
import { newFolder } from '../support/temp-folder';

/** A way to the server. */
class Way {
  readonly #sockets = new Set<Socket>();
  port = 0;
  target = 0;
  isOpen = true;
  readonly #server = createServer((client) => {
    if (!this.isOpen) {
      client.destroy();
      return;
    }
    const server = connect(this.target, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Breaks all that goes over it; nothing does until `isOpen` is true again. */
  cut(): void {
    this.isOpen = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

/** One user with a server. */
export class Stage {
  readonly way = new Way();
  /** Where the agent's sessions and what it plays are. */
  readonly folder = newFolder();
  /** A workspace. */
  readonly workspace = join(newFolder(), 'bakery');
  #user: CliOptions = {};
  #server: ChildProcess | undefined;

  async start(): Promise<void> {
    mkdirSync(this.workspace);
    await this.way.listen();
    const command = JSON.stringify([process.execPath, join(__dirname, 'agent.mjs'), this.folder]);
    this.#user = userWith(`
[agents.baker]
command = ${command}
[acp]
max_line_to_editor = "1MiB"
[serve]
agents = ["baker"]
hosts = ["127.0.0.1:${this.way.port}"]
identity_header = "X-Person"
[[serve.users]]
name = "ann"
agents = "all"
workspaces = "all"
`);
    const socket = join(this.#user.env!.HOME!, '.local/state/containai/serve/serve.sock');
    const args = [cai, 'serve', '--listen', '127.0.0.1:0', '--listen', `unix:${socket}`];
    const env = { PATH: process.env.PATH, ...this.#user.env };
    this.#server = spawn(process.execPath, args, {
      cwd: this.#user.cwd,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: this.#server.stdout! })[Symbol.asyncIterator]();
    this.way.target = Number(new URL((await lines.next()).value as string).port);
    await lines.next();
  }

  /** What the agent does for the prompt "play NAME". */
  plays(name: string, steps: readonly Json[]): void {
    writeFileSync(join(this.folder, `${name}.json`), JSON.stringify(steps));
  }

  /** A new link to the page. */
  async link(): Promise<string> {
    const { status, stdout, stderr } = await runCli(['serve', 'link'], this.#user);
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  /** What a proxy that has signed ann in adds to each request of her browser. */
  async proxied(): Promise<Record<string, string>> {
    const { status, stdout, stderr } = await runCli(['serve', 'token', 'add', 'sso', '--proxy'], this.#user);
    if (status !== 0) throw new Error(stderr);
    return { authorization: `Bearer ${stdout.trim()}`, 'x-person': 'ann' };
  }

  /** The user's own token. */
  get token(): string {
    return readFileSync(join(this.#user.env!.HOME!, '.local/state/containai/serve/token'), 'utf8').trim();
  }

  /** The address of the page. */
  get address(): string {
    return `http://127.0.0.1:${this.way.port}/`;
  }

  async client(token = this.token): Promise<Client> {
    const client = new Client(`ws://127.0.0.1:${this.way.target}/acp`, token);
    await client.start();
    return client;
  }

  async close(): Promise<void> {
    this.way.close();
    const gone = once(this.#server!, 'close');
    this.#server!.kill();
    await gone;
  }
}

/** Another client of the same user, over WebSocket. */
export class Client {
  readonly inbox = new Inbox('the other client');
  readonly #socket: WebSocket;
  #lastId = 0;

  constructor(url: string, token: string) {
    this.#socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
    this.#socket.on('message', (data: Buffer) => this.inbox.push(Buffer.concat([data, Buffer.from('\n')])));
  }

  async start(): Promise<void> {
    await once(this.#socket, 'open');
    await this.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
  }

  send(message: Json): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** Sends a request; returns its id. */
  ask(method: string, params: Json): number {
    this.send({ id: ++this.#lastId, method, params });
    return this.#lastId;
  }

  /** Resolves with the result. */
  async request(method: string, params: Json): Promise<Json> {
    const { result, error } = await this.inbox.response(this.ask(method, params));
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return result as Json;
  }

  prompt(sessionId: unknown, text: string): number {
    return this.ask('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }

  /** Resolves with the code when it is closed. */
  async closed(): Promise<number> {
    const [code] = (await once(this.#socket, 'close')) as [number];
    return code;
  }

  close(): void {
    this.#socket.close(1000);
  }
}

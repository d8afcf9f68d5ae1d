/**
 * The built `bin/cai` between an editor and agents that a test plays by hand, byte by byte: the proxy is a
 * real process, and so is every agent (`fixtures/agents/puppet.pl`).
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { Passage } from './fault';
import { Inbox, type Expectation, type Json } from './inbox';
import { patienceMs } from './patience';
import { Puppet } from './puppet';

const repository = resolve(__dirname, '../..');
const puppet = join(repository, 'fixtures/agents/puppet.pl');

/** What agents answer to `initialize`, unless a test does it itself: everything the proxy routes. */
export const fullAgent: Json = {
  protocolVersion: 1,
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: true, audio: true, embeddedContext: true },
    mcpCapabilities: { http: true, sse: true, acp: true },
    sessionCapabilities: {
      list: {},
      resume: {},
      close: {},
      delete: {},
      fork: {},
      archive: {},
      status: {},
      title: {},
    },
    auth: { logout: {}, status: {} },
    providers: {},
  },
  agentInfo: { name: 'puppet', version: '1' },
  authMethods: [{ id: 'key', name: 'API key' }],
};

/** What the editor says it can do, unless a test says otherwise. */
export const fullEditor: Json = {
  fs: { readTextFile: true, writeTextFile: true },
  elicitation: { form: {}, url: {} },
};

/** How a world differs from the usual. */
export interface WorldOptions {
  /** Arguments behind `--acp`; default: the agent `puppet`. */
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv | ((world: World) => NodeJS.ProcessEnv);
  /** More of the user's config, TOML. */
  readonly config?: string;
  /** Working directory of the proxy, absolute or below the world's folder; default: its workspace `own`. */
  readonly cwd?: string;
  /** The result with which agents answer `initialize`, or each of them; `false`: the test answers. */
  readonly agentHello?: Json | false | ((agent: Puppet) => Json | false);
  /** A folder to use instead of a new one: a second proxy of the same user. */
  readonly folder?: string;
  /** The proxy's stdin instead of a pipe; then the world cannot send. */
  readonly stdin?: Socket;
  /** Puts things below the world's folder before the proxy starts. */
  readonly prepare?: (world: World) => void;
}

/** One proxy with both of its sides. Made by `World.start`, ended by `end`. */
export class World {
  /** What the editor receives. */
  readonly editor = new Inbox('editor');
  /** The proxy's stderr so far. */
  stderr = '';
  readonly #passage = new Passage();
  readonly #toProxy = this.#passage.way('fromEditor', (bytes) => this.process.stdin.write(bytes));
  #lastId = 0;
  readonly #puppets: Puppet[] = [];
  readonly #arrived: Puppet[] = [];
  #wake: (() => void)[] = [];
  #exit: Promise<[number | null, NodeJS.Signals | null]> | undefined;
  #server!: Server;
  readonly #socket: string;
  /** The proxy. */
  process!: ChildProcessWithoutNullStreams;

  private constructor(
    /** Real path of the folder that holds everything: HOME, the workspaces. */
    readonly folder: string,
    private readonly options: WorldOptions,
  ) {
    this.#socket = join(folder, `.puppets-${process.pid}-${++lastSerial}`);
  }

  /** Starts a proxy. */
  static async start(options: WorldOptions = {}): Promise<World> {
    const world = new World(
      options.folder ?? realpathSync(mkdtempSync(join(tmpdir(), 'cai-world-'))),
      options,
    );
    await world.#listen();
    options.prepare?.(world);
    world.#spawn();
    return world;
  }

  /** Starts a proxy and initializes it as the usual editor. */
  static async initialized(
    options: WorldOptions = {},
    clientCapabilities: Json = fullEditor,
  ): Promise<World> {
    const world = await World.start(options);
    await world.request('initialize', { protocolVersion: 1, clientCapabilities });
    return world;
  }

  /** A workspace without git, which `cai` would start each time it looks for a root: `/folder/name`. Made when first named. */
  workspace(name: string): string {
    const path = join(this.folder, name);
    if (!existsSync(join(path, '.git')) && !existsSync(join(path, marker))) this.file(join(name, marker), '');
    return path;
  }

  /** The same, with a git repository. */
  repository(name: string): string {
    const path = join(this.folder, name);
    // The least that git takes for a repository, without a process for each.
    for (const part of ['objects', 'refs']) mkdirSync(join(path, '.git', part), { recursive: true });
    writeFileSync(join(path, '.git/HEAD'), 'ref: refs/heads/main\n');
    return path;
  }

  /** Writes a file below the world's folder; returns its path. */
  file(name: string, content: string): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Makes a program below the world's folder that is the puppet under another name; returns its path. */
  program(name: string): string {
    const path = this.file(name, `#!/bin/sh\nexec "${puppet}" "$@"\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** Sends the editor's line: an object as JSON, or the very bytes, which have to bring their line end. */
  send(message: Json | string | Buffer): void {
    const isRaw = typeof message === 'string' || Buffer.isBuffer(message);
    const bytes = Buffer.from(isRaw ? message : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    this.#toProxy(bytes);
  }

  /** Sends a request of the editor under a new id, and returns that. */
  ask(method: string, params?: unknown): number {
    const id = ++this.#lastId;
    this.send({ id, method, ...(params === undefined ? {} : { params }) });
    return id;
  }

  /** Sends a request of the editor; resolves with its response. */
  async request(method: string, params?: unknown): Promise<Json> {
    return await this.editor.response(this.ask(method, params));
  }

  /** Lets the editor answer the next request that fits; resolves with the request. */
  async answer(expected: Expectation, outcome: Json): Promise<Json> {
    const request = await this.editor.next(expected);
    this.send({ id: request.id, ...outcome });
    return request;
  }

  /** The next agent that was started and not yet returned; with `cwd`, the next in that folder. */
  async agent(cwd?: string): Promise<Puppet> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const index = this.#arrived.findIndex((each) => cwd === undefined || each.cwd === cwd);
      if (index >= 0) return this.#arrived.splice(index, 1)[0]!;
      if (Date.now() > deadline) throw new Error(`no agent was started in ${cwd ?? 'any folder'}`);
      await new Promise<void>((wake) => {
        this.#wake.push(wake);
        setTimeout(wake, 1_000).unref();
      });
    }
  }

  /** Every agent that was started so far. */
  get agents(): readonly Puppet[] {
    return this.#puppets;
  }

  /**
   * Opens a session in a workspace: the editor's id, the agent's id and the agent. `result` may add to
   * what the agent answers.
   */
  async session(
    cwd: string,
    agentId: string,
    agent?: Puppet,
    result: Json = {},
  ): Promise<{ id: string; agentId: string; agent: Puppet }> {
    const request = this.ask('session/new', { cwd, mcpServers: [] });
    const served = agent ?? (await this.agent(rootOf(cwd)));
    const received = await served.inbox.next('session/new');
    served.send({ id: received.id, result: { sessionId: agentId, ...result } });
    const response = await this.editor.response(request);
    return { id: (response.result as { sessionId: string }).sessionId, agentId, agent: served };
  }

  /** Closes the editor's side; resolves with the proxy's exit status. */
  async close(): Promise<number | null> {
    this.process.stdin.end();
    return await this.exited();
  }

  /** Resolves with the proxy's exit status once it has ended; null when a signal ended it. */
  async exited(): Promise<number | null> {
    const [status] = await this.#exit!;
    return this.#passage.fault.exit?.(status) ?? status;
  }

  /** Kills the proxy; resolves with all that it has said on stderr, which comes by another pipe than its answers. */
  async lastWords(): Promise<string> {
    this.process.kill('SIGKILL');
    await this.#exit;
    return this.stderr;
  }

  /** Ends everything that was started, whatever its state, and removes the folder. */
  async end(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.#exit;
    for (const each of this.#puppets) each.release();
    this.#server.close();
    if (this.options.folder === undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  async #listen(): Promise<void> {
    this.#server = createServer((socket) => {
      const { agentHello = fullAgent } = this.options;
      const arrival = new Puppet(socket, this.#passage, () => {
        const hello = typeof agentHello === 'function' ? agentHello(arrival) : agentHello;
        if (hello !== false) void arrival.greet(hello);
        this.#puppets.push(arrival);
        this.#arrived.push(arrival);
        const waiting = this.#wake;
        this.#wake = [];
        for (const wake of waiting) wake();
      });
    });
    this.#server.listen(this.#socket);
    await once(this.#server, 'listening');
  }

  #spawn(): void {
    const home = join(this.folder, 'home');
    const config = `[agents.puppet]\ncommand = ["${puppet}"]\n${this.options.config ?? ''}`;
    const changed = this.#passage.fault.config?.(config) ?? config;
    // In one step, as another proxy of the same user may be reading it.
    const begun = this.file('home/.config/containai/.config.toml.new', changed);
    renameSync(begun, join(dirname(begun), 'config.toml'));
    const { cwd = 'own', stdin } = this.options;
    const cai = process.env.CAI_BIN ?? join(repository, 'bin/cai');
    this.process = spawn(process.execPath, [cai, '--acp', ...(this.options.args ?? ['puppet'])], {
      cwd: isAbsolute(cwd) ? cwd : this.workspace(cwd),
      env: {
        PATH: process.env.PATH,
        HOME: home,
        CAI_ACP_DIRECT_SPAWN: '1',
        CAI_PUPPET_SOCKET: this.#socket,
        ...(typeof this.options.env === 'function' ? this.options.env(this) : this.options.env),
      },
      stdio: [stdin ?? 'pipe', 'pipe', 'pipe'],
    }) as ChildProcessWithoutNullStreams;
    this.#exit = once(this.process, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    if (stdin === undefined) this.process.stdin.on('error', () => undefined);
    this.process.stdout.on(
      'data',
      this.#passage.way('toEditor', (chunk) => this.editor.push(chunk)),
    );
    this.process.stdout.on('end', () => this.editor.end(`the proxy has closed its stdout: ${this.stderr}`));
    const heard = this.#passage.fault.stderr ?? ((text) => text);
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += heard(text)));
  }
}

let lastSerial = 0;

/** The file that makes a folder the root of a workspace. */
const marker = '.containai/config.toml';

/** The root of the workspace that a folder lies in, else the folder. */
function rootOf(cwd: string): string {
  if (!existsSync(cwd)) return cwd;
  const folder = realpathSync(cwd);
  for (let root = folder; root !== dirname(root); root = dirname(root)) {
    if (existsSync(join(root, '.git')) || existsSync(join(root, marker))) return root;
  }
  return cwd;
}

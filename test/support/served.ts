/** `bin/cai serve` as a test's user starts it. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { cai } from './cli';

const fixtures = resolve(__dirname, '../../fixtures');
const usualAgents = {
  mock: [process.execPath, join(fixtures, 'mock-acp-server'), '--acp'],
  flood: [process.execPath, join(fixtures, 'agents/floods.mjs'), '--acp'],
};

/** How a server differs from the usual. */
export interface ServedOptions {
  /** The commands of its agents, by name; default: `mock` and `flood`. */
  readonly agents?: Readonly<Record<string, readonly string[]>>;
  /** Where it listens; default: one port of HTTP. */
  readonly listen?: readonly string[];
  /** Further arguments. */
  readonly args?: readonly string[];
  /** More of the user's configuration, TOML; `HOME` in it becomes the user's home. */
  readonly config?: string;
  /** Environment, besides what the user has. */
  readonly env?: NodeJS.ProcessEnv;
}

/** One server. Ended by `end`. */
export class Served {
  /** What it has written to stderr so far. */
  stderr = '';
  #text = '';

  private constructor(
    /** The server. */
    readonly process: ChildProcessByStdio<null, Readable, Readable>,
    /** Of its user. */
    readonly home: string,
  ) {
    process.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    process.stdout.setEncoding('utf8').on('data', (text: string) => (this.#text += text));
  }

  /** Resolves when it listens. */
  static async start(options: ServedOptions = {}): Promise<Served> {
    const { agents = usualAgents, listen = ['127.0.0.1:0'], args = [], config = '', env } = options;
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'cai-served-')));
    const tables = Object.entries(agents).map(
      ([name, command]) => `[agents.${name}]\ncommand = ${JSON.stringify(command)}\n`,
    );
    mkdirSync(join(home, '.config/containai'), { recursive: true });
    writeFileSync(
      join(home, '.config/containai/config.toml'),
      tables.join('') + config.replaceAll('HOME', home),
    );
    const places = listen.flatMap((place) => ['--listen', place.replace('HOME', home)]);
    const names = Object.keys(agents).flatMap((name) => ['--agent', name]);
    const server = spawn(process.execPath, [cai, 'serve', ...places, ...names, ...args], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, CAI_ACP_DIRECT_SPAWN: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const served = new Served(server, home);
    // It names them, and its user's socket, once it listens at all.
    while (served.#text.split('\n').length <= Math.max(1, listen.length)) {
      if (server.exitCode !== null) throw new Error(`the server has ended: ${served.stderr}`);
      await Promise.race([once(server.stdout, 'data'), once(server, 'exit')]);
    }
    return served;
  }

  /** As it has said them so far, in the order of `listen`; then its user's socket. */
  get addresses(): readonly string[] {
    return this.#text.trim().split('\n');
  }

  /** Its first address. */
  get url(): string {
    return this.addresses[0]!;
  }

  /** Its user's `XDG_STATE_HOME`. */
  get stateFolder(): string {
    return join(this.home, '.local/state');
  }

  /** The headers of its owner. */
  get owner(): { authorization: string } {
    const token = readFileSync(join(this.stateFolder, 'containai/serve/token'), 'utf8').trim();
    return { authorization: `Bearer ${token}` };
  }

  /** A folder for a session. */
  workspace(name: string): string {
    const path = join(this.home, 'work', name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** Resolves when it has written something like that to stderr. */
  async said(text: RegExp): Promise<void> {
    while (!text.test(this.stderr)) await once(this.process.stderr, 'data');
  }

  /** Ends it, and removes its home; resolves with its exit status. */
  async end(): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill('SIGTERM');
      await once(this.process, 'close');
    }
    rmSync(this.home, { recursive: true, force: true });
    return this.process.exitCode;
  }
}

/** As `Served.start`, for the tests of one file: what a test has started is ended after it, the last one first. */
export function servedInEachTest(): typeof Served.start {
  const open: Served[] = [];
  afterEach(async () => {
    // It may use the home of another one.
    for (const server of open.splice(0).reverse()) await server.end();
  });
  return async (options) => {
    const server = await Served.start(options);
    open.push(server);
    return server;
  };
}

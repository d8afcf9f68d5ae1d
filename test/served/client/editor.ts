/** An editor that a test plays by hand: it has started `cai connect`. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { cai, userWith } from '../../support/cli';
import { Inbox, type Json } from '../../support/inbox';

/** One editor. */
export class Editor {
  readonly inbox = new Inbox('editor');
  readonly process: ChildProcessWithoutNullStreams;
  stderr = '';
  readonly #ended: Promise<number | null>;
  #lastId = 0;

  /** Starts it with these arguments behind `connect`; `config` is the user's. */
  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}, config = '') {
    const user = userWith(config, env);
    this.process = spawn(process.execPath, [cai, 'connect', ...args], {
      cwd: user.cwd,
      env: { PATH: process.env.PATH, ...user.env },
    });
    const { stdin, stdout, stderr } = this.process;
    stdin.on('error', () => undefined);
    stdout.on('data', (chunk: Buffer) => this.inbox.push(chunk));
    stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#ended = once(this.process, 'close').then(([status]) => {
      this.inbox.end(`cai connect has ended with ${status}: ${this.stderr}`);
      return status as number | null;
    });
  }

  /** Sends a message. */
  send(message: Json): void {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Sends a request; returns its id. */
  ask(method: string, params: Json = {}): number {
    const id = ++this.#lastId;
    this.send({ id, method, params });
    return id;
  }

  /** Sends a request; resolves with its answer. */
  async request(method: string, params: Json = {}): Promise<Json> {
    return await this.inbox.response(this.ask(method, params));
  }

  /** Resolves when it has said more on stderr. */
  async said(): Promise<void> {
    await once(this.process.stderr, 'data');
  }

  /** Closes its end; resolves with the exit status. */
  async leave(): Promise<number | null> {
    this.process.stdin.end();
    return await this.#ended;
  }

  /** Resolves with the exit status. */
  async ended(): Promise<number | null> {
    return await this.#ended;
  }
}

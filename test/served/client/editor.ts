/** Editors that a test plays by hand, in front of `cai connect`. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, type Writable } from 'node:stream';
import { SignIn } from '../../../src/acp/sign-in/sign-in';
import { loadConfig } from '../../../src/config/config';
import { accessTo, EditorConnection, Guard, readAddress } from '../../../src/served/client';
import { Host } from '../../../src/system/host';
import { noLog } from '../../agent/agent-run';
import { cai, userWith } from '../../support/cli';
import { Inbox, type Json } from '../../support/inbox';

abstract class EditorSide {
  readonly inbox = new Inbox('editor');
  #lastId = 0;
  /** What it writes to. */
  abstract readonly input: Writable;

  /** Sends a message. */
  send(message: Json): void {
    this.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
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
}

/** One whose `cai connect` is in the process of the test, which saves a program for each test. */
export class EditorHere extends EditorSide {
  readonly input = new PassThrough();
  readonly #connection: EditorConnection;
  readonly #over: Promise<unknown>;

  /** `config` is the user's; `isTrusted`: as `--trust-server` says. */
  constructor(url: string, config = '', isTrusted = false) {
    super();
    const host = new Host(userWith(config).env!);
    const { acp: limits } = loadConfig(host);
    const address = readAddress(url, undefined, host);
    const access = accessTo(address, { ownTokenFile: '/none', uid: host.user.uid });
    const signIn = new SignIn({ agent: undefined, host, log: noLog });
    const guard = new Guard((answer) => signIn.edits(answer, { root: undefined, editorCapabilities: {} }));
    const output = new PassThrough().on('data', (chunk: Buffer) => this.inbox.push(chunk));
    this.#connection = new EditorConnection(this.input, output, {
      ...{ address, access, limits, log: noLog, guard: isTrusted ? undefined : guard },
    });
    this.#over = this.#connection.run().catch(() => undefined);
  }

  /** Ends it, as a signal does. */
  async end(): Promise<void> {
    this.#connection.end();
    await this.#over;
  }
}

/** One that has started the program. */
export class Editor extends EditorSide {
  readonly process: ChildProcessWithoutNullStreams;
  stderr = '';
  readonly #ended: Promise<number | null>;

  /** Starts it with these arguments behind `connect`; `config` is the user's. */
  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}, config = '') {
    super();
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

  get input(): Writable {
    return this.process.stdin;
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

import type { Socket } from 'node:net';
import type { Passage } from './fault';
import { Inbox, type Expectation, type Json } from './inbox';

/** One started agent, played by the test. */
export class Puppet {
  /** What it has received on its stdin. */
  readonly inbox = new Inbox('agent');
  /** Its first message: what it was started as. */
  hello: { pid: number; cwd: string; argv: string[]; env: string[] } | undefined;
  /** Resolves when its stdin is over. */
  readonly sawEof: Promise<void>;
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>;
  /** Whether it is. */
  isGone = false;
  /** Signals that it has ignored. */
  readonly signals: string[] = [];
  /** The `initialize` that was answered for it. */
  initialize: Json | undefined;
  readonly #heard: (bytes: Buffer) => void;
  readonly #says: (bytes: Buffer) => void;
  #resolveEof: () => void = () => undefined;
  #grandchild: ((pid: number) => void) | undefined;
  #acks: (() => void)[] = [];
  /** The beginning of a line whose end has not come. */
  #pieces: string[] = [];

  /** `onHello` is called when the process says that it is there. */
  constructor(
    private readonly socket: Socket,
    private readonly passage: Passage,
    onHello: () => void,
  ) {
    this.#heard = passage.way('toAgent', (bytes) => this.inbox.push(bytes));
    this.#says = passage.way('fromAgent', (out) => this.order({ out }));
    this.sawEof = new Promise((resolve) => (this.#resolveEof = resolve));
    this.gone = new Promise((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isGone = true;
      this.inbox.end('the agent is gone');
    });
    socket.setEncoding('latin1').on('data', (text: string) => {
      const lines = text.split('\n');
      for (const line of lines.slice(0, -1)) {
        this.#told([...this.#pieces, line].join('').split(' '), onHello);
        this.#pieces = [];
      }
      this.#pieces.push(lines.at(-1)!);
    });
  }

  /** Its working directory. */
  get cwd(): string {
    return this.hello!.cwd;
  }

  /** Its process id. */
  get pid(): number {
    return this.hello!.pid;
  }

  /** Writes to its stdout: an object as a JSON line, or the very bytes. */
  send(message: Json | string | Buffer): void {
    const isRaw = typeof message === 'string' || Buffer.isBuffer(message);
    const bytes = Buffer.from(isRaw ? message : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    this.#says(bytes);
  }

  /** Answers `initialize` when it comes. */
  async greet(result: Json): Promise<void> {
    const request = await this.inbox.next('initialize').catch(() => undefined);
    if (request === undefined) return;
    this.initialize = request;
    this.send({ id: request.id, result });
  }

  /** Answers the next request that fits, with an empty result unless told otherwise; resolves with the request. */
  async answer(expected: Expectation, outcome: Json = { result: {} }): Promise<Json> {
    const request = await this.inbox.next(expected);
    this.send({ id: request.id, ...outcome });
    return request;
  }

  /** Sends `session/update` for one of its sessions. */
  update(sessionId: string, update: Json): void {
    this.send({ method: 'session/update', params: { sessionId, update } });
  }

  /** Sends a text chunk for one of its sessions. */
  say(sessionId: string, text: string): void {
    this.update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  /** Gives orders; see `fixtures/agents/puppet.pl`. */
  order(orders: Readonly<Record<string, Buffer | string | number | boolean>>): void {
    for (const [name, value] of Object.entries(orders)) {
      const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value));
      this.socket.write(`${name} ${bytes.toString('hex')}\n`);
    }
  }

  /** Resolves when it has carried out all orders, and the system has taken all that it wrote. */
  async done(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#acks.push(resolve);
      this.order({ ack: true });
    });
  }

  /**
   * Starts a process below it that outlives it and holds its stdout, in its process group or in a session
   * of its own; resolves with the process id.
   */
  async grandchild(place: 'group' | 'session' = 'group'): Promise<number> {
    const pid = new Promise<number>((resolve) => (this.#grandchild = resolve));
    this.order({ spawn: place });
    return await pid;
  }

  /** Lets go of it: it ends by itself. */
  release(): void {
    this.socket.destroy();
  }

  #told([word, ...values]: string[], onHello: () => void): void {
    const bytes = values.map((value) => Buffer.from(value, 'hex'));
    const [first = '', ...more] = word === 'in' ? [] : bytes.map(String);
    if (word === 'hello') {
      const [cwd = '', argv = '', env = ''] = more;
      this.hello = { pid: Number(first), cwd, argv: partsOf(argv), env: partsOf(env) };
      onHello();
    } else if (word === 'in') {
      this.#heard(bytes[0]!);
    } else if (word === 'eof') {
      if (this.passage.fault.noEof !== true) this.#resolveEof();
    } else if (word === 'signal') {
      this.signals.push(first);
    } else if (word === 'grandchild') {
      this.#grandchild?.(Number(first));
    } else if (word === 'ack') {
      this.#acks.shift()?.();
    }
  }
}

/** The parts of a text that each end with NUL. */
function partsOf(text: string): string[] {
  return text.split('\0').slice(0, -1);
}

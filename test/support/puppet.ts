import type { Socket } from 'node:net';
import { Inbox } from './inbox';
import type { Json } from './inbox';

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
  /** Signals that it has ignored. */
  readonly signals: string[] = [];
  /** The `initialize` that was answered for it. */
  initialize: Json | undefined;
  #resolveEof: () => void = () => undefined;
  #grandchild: ((pid: number) => void) | undefined;
  #acks: (() => void)[] = [];
  #text = '';

  /** `onHello` is called when the process says that it is there. */
  constructor(
    private readonly socket: Socket,
    onHello: () => void,
  ) {
    this.sawEof = new Promise((resolve) => (this.#resolveEof = resolve));
    this.gone = new Promise((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.on('close', () => this.inbox.end('the agent is gone'));
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#text + text).split('\n');
      this.#text = lines.pop()!;
      for (const line of lines) this.#told(JSON.parse(line) as Json, onHello);
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
    this.order({ out: bytes.toString('base64') });
  }

  /** Answers `initialize` when it comes. */
  async greet(result: Json): Promise<void> {
    const request = await this.inbox.next('initialize').catch(() => undefined);
    if (request === undefined) return;
    this.initialize = request;
    this.send({ id: request.id, result });
  }

  /** Sends `session/update` for one of its sessions. */
  update(sessionId: string, update: Json): void {
    this.send({ method: 'session/update', params: { sessionId, update } });
  }

  /** Sends a text chunk for one of its sessions. */
  say(sessionId: string, text: string): void {
    this.update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  /** Gives an order; see `fixtures/agents/puppet.mjs`. */
  order(order: Json): void {
    this.socket.write(`${JSON.stringify(order)}\n`);
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

  #told(message: Json, onHello: () => void): void {
    if (message.pid !== undefined) {
      this.hello = message as unknown as NonNullable<Puppet['hello']>;
      onHello();
    } else if (typeof message.in === 'string') {
      this.inbox.push(Buffer.from(message.in, 'base64'));
    } else if (message.eof === true) {
      this.#resolveEof();
    } else if (typeof message.signal === 'string') {
      this.signals.push(message.signal);
    } else if (typeof message.grandchild === 'number') {
      this.#grandchild?.(message.grandchild);
    } else if (message.ack === true) {
      this.#acks.shift()?.();
    }
  }
}

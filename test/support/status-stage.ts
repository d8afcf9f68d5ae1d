import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { Inbox, type Json } from './inbox';
import { newFolder } from './temp-folder';
import { World, type WorldOptions } from './world';

const repository = resolve(__dirname, '../..');

/** What a test says and hears in the place of one `cai exec`. */
export class StandIn {
  /** What the proxy has written on descriptor 3. */
  readonly inbox = new Inbox('descriptor 3');

  constructor(private readonly socket: Socket) {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => this.inbox.push(bytes));
    socket.on('close', () => this.inbox.end('the command has ended'));
  }

  /** Writes a line on descriptor 3. */
  say(message: Json): void {
    this.socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Asks about a place; resolves with the verdict. */
  async ask(id: number, place: string): Promise<unknown> {
    this.say({ kind: 'asks', id, place });
    const { isAllowed } = await this.inbox.next(({ verdict }) => verdict === id);
    return isAllowed;
  }
}

/** Proxies whose agents run as in containers, but on this machine, with the test on descriptor 3. */
export class StatusStage {
  readonly #folder = newFolder();
  readonly #standIns: StandIn[] = [];
  readonly #server: Server;
  #wake: () => void = () => undefined;

  private constructor() {
    this.#server = createServer((socket) => {
      this.#standIns.push(new StandIn(socket));
      this.#wake();
    });
  }

  /** Starts without a proxy. */
  static async start(): Promise<StatusStage> {
    const stage = new StatusStage();
    stage.#server.listen(join(stage.#folder, 'status'));
    await once(stage.#server, 'listening');
    stage.#makePackage();
    return stage;
  }

  /** Starts a proxy and initializes it. */
  async world(options: WorldOptions = {}): Promise<World> {
    const env = { CAI_ACP_DIRECT_SPAWN: undefined, CAI_STATUS_SOCKET: join(this.#folder, 'status') };
    const { CAI_BIN: before } = process.env;
    process.env.CAI_BIN = join(this.#folder, 'bin/cai');
    try {
      return await World.initialized({ ...options, env });
    } finally {
      if (before === undefined) delete process.env.CAI_BIN;
      else process.env.CAI_BIN = before;
    }
  }

  /** The next command that was started. */
  async standIn(): Promise<StandIn> {
    while (this.#standIns.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#standIns.shift()!;
  }

  end(): void {
    this.#server.close();
  }

  /** A package like ours, whose program is ours for everything but `exec`. */
  #makePackage(): void {
    for (const name of ['dist', 'package.json'])
      symlinkSync(join(repository, name), join(this.#folder, name));
    const ours = readFileSync(join(repository, 'bin/cai'), 'utf8').replace(/^#!.*\n/, '');
    const standIn = JSON.stringify(join(repository, 'fixtures/agents/stand-in.cjs'));
    mkdirSync(join(this.#folder, 'bin'));
    writeFileSync(
      join(this.#folder, 'bin/cai'),
      `if (process.argv[2] === 'exec') require(${standIn});\nelse {\n${ours}\n}\n`,
    );
  }
}

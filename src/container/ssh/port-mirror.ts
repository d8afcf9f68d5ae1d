/**
 * Ports that a command in a container begins to listen on, on the same ports of this machine's loopback address
 * for as long as the command runs: the browser of this machine brings the answer to a sign-in there.
 */
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../errors';
import { startWatcher } from './agent-watch';
import type { SshConnection } from './ssh';
import { openTunnelServer } from '../../system/streams/tunnel-server';

/** What tells of ports in a container. Source: src/container/inside/ports. */
const watcher = '/run/cai/ports';
/** How many ports one command may have here at a time. */
const maxPorts = 4;
/** How many sentences one command may cause about its ports. */
const maxTold = 8;
/** How long what is under way when the command has ended may take to arrive, in milliseconds. */
const lingerMs = 1_000;

type LoopbackAddress = '127.0.0.1' | '::1';
type MirroredConnection = Pick<SshConnection, 'run' | 'openTunnel'>;

export class PortMirror {
  /** By port; undefined for one that cannot be had here. */
  readonly #servers = new Map<number, Server | undefined>();
  readonly #sockets = new Set<Socket>();
  #isClosed = false;
  #told = 0;
  /** One after the other, so that a port is closed before it is opened again. */
  #work: Promise<void> = Promise.resolve();

  private constructor(
    private readonly connection: MirroredConnection,
    private readonly tell: (sentence: string) => void,
  ) {}

  /**
   * Begins to look for ports of whatever else runs on this connection; `tell` is told of those that cannot be
   * mirrored. Rejects with `SSH_CONNECT`.
   */
  static async open(connection: MirroredConnection, tell: (sentence: string) => void): Promise<PortMirror> {
    const mirror = new PortMirror(connection, tell);
    const { exited } = await startWatcher(connection, watcher, (line) => mirror.#take(line));
    // With the connection it ends in silence: then the command has ended, too.
    exited.then(
      () => {
        if (mirror.#isClosed) return;
        tell(
          'a browser of this machine cannot reach the sign-in, if it comes to that: the program in the container that finds its ports has ended; sign in again, or first recreate the container with "cai login --fresh" or "cai rm"',
        );
      },
      () => undefined,
    );
    return mirror;
  }

  /** Ends it; resolves when nothing is listened on any more, and what was under way has arrived or was cut off. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#work;
    const closing = [...this.#servers.values()].map(
      async (server) => await new Promise<void>((done) => server?.close(() => done()) ?? done()),
    );
    const cutOff = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, lingerMs);
    await Promise.all(closing);
    clearTimeout(cutOff);
  }

  #take(line: string): void {
    const [, sign, digits, rest] = /^([+-])(\d{4,5})(?: (.*))?$/.exec(line) ?? [];
    const port = Number(digits);
    if (!(port >= 1024 && port <= 65_535)) return;
    const addresses = (rest ?? '').split(' ').filter((each) => each === '127.0.0.1' || each === '::1');
    this.#work = this.#work.then(() => (sign === '-' ? this.#drop(port) : this.#add(port, addresses)));
  }

  async #add(port: number, addresses: readonly LoopbackAddress[]): Promise<void> {
    if (this.#isClosed || this.#servers.has(port)) return;
    if (this.#servers.size >= maxPorts) {
      this.#tell(`the sign-in listens on more than ${maxPorts} ports: ${port} is not on this machine`);
      return;
    }
    try {
      // That nothing answers is shown by the browser.
      const unanswered = () => undefined;
      const server = await openTunnelServer(port, () => this.#reach(port, addresses), unanswered);
      server.on('connection', (socket) => {
        this.#sockets.add(socket);
        socket.on('close', () => this.#sockets.delete(socket));
      });
      this.#servers.set(port, server);
    } catch (reason) {
      this.#servers.set(port, undefined);
      const isBusy = (reason as NodeJS.ErrnoException).code === 'EADDRINUSE';
      const why = isBusy ? 'is in use by another program' : `cannot be used (${messageOf(reason)})`;
      this.#tell(
        `127.0.0.1:${port} ${why}, so the browser cannot bring its answer to the sign-in: end that program and sign in again`,
      );
    }
  }

  #tell(sentence: string): void {
    if (this.#told++ < maxTold) this.tell(sentence);
  }

  #drop(port: number): void {
    this.#servers.get(port)?.close();
    this.#servers.delete(port);
  }

  async #reach(port: number, [first = '127.0.0.1', second]: readonly LoopbackAddress[]): Promise<Duplex> {
    const tunnel = this.connection.openTunnel(port, first);
    return await (second === undefined
      ? tunnel
      : tunnel.catch(() => this.connection.openTunnel(port, second)));
  }
}

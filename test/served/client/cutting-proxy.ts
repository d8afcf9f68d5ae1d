/** A way to a server that breaks after a number of bytes, at whatever place of a message that is. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** After how many bytes a connection breaks: to the server, and from it. */
export interface Cut {
  readonly to: number;
  readonly from: number;
  /** After how many bytes nothing comes from the server any more, while the connection stays. */
  readonly silentFrom?: number;
  /** The same for bytes to the server. */
  readonly silentTo?: number;
  /**
   * Who notices, and how. `ends` (default): what has passed arrives, then both ends are told that it is over. `resets`:
   * both, at once. `leaves`: the client alone; for the server the connection stays, and is silent. `late`: as `leaves`,
   * but what the client had sent arrives when the server turns to another socket.
   */
  readonly how?: 'ends' | 'resets' | 'leaves' | 'late';
}

/** In the frame that closes a WebSocket of `cai serve` because another has taken its place: the code 4000. */
const replaced = Buffer.from([0x0f, 0xa0]);

/** Passes bytes on. */
export class CuttingProxy {
  /** Connections that were broken. */
  broken = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** `nextCut` tells for each new connection where it breaks; `undefined`: nowhere. */
  constructor(
    public port: number,
    nextCut: () => Cut | undefined,
  ) {
    this.#server = createServer((client) =>
      this.#join(client, nextCut() ?? { to: Infinity, from: Infinity }),
    );
  }

  /** Listens; returns the port. */
  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this.listensAt;
  }

  /** The port, once it listens. */
  get listensAt(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Also ends the connections that are left. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket, cut: Cut): void {
    const server = connect(this.port, '127.0.0.1');
    const isForClientAlone = cut.how === 'leaves' || cut.how === 'late';
    let isBroken = false;
    let late: Buffer | undefined;
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const [from, to, limit, silent] of [
      [client, server, cut.to, cut.silentTo],
      [server, client, cut.from, cut.silentFrom],
    ] as const) {
      this.#sockets.add(from);
      let left = limit;
      let passed = 0;
      from.on('data', (chunk: Buffer) => {
        if (isBroken) {
          if (late !== undefined && chunk.includes(replaced)) server.write(late);
          return;
        }
        const isSilent = passed >= (silent ?? Infinity);
        passed += chunk.length;
        if (!isSilent && !to.write(chunk.subarray(0, left))) {
          from.pause();
          to.once('drain', () => from.resume());
        }
        left -= chunk.length;
        if (left > 0) return;
        isBroken = true;
        if (cut.how === 'late' && from === client) late = chunk.subarray(chunk.length + left);
        this.broken++;
        from.resume();
        this.#break(client, server, to, cut.how);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        if (!isBroken || (isForClientAlone && from === server)) end();
      });
    }
  }

  #break(client: Socket, server: Socket, to: Socket, how: Cut['how']): void {
    if (how === 'resets') {
      client.resetAndDestroy();
      server.resetAndDestroy();
    } else if (how === 'leaves' || how === 'late') {
      server.resume();
      client.destroySoon();
    } else {
      // What was written goes out, and no more.
      to.once('finish', () => {
        client.destroy();
        server.destroy();
      });
      to.end();
      (to === client ? server : client).destroy();
    }
  }
}

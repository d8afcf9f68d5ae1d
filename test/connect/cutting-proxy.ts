/** A way to a server that breaks after a number of bytes, at whatever place of a message that is. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';

/** After how many bytes a connection breaks: to the server, and from it. */
export interface Cut {
  readonly to: number;
  readonly from: number;
  /** After how many bytes nothing comes from the server any more, while the connection stays. */
  readonly silentFrom?: number;
}

/** Passes bytes on. */
export class CuttingProxy {
  /** Connections that were broken. */
  broken = 0;
  readonly #server: Server;

  /** `nextCut` tells for each new connection where it breaks; `undefined`: nowhere. */
  constructor(
    public port: number,
    nextCut: () => Cut | undefined,
  ) {
    this.#server = createServer((client) => {
      const cut = nextCut() ?? { to: Infinity, from: Infinity };
      const server = connect(this.port, '127.0.0.1');
      let isBroken = false;
      const end = (): void => {
        client.destroy();
        server.destroy();
      };
      for (const [from, to, limit] of [
        [client, server, cut.to],
        [server, client, cut.from],
      ] as const) {
        let left = limit;
        let passed = 0;
        from.on('data', (chunk: Buffer) => {
          const isSilent = from === server && passed >= (cut.silentFrom ?? Infinity);
          passed += chunk.length;
          if (!isSilent) to.write(chunk.subarray(0, left));
          left -= chunk.length;
          if (left > 0 || isBroken) return;
          isBroken = true;
          this.broken++;
          // What was written goes out, and no more.
          to.end();
          from.destroy();
          to.once('finish', end);
        });
        from.on('error', end);
        from.on('close', end);
      }
    });
  }

  /** Listens; returns the port. */
  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }
}

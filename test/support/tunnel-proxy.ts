/** A proxy that leads wherever it is asked to, by HTTP CONNECT, for whoever knows its password. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

const user = 'me:secret';

export class TunnelProxy {
  /** The places that were asked for, as `HOST:PORT`. */
  readonly asked: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer().on('connect', (request: IncomingMessage, near: Socket) =>
    this.#lead(request, near),
  );

  static async start(): Promise<TunnelProxy> {
    const proxy = new TunnelProxy();
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  /** As a configuration names it. */
  get url(): URL {
    return new URL(`http://${user}@127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  async end(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #lead({ url = '', headers }: IncomingMessage, near: Socket): void {
    this.#keep(near);
    if (headers['proxy-authorization'] !== `Basic ${Buffer.from(user).toString('base64')}`) {
      near.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    this.asked.push(url);
    const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(url)!;
    const far = connect(Number(port), host, () => near.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    this.#keep(far);
    near.pipe(far).pipe(near);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const)
      socket.on('close', () => other.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  }
}

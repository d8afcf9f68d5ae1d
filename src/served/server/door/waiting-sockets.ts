/** Sockets by which nobody has been let in: few, so that strangers who hold many keep nobody else out. */
import type { Socket } from 'node:net';
import { networkOf } from './failures';

/** A connection, which TLS and HTTP/2 wrap in other sockets. */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

export class WaitingSockets {
  /** The oldest first. */
  readonly #waiting = new Map<string, { readonly socket: Socket; readonly network: string }>();

  /** More than `most` do not wait. */
  constructor(private readonly most: number) {}

  /** It waits until somebody is let in by it, or it is closed. Where that are too many, one goes: see `#oldest`. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#waiting.set(key, { socket, network: networkOf(socket.remoteAddress ?? '') });
    socket.on('close', () => {
      if (this.#waiting.get(key)?.socket === socket) this.#waiting.delete(key);
    });
    if (this.#waiting.size > this.most) this.#oldest().destroy();
  }

  letIn(socket: Ends): void {
    this.#waiting.delete(keyOf(socket));
  }

  /** Of the network that has most of them, so that who opens many elsewhere does not end anybody's handshake. */
  #oldest(): Socket {
    const oldest = new Map<string, { socket: Socket; count: number }>();
    for (const { socket, network } of this.#waiting.values()) {
      const { socket: first = socket, count = 0 } = oldest.get(network) ?? {};
      oldest.set(network, { socket: first, count: count + 1 });
    }
    return [...oldest.values()].reduce((most, each) => (each.count > most.count ? each : most)).socket;
  }
}

function keyOf({ remoteAddress, remotePort, localPort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

/** The attacker's own server outside of the containers, on this machine, and what a container says to it. */
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { listening } from '../support/listening';
import type { Place, PlaceRun } from '../engine/place';
import type { Ended } from '../engine/running';

/** What an attack sends. */
export const stolen = 'STOLEN';

/** Addresses of this machine that others can connect to, as far as it has any. */
export const ownAddresses = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .filter(({ internal, family, address }) => !internal && (family === 'IPv4' || !address.startsWith('fe80:')))
  .map(({ address }) => address);

/** The port of a server on this machine's loopback address, which says that to each connection, and ends with the test. */
export const saying = (text: string): Promise<number> =>
  listening(createServer((socket) => socket.on('error', () => undefined).end(text)));

/** What every attack has: where it may steal to, and its proxy, if it has one. */
const prelude = `import json, os, socket, subprocess, sys
port, addresses = int(sys.argv[1]), json.loads(sys.argv[2])
proxy = ('127.0.0.1', int((os.environ.get('https_proxy') or ':0').rsplit(':', 1)[1]))
def say(data, to=proxy):
    try:
        with socket.create_connection(to, 3) as s:
            s.settimeout(5)
            s.sendall(data.encode('latin1') if isinstance(data, str) else data)
            heard = b''
            while True:
                part = s.recv(65536)
                if not part: return heard.decode('latin1')
                heard += part
    except OSError as error: return (heard if 'heard' in dir() else b'').decode('latin1')
`;

/** Listens for TCP and UDP on all addresses. It answers each connection as HTTP, and says `REACHED`. */
export class Outside {
  /** For both. */
  port = 0;
  readonly #tcp = createServer({ allowHalfOpen: false }, (socket) => this.#take(socket));
  readonly #udp = createSocket({ type: 'udp6', ipv6Only: false });
  readonly #sockets = new Set<Socket>();
  #heard = '';

  /** `answer`: what it says to a request that has begun so. */
  constructor(
    private readonly answer: (request: string) => string = () =>
      'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nREACHED',
  ) {}

  /** Begins to listen, and ends that behind the last test. */
  static of(answer?: (request: string) => string): Outside {
    const outside = new Outside(answer);
    beforeAll(() => outside.#listen());
    afterAll(() => outside.#close());
    return outside;
  }

  /** What an attack in the container of a place, a script of Python, has told this server or heard from it. */
  async heardOf(place: Place, script: string, run?: PlaceRun): Promise<{ heard: string; ended: Ended }> {
    this.#heard = '';
    const args = [String(this.port), JSON.stringify(ownAddresses)];
    const ended = await place.run(['python3', '-c', prelude + script, ...args], run);
    await this.#caughtUp();
    return { heard: this.#heard.replaceAll(/mark of \w+/g, ''), ended };
  }

  /** How many connections are open. */
  get open(): number {
    return this.#sockets.size;
  }

  async #listen(): Promise<void> {
    this.#tcp.listen(0, '::');
    await once(this.#tcp, 'listening');
    this.port = (this.#tcp.address() as AddressInfo).port;
    this.#udp.on('message', (message, { port, address }) => {
      this.#heard += message.toString('latin1');
      this.#udp.send('REACHED', port, address);
    });
    this.#udp.bind(this.port, '::');
    await once(this.#udp, 'listening');
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk) => {
      this.#heard += chunk.toString('latin1');
      const answer = this.answer(chunk.toString('latin1'));
      if (answer !== '') socket.end(answer, 'latin1');
    });
  }

  /** What was sent before is heard before this is. */
  async #caughtUp(): Promise<void> {
    const [byUdp, byTcp] = ['mark of datagrams', 'mark of streams'];
    const socket = connect(this.port, '127.0.0.1', () => socket.end(byTcp));
    const sender = createSocket('udp4');
    sender.send(byUdp, this.port, '127.0.0.1');
    while (![byUdp, byTcp].every((mark) => this.#heard.includes(mark)))
      await new Promise((done) => setImmediate(done));
    sender.close();
    socket.destroy();
  }

  #close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#tcp.close();
    this.#udp.close();
  }
}

/**
 * An API server that adds containers to every pod, as the admission webhook of a service mesh has it do. It stands before the
 * real one, because that of the cluster for tests, which an old library is part of, does not survive a webhook.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request, type RequestOptions } from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Cluster } from '../../src/container/engine/kubernetes/api/kubeconfig';
import { certificate } from '../support/certificate';

interface PodBody {
  readonly spec: {
    readonly containers: { readonly image: string }[];
    readonly initContainers: object[];
  };
}

export class InjectingFront {
  /** Names of the containers that it adds: one that runs beside the others, and one before them. */
  readonly names = ['mesh', 'mesh-init'] as const;
  readonly #certificate = certificate();
  readonly #server = createServer({
    cert: this.#certificate.cert,
    key: readFileSync(this.#certificate.keyFile),
  });

  private constructor(private readonly cluster: Cluster) {}

  /** Before a cluster, where all requests are of those credentials. */
  static async start(cluster: Cluster): Promise<InjectingFront> {
    const front = new InjectingFront(cluster);
    const server = front.#server;
    server.on(
      'request',
      (asked: IncomingMessage, response: ServerResponse) => void front.#pass(asked, response),
    );
    server.on('upgrade', (asked: IncomingMessage, near: Duplex) => void front.#upgrade(asked, near));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return front;
  }

  /** As a kubeconfig in JSON, which is YAML. */
  get kubeconfig(): string {
    const data = Buffer.from(this.#certificate.cert).toString('base64');
    return JSON.stringify({
      'current-context': 'front',
      contexts: [{ name: 'front', context: { cluster: 'front', user: 'front' } }],
      clusters: [{ name: 'front', cluster: { server: this.#url, 'certificate-authority-data': data } }],
      users: [{ name: 'front', user: { token: 'any' } }],
    });
  }

  /** As an engine is given it. */
  get behind(): Cluster {
    return { ...this.cluster, server: this.#url, tls: { ca: Buffer.from(this.#certificate.cert) } };
  }

  end(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get #url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #to({ method, url, headers }: IncomingMessage): Promise<RequestOptions> {
    const { hostname, port } = new URL(this.cluster.server);
    const { cert, key } = await this.cluster.credentials();
    return {
      ...this.cluster.tls,
      host: hostname,
      port,
      method,
      path: url,
      headers: withoutToken(headers),
      cert,
      key,
      agent: false,
    };
  }

  async #pass(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const isPod = asked.method === 'POST' && asked.url?.endsWith('/pods') === true;
    const body = await buffer(asked);
    const sent = isPod ? this.#injected(body) : body;
    const options = await this.#to(asked);
    const headers = { ...asked.headers, 'content-length': String(sent.length) };
    const passed = request({ ...options, headers: withoutToken(headers) }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.on('error', () => response.destroy()).pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    passed.end(sent);
  }

  async #upgrade(asked: IncomingMessage, near: Duplex): Promise<void> {
    const passed = request(await this.#to(asked));
    near.on('error', () => passed.destroy());
    passed.on('error', () => near.destroy());
    passed.on('upgrade', ({ rawHeaders }, far, head) => {
      const lines = rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : [],
      );
      near.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`);
      near.write(head);
      far
        .on('error', () => near.destroy())
        .pipe(near)
        .pipe(far);
      far.on('close', () => near.destroy());
      near.on('close', () => far.destroy());
    });
    passed.end();
  }

  #injected(body: Buffer): Buffer {
    const pod = JSON.parse(body.toString()) as PodBody;
    const { image } = pod.spec.containers[0]!;
    const [beside, before] = this.names;
    const command = ['sh', '-c', 'trap exit TERM; sleep infinity & wait'];
    pod.spec.containers.push({ ...{ name: beside, command }, image });
    pod.spec.initContainers.unshift({ name: before, image, command: ['true'] });
    return Buffer.from(JSON.stringify(pod));
  }
}

/** The credentials are those of whoever stands behind. */
function withoutToken(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));
}

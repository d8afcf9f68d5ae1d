/** A server that speaks as an API server does, for what a real one cannot be made to do. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Cluster } from '../../../../../src/container/engine/kubernetes/api/kubeconfig';
import type { Credentials } from '../../../../../src/container/engine/kubernetes/api/exec-plugin';
import { certificate } from '../../../../support/certificate';

/** A request that has come. */
export interface Asked {
  readonly title: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** Answers one request. */
export type Answer = (response: ServerResponse, asked: Asked) => void;

/** Answers requests as a test says; it asks for `/version` are answered at once. */
export class PlayedApi {
  readonly asked: Asked[] = [];
  /** Answers all requests but those for a sign of life. */
  answer: Answer = (response) => json(response, {});
  /** Whether it gives signs of life. */
  isThere = true;
  /** Of the client, in turn; the last stays. */
  credentials: Credentials[] = [{ token: 'first' }];
  /** What was refused before, at each time that credentials were taken. */
  readonly taken: (Credentials | undefined)[] = [];

  private constructor(
    readonly server: Server,
    readonly cert: string,
  ) {}

  static async start(): Promise<PlayedApi> {
    const { cert, keyFile } = certificate();
    const server = createServer({ cert, key: readFileSync(keyFile) });
    const api = new PlayedApi(server, cert);
    server.on(
      'request',
      (request: IncomingMessage, response: ServerResponse) => void api.#take(request, response),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return api;
  }

  /** As a kubeconfig would name it. */
  get cluster(): Cluster {
    return {
      context: 'played',
      server: this.url,
      namespace: 'ours',
      tls: { ca: Buffer.from(this.cert) },
      credentials: (refused) => {
        this.taken.push(refused);
        return Promise.resolve(
          this.credentials.length > 1 ? this.credentials.shift()! : this.credentials[0]!,
        );
      },
    };
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** As far as they are known: method and path. */
  get titles(): readonly string[] {
    return this.asked.map(({ title }) => title);
  }

  /** Gives these answers, one after the other. */
  answers(...answers: readonly Answer[]): void {
    const left = [...answers];
    this.answer = (response, asked) => left.shift()!(response, asked);
  }

  async end(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/version') {
      if (this.isThere) json(response, {});
      return;
    }
    const body = await text(request);
    const asked = {
      title: `${request.method ?? ''} ${request.url ?? ''}`,
      headers: request.headers,
      body: body === '' ? undefined : (JSON.parse(body) as unknown),
    };
    this.asked.push(asked);
    this.answer(response, asked);
  }
}

export function json(response: ServerResponse, body: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Source: Kubernetes API conventions, "Response Status Kind". */
export function status(code: number, reason: string, message: string, kind?: string): object {
  const details = kind === undefined ? {} : { details: { kind } };
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, ...details };
}

/** As when the server is killed. */
export function cut(response: ServerResponse): void {
  response.socket!.destroy();
}

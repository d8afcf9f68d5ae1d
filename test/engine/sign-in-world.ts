/** The services at which agents sign in, on the port of HTTPS of a loopback address of this machine. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { createSecureContext, type SecureContext } from 'node:tls';
import { authorityOf, identityFor, type Identity } from '../../src/network/keys/authority';
import { newFolder } from '../support/temp-folder';
import { folder, ownFile } from './support';

/** What came to one of the hosts, and how it was answered. */
export interface Asked {
  readonly host: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
}

/** What `fixtures/fake-sign-in` plays. */
interface Fake {
  readonly hosts: readonly string[];
  readonly given: ReadonlySet<string>;
  readonly endAccess: () => void;
  readonly answer: (asked: Omit<Asked, 'status'>) => Answer | undefined;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Only root can open it. */
export class SignInWorld {
  /** All that came, oldest first. */
  readonly asked: Asked[] = [];
  /** Before this, nothing is answered. */
  until: Promise<unknown> = Promise.resolve();
  readonly #contexts = new Map<string, Promise<SecureContext>>();
  readonly #authority = authorityOf(newFolder());
  #fakes: readonly Fake[] = [];
  #servers: Server[] = [];

  /** `address`: no other test file has it. */
  constructor(private readonly address: string) {}

  /** Begins to listen, and has `cai` trust it. `more`: ports for TLS besides 443, and 80 for HTTP. */
  async open(more: readonly number[] = []): Promise<void> {
    const load = (name: string) => import(resolve(__dirname, '../../fixtures/fake-sign-in', `${name}.mjs`));
    this.#fakes = (await Promise.all(['claude-gemini', 'codex-copilot'].map(load))) as Fake[];
    for (const port of [443, ...more]) await this.#listen(port);
    const { cert } = await this.#authority;
    const { CAI_TEST_CA_FILE: machines } = process.env;
    const file = join(folder, 'world.pem');
    ownFile(file, `${machines === undefined ? '' : readFileSync(machines, 'utf8')}\n${cert}`);
    process.env.CAI_TEST_CA_FILE = file;
  }

  /** Listens no more, and ends what is open. */
  close(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }

  /** What `container.extra_hosts` has for `cai` to find it. */
  get extraHosts(): string[] {
    return this.#fakes.flatMap(({ hosts }) => hosts.map((host) => `${host}:${this.address}`));
  }

  /** Every token and key that it ever gave out. */
  get given(): string[] {
    return this.#fakes.flatMap(({ given }) => [...given]);
  }

  /** Ends all access tokens before their time. */
  endAccess(): void {
    for (const { endAccess } of this.#fakes) endAccess();
  }

  /** The page of a sign-in, in a browser, for somebody who agrees; where that leads. */
  visit(url: string): URL {
    const { host, pathname, search } = new URL(url);
    const plain = { host, method: 'GET', path: pathname + search, headers: {}, body: '' };
    return new URL(this.#answer(plain).headers.location!);
  }

  /** The requests that came to an address without its query. */
  at(address: string): Asked[] {
    return this.asked.filter(({ host, path }) => `${host}${path.split('?', 1).join()}` === address);
  }

  async #listen(port: number): Promise<void> {
    const { key, cert } = await this.#authority;
    const SNICallback: https.ServerOptions['SNICallback'] = (host, done) => {
      this.#contextOf(host).then(
        (context) => done(null, context),
        (reason: unknown) => done(reason as Error),
      );
    };
    const server =
      port === 80
        ? http.createServer()
        : https.createServer({ SNICallback, key, cert, joinDuplicateHeaders: true });
    // An agent that ends cuts off what it is sending.
    server.on(
      'request',
      (request, response) => void this.#serve(request, response).catch(() => response.destroy()),
    );
    this.#servers.push(server);
    await once(server.listen(port, this.address), 'listening');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const headers = request.headers as Record<string, string>;
    const got = {
      host: headers.host!.replace(/:\d+$/, ''),
      method,
      path,
      headers,
      body: await text(request),
    };
    await this.until;
    const answer = this.#answer(got);
    this.asked.push({ ...got, status: answer.status });
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  #answer(got: Omit<Asked, 'status'>): Answer {
    const fake = this.#fakes.find(({ hosts }) => hosts.includes(got.host));
    return fake?.answer(got) ?? { status: 404, headers: {}, body: '' };
  }

  #contextOf(host: string): Promise<SecureContext> {
    let context = this.#contexts.get(host);
    if (context === undefined) {
      const made = this.#authority.then((authority: Identity) => identityFor(host, authority));
      this.#contexts.set(host, (context = made.then(createSecureContext)));
    }
    return context;
  }
}

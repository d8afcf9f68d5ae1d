/**
 * The server of `cai inspect`: a page for one browser on this machine that shows a recording. As with `cai serve`, files
 * are for everybody on the machine, and all else for who has redeemed the ticket in the link.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CaiError, messageOf } from '../../../errors';
import type { JsonObject } from '../../../rpc/json';
import { Browsers } from '../door/browsers';
import { factsOf, type Facts, type Request } from '../door/request-rules';
import { isRefusal } from '../door/visitor';
import { Bodies, isJson } from '../http/body';
import { HttpError, statusOf } from '../http/http-error';
import { sendFile, sendJson, type PageFiles } from '../page/page-files';

const files: PageFiles = {
  '/': ['inspect.html', 'text/html'],
  '/page/inspect.js': ['inspect.js', 'text/javascript'],
  '/page/inspect.css': ['inspect-style.css', 'text/css'],
  '/page/style.css': ['style.css', 'text/css'],
};

const address = '127.0.0.1';
const names = { listens: new Set([address]), hosts: [], origins: [], isBehindProxy: false, proxyHeaders: [] };
/** Questions of the page are short. */
const maxBodyBytes = 4_096;
/** How long a client may take for its headers and for a whole request, in milliseconds. */
const headersTimeout = 10_000;
const requestTimeout = 30_000;
/** Pages that read at once, such as tabs; the oldest makes room. */
const maxReaders = 8;
const reader = { name: 'reader' };

/** What is shown. All answers are sent as JSON. */
export interface Inspected {
  /** What is known of it as a whole. */
  readonly about: object;
  /** A function that gives the next rows with each call, from the first on. */
  reader(): () => Promise<object>;
  /** What stands in so many bytes at an offset. */
  message(at: number, bytes: number): Promise<object>;
  /** What a part of it that begins with a line, at its offset, has of a text. */
  search(text: string, at: number, line: number): Promise<object>;
}

/** Serves one recording, until `close`. */
export class InspectServer {
  readonly #bodies = new Bodies(maxBodyBytes);
  readonly #readers = new Map<number, () => Promise<object>>();
  readonly #server: Server;
  #browsers: Browsers | undefined;
  #lastReader = 0;

  constructor(private readonly inspected: Inspected) {
    this.#server = createServer({ headersTimeout, requestTimeout }, (request, response) => {
      this.#serve(request, response).catch((reason: unknown) => fail(response, reason));
    });
  }

  /** Listens on a free port of this machine; resolves with a link that lets a browser in, once and within five minutes. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      // Later ones, such as too many open files, end nothing.
      this.#server.on('error', (reason) =>
        reject(new CaiError('USAGE', `cannot listen on ${address}: ${messageOf(reason)}`)),
      );
      this.#server.listen(0, address, resolve);
    });
    const { port } = this.#server.address() as AddressInfo;
    // Servers of one host share its cookies.
    const options = { name: `cai-inspect-${port}`, isBehindProxy: false, now: () => performance.now() };
    this.#browsers = new Browsers(options);
    return `http://${address}:${port}/#ticket=${this.#browsers.newTicket(reader)}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: Request, response: ServerResponse): Promise<void> {
    const facts = factsOf(request, names, false);
    if (isRefusal(facts))
      throw new HttpError(
        facts.status,
        'Open the link that cai inspect has printed, in a browser of this machine.',
      );
    const { method, url = '/' } = request;
    const path = url.split('?', 1)[0]!;
    if (Object.hasOwn(files, path) && (method === 'GET' || method === 'HEAD')) {
      sendFile(request, response, files[path]!);
      return;
    }
    if (method !== 'POST') throw new HttpError(404, 'there is nothing at this path');
    if (!isJson(request)) throw new HttpError(415, 'the body has the type application/json');
    const signsIn = path === '/page/sign-in';
    if (!signsIn && this.#browsers!.visitorOf(request, facts) === undefined)
      throw new HttpError(401, 'You are not signed in: start cai inspect again, and open its link.');
    const body = await this.#bodies.readObject(request, reader);
    if (signsIn) this.#signIn(request, response, facts, body);
    else sendJson(response, await this.#answer(path, body));
  }

  #signIn(request: Request, response: ServerResponse, facts: Facts, { ticket }: JsonObject): void {
    const redeemed = this.#browsers!.redeem(typeof ticket === 'string' ? ticket : '', request, facts);
    if (redeemed === undefined)
      throw new HttpError(
        401,
        'That link has been used, or is older than five minutes: start cai inspect again.',
      );
    sendJson(response, { key: redeemed.key }, redeemed.cookie);
  }

  async #answer(path: string, body: JsonObject): Promise<object> {
    const { at, bytes, line, text, reader: id } = body;
    if (path === '/inspect/open') return this.#open();
    if (path === '/inspect/rows') {
      const next = this.#readers.get(id as number);
      if (next === undefined) throw new HttpError(410, 'Too many pages are open: load this one again.');
      return await next();
    }
    if (path === '/inspect/message' && isCount(at) && isCount(bytes))
      return await this.inspected.message(at, bytes);
    if (path === '/inspect/search' && typeof text === 'string' && isCount(at) && isCount(line))
      return await this.inspected.search(text, at, line);
    throw new HttpError(404, 'there is nothing at this path');
  }

  #open(): object {
    this.#readers.set(++this.#lastReader, this.inspected.reader());
    if (this.#readers.size > maxReaders) this.#readers.delete(this.#readers.keys().next().value!);
    return { reader: this.#lastReader, about: this.inspected.about };
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function fail(response: ServerResponse, reason: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(statusOf(reason), { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${messageOf(reason)}\n`);
}

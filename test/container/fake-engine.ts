/** A server on a Unix socket that answers as an engine would, for what no engine at hand does. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { join } from 'node:path';
import type { EngineAddress } from '../../src/container/engine/docker/context';
import { newFolder } from '../support/temp-folder';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** Answers a request, by `METHOD path`, or by `METHOD` and the path without its version. */
export type Answers = Readonly<Record<string, Answer | ((response: ServerResponse) => void)>>;

/** What is answered; an object as JSON. */
export interface Answer {
  /** Status of HTTP; default: 200. */
  readonly status?: number;
  /** Besides those that are always there. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: nothing. */
  readonly body?: unknown;
}

/** An engine that is not one. */
export interface FakeEngine {
  /** Where it is. */
  readonly address: EngineAddress;
  /** What it was asked so far: `METHOD path?query`. */
  readonly requests: readonly string[];
  /** The headers of these. */
  readonly headers: readonly IncomingHttpHeaders[];
}

/** Starts it. Whatever has no answer is answered with 404; the server ends with the test. */
export async function fakeEngine(answers: Answers): Promise<FakeEngine> {
  const socketPath = join(newFolder(), 'engine.sock');
  const requests: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    request.resume();
    request.once('end', () => respond(answers, request, response));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return { address: addressOf(socketPath), requests, headers };
}

/** The address of a socket. */
export function addressOf(socketPath: string): EngineAddress {
  return { context: 'default', endpoint: `unix://${socketPath}`, options: { socketPath } };
}

function respond(answers: Answers, { method, url }: IncomingMessage, response: ServerResponse): void {
  const path = url!.replace(/\?.*/, '');
  const answer =
    answers[`${method} ${path}`] ?? answers[`${method} ${path.replace(/^\/v1\.\d+/, '')}`] ?? { status: 404, body: { message: 'page not found' } }; // prettier-ignore
  if (typeof answer === 'function') {
    answer(response);
    return;
  }
  const { status = 200, headers = {}, body } = answer;
  response.writeHead(status, headers);
  response.end(typeof body === 'object' ? JSON.stringify(body) : body);
}

import { chownSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { folder, user } from './support';

/** Where a test steps in between `cai` and the engine. */
export interface Interference {
  /** Of the requests of this method and path ... */
  readonly request: RegExp;
  /** ... what to do when the engine has answered one, before `cai` hears of it. */
  readonly whenAnswered: (title: string) => Promise<void>;
}

/** An engine that can be frozen. */
export interface FreezingEngine {
  /** Its address, as of `interferingEngine`. */
  readonly address: string;
  /** From the next request on that is like this, it has done what it was asked for, and answers nothing any more. */
  freezeAt(request: RegExp): void;
  /** It goes on. */
  thaw(): void;
}

let last = 0;

/** The real engine, as if its process were stopped from some point on: then it takes requests, and answers none. */
export async function freezingEngine(): Promise<FreezingEngine> {
  let at: RegExp | undefined;
  let frozen: Promise<void> | undefined;
  let thaw = (): void => undefined;
  const whenAnswered = async (title: string): Promise<void> => {
    if (frozen === undefined && at?.test(title) === true)
      frozen = new Promise((resolve) => {
        thaw = () => {
          at = frozen = undefined;
          resolve();
        };
      });
    await frozen;
  };
  const address = await interferingEngine({ request: /^/, whenAnswered });
  return { address, freezeAt: (request) => (at = request), thaw: () => thaw() };
}

/**
 * The address of an engine that is the real one, but for what happens in between. Ends with the test file.
 * `request` is matched with `POST /containers/create?name=x`, without the version.
 */
export async function interferingEngine({ request: wanted, whenAnswered }: Interference): Promise<string> {
  const path = join(folder, `engine-${++last}.sock`);
  const interfere = async (from: IncomingMessage): Promise<void> => {
    const title = `${from.method} ${from.url?.replace(/^\/v[0-9.]+/, '')}`;
    if (wanted.test(title)) await whenAnswered(title);
  };
  const server = createServer((from, to) => void pass(from, to, () => interfere(from)));
  server.on('upgrade', (from, to, head) => void passConnection(from, { to, head }, () => interfere(from)));
  server.listen(path);
  await once(server, 'listening');
  chownSync(path, user.uid, user.gid);
  server.unref();
  return `unix://${path}`;
}

const engineSocket = new URL(process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').pathname;

/** A request whose answer is the connection itself. */
async function passConnection(
  from: IncomingMessage,
  { to, head }: { readonly to: Duplex; readonly head: Buffer },
  before: () => Promise<void>,
): Promise<void> {
  const engine = connect(engineSocket);
  for (const [one, other] of [[engine, to], [to, engine]] as const) one.on('error', () => other.destroy()); // prettier-ignore
  const headers = Object.entries(from.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  engine.write(`${from.method} ${from.url} HTTP/1.1\r\n${headers.join('')}\r\n`);
  engine.write(head);
  to.pipe(engine);
  await once(engine, 'readable').catch(() => undefined);
  await before();
  engine.pipe(to);
}

async function pass(from: IncomingMessage, to: ServerResponse, before: () => Promise<void>): Promise<void> {
  const onward = request({
    socketPath: engineSocket,
    method: from.method,
    path: from.url,
    headers: from.headers,
  });
  from.pipe(onward);
  to.on('close', () => onward.destroy());
  onward.on('error', () => to.destroy());
  const [answer] = (await once(onward, 'response').catch(() => [])) as [IncomingMessage?];
  if (answer === undefined) return;
  await before();
  to.writeHead(answer.statusCode ?? 500, answer.headers);
  answer.pipe(to);
}

/*
 * A stand-in for `bin/cai`, by which the conformance suite is played against `cai serve`: it carries lines between its own
 * stdin and stdout and a server. `websocket.mjs` and `http.mjs` say how.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lines } from './lines.mjs';
import { become, serve, servedAgent } from './serve.mjs';

/** Writes a line to stdout; may be waited for, until it takes more. */
function write(line) {
  process.stdout.cork();
  process.stdout.write(line);
  const takesMore = process.stdout.write('\n');
  process.nextTick(() => process.stdout.uncork());
  if (!takesMore) return once(process.stdout, 'drain');
}

/**
 * Carries. `Link` is a class with `open()`, `send(line)`, and `end()`, which the client's end of the connection is; all
 * may be waited for. It is made from the server's address, headers for its requests, and two functions: one gets each
 * line of the server and may be waited for, the other is called when the server has ended the connection.
 */
export async function carry(Link) {
  const agent = servedAgent();
  if (agent === undefined) {
    await become(...process.argv.slice(2));
    return;
  }
  const { server, address } = serve(agent);
  let isEnding = false;
  let isLost = false;
  const endBy = (signal) => {
    isEnding = true;
    server.kill(signal);
  };
  server.on('exit', (status) => process.exit(isLost ? 1 : status));
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => endBy(signal));
  process.stdout.on('error', () => endBy('SIGTERM'));
  const onLost = (reason) => {
    if (isEnding) return;
    isLost = true;
    process.stderr.write(`the connection has ended: ${reason}\n`);
    endBy('SIGTERM');
  };
  const url = await address;
  const link = new Link(url, headers(), write, onLost);
  await link.open();
  const lines = new Lines();
  for await (const chunk of process.stdin) for (const line of lines.push(chunk)) await link.send(line);
  const rest = lines.rest();
  if (rest.length > 0) await link.send(rest);
  isEnding = true;
  await link.end();
  endBy('SIGTERM');
}

/** The owner's token is where the server keeps it. */
function headers() {
  const { HOME, XDG_STATE_HOME = join(HOME, '.local/state') } = process.env;
  const file = join(XDG_STATE_HOME, 'containai/serve/token');
  return existsSync(file) ? { authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` } : {};
}

/*
 * What runs in a container of the benchmark's network: `client.mjs HOST PORT`. Each line on stdin is a job, a key of
 * `jobs`, and is answered by a line with its figure; the first line says that it runs. Its connections are made as `HTTPS_PROXY` says, if it says so.
 */
import { once } from 'node:events';
import http from 'node:http';
import { Agent, get } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { createInterface } from 'node:readline';
import { connect as connectTls } from 'node:tls';

const [host, port] = process.argv.slice(2);
const proxy = process.env.HTTPS_PROXY === undefined ? undefined : new URL(process.env.HTTPS_PROXY);

async function tunnel() {
  const path = `${host}:${port}`;
  const asking = http.request(proxy, { method: 'CONNECT', path, headers: { host: path }, agent: false });
  const answered = once(asking, 'connect');
  asking.end();
  const [{ statusCode, statusMessage }, socket] = await answered;
  if (statusCode !== 200) throw new Error(`${statusCode} ${statusMessage}`);
  return socket;
}

/** Each connection is new to the server, which has never seen us. */
async function open() {
  const socket = proxy === undefined ? connectTcp({ host, port, noDelay: true }) : await tunnel();
  // What is compared is the way, not who is at its end.
  const secured = connectTls({ socket, rejectUnauthorized: false });
  await once(secured, 'secureConnect');
  return secured;
}

class Connections extends Agent {
  createConnection(_options, done) {
    open().then((socket) => done(undefined, socket), done);
  }
}

async function fetchBytes(bytes, agent = new Connections({ maxSockets: 1 })) {
  const asking = get({ host, port, path: `/${bytes}`, agent });
  const [answer] = await once(asking, 'response');
  let got = 0;
  answer.on('data', (chunk) => (got += chunk.length));
  await once(answer, 'end');
  if (got !== bytes) throw new Error(`${got} bytes instead of ${bytes}`);
}

async function msOf(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const smallBytes = 200;
const furtherConnections = 30;
const downloadBytes = 200e6;
/** As `npm ci` fetches packages, but with more at once than its 15. */
const files = { connections: 50, each: 20, bytes: 20_000 };

const jobs = {
  /** In milliseconds. */
  request: () => msOf(() => fetchBytes(smallBytes)),
  /** The median, each on a connection of its own. */
  requests: async () => {
    const times = [];
    while (times.length < furtherConnections) times.push(await jobs.request());
    return times.sort((a, b) => a - b)[furtherConnections / 2];
  },
  /** In MB/s. */
  download: async () => downloadBytes / 1e3 / (await msOf(() => fetchBytes(downloadBytes))),
  /** A second. */
  files: async () => {
    const one = async () => {
      const agent = new Connections({ keepAlive: true, maxSockets: 1 });
      for (let file = 0; file < files.each; file++) await fetchBytes(files.bytes, agent);
      agent.destroy();
    };
    const tookMs = await msOf(() => Promise.all(Array.from({ length: files.connections }, one)));
    return ((files.connections * files.each) / tookMs) * 1_000;
  },
};

process.stdout.write('ready\n');
for await (const job of createInterface({ input: process.stdin }))
  process.stdout.write(`${await jobs[job]()}\n`);

/** `cai serve`: agents for clients elsewhere, until a signal ends it. */
import { statSync } from 'node:fs';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { Option } from 'commander';
import { version } from '../../../package.json';
import { agentNameOf } from '../../agent/catalog';
import { loadConfig, type Config } from '../../config/config';
import { ownTokenFile, servePort } from '../../config/serve-places';
import {
  type ListenAddress,
  ChatBridge,
  Connections,
  Metrics,
  pageAddress,
  type Remembered,
  Routes,
  Server,
  spareSockets,
} from '../../served/server';
import { Door, WaitingSockets, tlsOptionsOf } from '../../served/server/door';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { openLog, type Log } from '../../system/log';
import { LogFile } from '../../system/log-file';
import { isAlive } from '../../system/process-identity';
import { SessionFile } from '../../acp';
import { ownerName } from '../../config/serve-words';
import { declare } from '../support/command';
import { endSignals } from '../support/end-signals';
import { tell } from '../support/terminal';
import { listenAt, namedPlaces } from './places';
import { codeFor } from './qr-code';

/** As the command line has them. */
interface Options {
  readonly listen?: readonly string[];
  readonly agent?: readonly string[];
  readonly behindProxy?: true;
  readonly chat?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly clientCa?: string;
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** Resolves with the exit status. */
export const run = declare<Options>({
  name: 'serve',
  description: `Offers agents to clients elsewhere, by ACP's transport for WebSocket and HTTP, which is a draft. It also
listens at a socket that only you can open.`,
  options: [
    new Option(
      '-l, --listen <address>',
      `HOST:PORT, https://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or unix:PATH; may be repeated (default: "serve.listen", else 127.0.0.1:${servePort})`,
    ).argParser(several),
    new Option(
      '-a, --agent <name>',
      'an agent that is served, the first for clients that name none; may be repeated (default: "serve.agents", else "agent.default" in the configuration)',
    ).argParser(several),
    ['--tls-cert <file>', 'certificate in PEM (default: "serve.tls_cert")'],
    ['--tls-key <file>', 'its key (default: "serve.tls_key")'],
    [
      '--client-ca <file>',
      'certificates of clients that this authority has signed count (default: "serve.client_ca")',
    ],
    ['--behind-proxy', 'a proxy of yours that speaks TLS stands before an address that others can reach'],
    ['--chat <folder>', 'answer chat panels that know no ACP, too; their sessions are in this folder'],
  ],
  footer: `
Commands:
  cai serve link                    a link that signs a browser in to the page
  cai serve token add|list|revoke   who else may come in
`,
  action: serve,
});

async function serve(options: Options, host: Host): Promise<number> {
  const config = loadConfig(host);
  const tls = tlsOptionsOf(host, { ...config.serve, ...options });
  const isBehindProxy = options.behindProxy === true;
  const hasCertificate = tls !== undefined;
  const places = namedPlaces(options.listen, config, host, { hasCertificate, isBehindProxy });
  const chatFolder = options.chat === undefined ? undefined : folderNamed(resolve(host.cwd, options.chat));

  const about = { pid: process.pid, agent: 'serve', version };
  const log = openLog(host.env, new LogFile(join(host.folders.state, 'logs'), about, isAlive));
  const onProblem = (what: string): void => log.error({ what }, 'some cannot come in');
  const waiting = new WaitingSockets(spareSockets);
  const door = new Door({
    host,
    serve: config.serve,
    isBehindProxy,
    onProblem,
    onAdmitted: ({ socket }) => waiting.letIn(socket),
  });
  const metrics = new Metrics(() => connections.all);
  const agents = agentsOf(options, config, host);
  const connections: Connections = new Connections({
    config,
    host,
    agents,
    metrics,
    log,
    onStderr: (id, text) => process.stderr.write(labelled(id, text)),
    isStillAdmitted: (visitor) => door.isStillAdmitted(visitor),
  });
  // What is longer than the limit is refused by the process, which finds its id; what is far longer, here.
  const maxLineBytes = 2 * config.acp.maxLineFromEditorBytes;
  const chat = chatFolder === undefined ? undefined : new ChatBridge(connections, chatFolder);
  let listened: readonly ListenAddress[] = [];
  const page = {
    remembered: rememberedBy(config, host, log),
    address: () => pageAddress(listened, config.serve.hosts, isBehindProxy, interfaces()),
  };
  const routes = new Routes({ door, connections, metrics, chat, log, maxMessageBytes: maxLineBytes, page });
  const server = new Server({
    routes,
    door,
    connections,
    waiting,
    tls,
    uid: host.user.uid,
    maxLineBytes,
    maxConnections: config.serve.connections,
    log,
  });
  const ending = whenToEnd(log);
  try {
    listened = await listenAt(places, server, host);
    tell(`serving ${agents.join(', ')}; the token is in ${ownTokenFile(host)}`);
    if (hasCertificate && !listened.some((each) => each.kind !== 'unix' && each.isTls))
      tell('the certificate is not used: for other machines, listen at an address that is not loopback');
    const link = process.stderr.isTTY ? routes.page.linkFor(ownerName) : undefined;
    if (typeof link === 'string')
      process.stderr.write(`cai: the page, once and for 5 minutes: ${link}\n${codeFor(link)}`);
    return await ending;
  } finally {
    server.stopListening();
    await connections.close('ending', 'the server is being ended');
    await server.close();
  }
}

function agentsOf({ agent }: Options, config: Config, host: Host): readonly [string, ...string[]] {
  // In test mode names are programs, which connections start from another folder.
  const isPath = (name: string): boolean => host.env.CAI_ACP_TEST_MODE === '1' && name.includes('/');
  const [first = config.agent.default, ...others] = (agent ?? config.serve.agents ?? []).map((name) =>
    isPath(name) ? resolve(host.cwd, name) : agentNameOf(name, config.agents),
  );
  return [first, ...others];
}

function folderNamed(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw new CaiError('USAGE', `${path}, which --chat names, is no folder: make it, or name another`);
}

/** What a connection's process says, each line with the beginning of the connection's id. */
function labelled(id: string, text: string): string {
  return text.replace(/(^|\n)(?=[^\n])/g, `$1[${id.slice(0, 8)}] `);
}

function interfaces(): readonly NetworkInterfaceInfo[] {
  return Object.values(networkInterfaces()).flatMap((each) => each ?? []);
}

/** The sessions of the user, whatever program has opened them. */
function rememberedBy(config: Config, host: Host, log: Log): () => Iterable<Remembered> {
  if (!config.sessions.persist) return () => [];
  const file = new SessionFile(join(host.folders.state, 'sessions.ndjson'), config.sessions.keepMs, log);
  let records: ReadonlyMap<string, Remembered> = new Map();
  return () => (records = file.load() ?? records).values();
}

/** Resolves with the exit status: at the first signal that ends programs, or after a bug. Later ones change nothing. */
async function whenToEnd(log: Log): Promise<number> {
  return await new Promise((resolve) => {
    for (const signal of endSignals) process.on(signal, () => resolve(0));
    // What is still known is enough to end the processes and tell the clients, and not to go on.
    process.on('uncaughtException', (error) => {
      log.error({ err: error }, 'internal error: the server is ended');
      resolve(1);
    });
  });
}

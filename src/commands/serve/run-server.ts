/** `cai serve`: agents for clients elsewhere, until a signal ends it. */
import { statSync } from 'node:fs';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { version } from '../../../package.json';
import { agentNameOf } from '../../agent/catalog';
import { loadConfig, type Config } from '../../config/config';
import { ownTokenFile, serveFolder } from '../../config/serve-places';
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
import { keepHeapSmall } from '../support/small-heap';
import { SessionFile } from '../../acp';
import { ownerName } from '../../config/serve-words';
import { endSignals } from '../support/end-signals';
import { tell } from '../support/terminal';
import { listenAt, namedPlaces } from './places';
import { codeFor } from './qr-code';

export interface ServeOptions {
  readonly listen?: readonly string[];
  readonly agent?: readonly string[];
  readonly behindProxy?: true;
  readonly chat?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly clientCa?: string;
}

/** Resolves with the exit status, once a signal has ended the server. */
export async function serve(options: ServeOptions, host: Host): Promise<number> {
  keepHeapSmall();
  const config = loadConfig(host);
  const tls = tlsOptionsOf(host, { ...config.serve, ...options });
  const isBehindProxy = options.behindProxy === true;
  const hasCertificate = tls !== undefined;
  const chatFolder = options.chat === undefined ? undefined : folderNamed(resolve(host.cwd, options.chat));
  const reach = { hasCertificate, isBehindProxy, hasChat: chatFolder !== undefined };
  const places = namedPlaces(options.listen, config, host, reach);
  const agents = agentsOf(options, config, host);
  let listened: readonly ListenAddress[] = [];
  const address = () => pageAddress(listened, config.serve.hosts, isBehindProxy, interfaces());

  const about = { pid: process.pid, agent: 'serve', version };
  const log = openLog(host.env, new LogFile(join(host.folders.state, 'logs'), about, isAlive));
  const { server, connections, page } = serverOf({
    ...{ config, host, log, agents, tls, isBehindProxy, chatFolder, address },
  });
  const ending = whenToEnd(log);
  try {
    listened = await listenAt(places, server, host);
    tell(`serving ${agents.join(', ')}; the token is in ${ownTokenFile(host)}`);
    if (hasCertificate && !listened.some((each) => each.kind !== 'unix' && each.isTls))
      tell('the certificate is not used: for other machines, listen at an address that is not loopback');
    const link = process.stderr.isTTY ? page.linkFor(ownerName) : undefined;
    if (typeof link === 'string')
      process.stderr.write(`cai: the page, once and for 5 minutes: ${link}\n${codeFor(link)}`);
    return await ending;
  } finally {
    server.stopListening();
    await connections.close('ending', 'the server is being ended');
    await server.close();
  }
}

interface ServerParts {
  readonly config: Config;
  readonly host: Host;
  readonly log: Log;
  readonly agents: readonly [string, ...string[]];
  readonly tls: ReturnType<typeof tlsOptionsOf>;
  readonly isBehindProxy: boolean;
  readonly chatFolder: string | undefined;
  /** Where browsers find the page; `undefined`: nowhere. */
  readonly address: () => string | undefined;
}

/** A server that does not listen yet, with its connections and its page. */
function serverOf({ config, host, log, agents, tls, isBehindProxy, chatFolder, address }: ServerParts) {
  const waiting = new WaitingSockets(spareSockets);
  const door = new Door({
    host,
    serve: config.serve,
    isBehindProxy,
    onProblem: (what) => log.error({ what }, 'some cannot come in'),
    onAdmitted: ({ socket }) => waiting.letIn(socket),
  });
  const metrics = new Metrics(() => connections.all);
  const connections: Connections = new Connections({
    ...{ config, host, agents, metrics, log },
    onStderr: (id, text) => process.stderr.write(labelled(id, text)),
    isStillAdmitted: (visitor) => door.isStillAdmitted(visitor),
  });
  const chat =
    chatFolder === undefined
      ? undefined
      : new ChatBridge({
          connections,
          folder: chatFolder,
          keptIn: config.sessions.persist ? join(serveFolder(host), 'chats') : undefined,
          maxBodyBytes: config.acp.maxLineFromEditorBytes,
          maxLineBytes: config.acp.maxLineToEditorBytes,
          log,
        });
  // What is longer than the limit is refused by the process, which finds its id; what is far longer, here.
  const maxLineBytes = 2 * config.acp.maxLineFromEditorBytes;
  const page = { remembered: rememberedBy(config, host, log), address };
  const routes = new Routes({ door, connections, metrics, chat, log, maxMessageBytes: maxLineBytes, page });
  const server = new Server({
    ...{ routes, door, connections, waiting, tls, maxLineBytes, log },
    uid: host.user.uid,
    maxConnections: config.serve.connections,
  });
  return { server, connections, page: routes.page };
}

function agentsOf({ agent }: ServeOptions, config: Config, host: Host): readonly [string, ...string[]] {
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

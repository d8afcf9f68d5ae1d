/** The way of one command to the network: a proxy on its container's loopback address, which this process serves. */
import type { Duplex } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { nodeProxyVariables, type Variables } from './environment';
import type { SshConnection } from './ssh/ssh';
import type { Config } from '../config/config';
import { extraAddress, machineName, namesMachine, placeText } from '../config/host-rules';
import { ownValue } from '../config/own-property';
import {
  placeholdersFor,
  placesOf,
  type Ask,
  decisionsOf,
  Dialler,
  isInternal,
  agentHosts,
  commonHosts,
  keyedHosts,
  type KeyedHostsOptions,
  NetworkLog,
  Policy,
  EgressProxy,
  proxyVariables,
} from '../network';

export interface EgressOptions extends KeyedHostsOptions {
  readonly agent: string;
  readonly workspace: string | undefined;
  readonly config: Pick<Config, 'network' | 'container' | 'credentials' | 'git' | 'services'>;
  /** Asks the user; `undefined`: nobody can be asked. */
  readonly ask: Ask | undefined;
  /** Is told the first time that a place is refused, and why. */
  readonly onRefusal: (because: string) => void;
}

/** When the proxy is made, in milliseconds after the command has its way, unless somebody connects before. */
const readyMs = 100;

/**
 * Opens the way for as long as the connection lasts. Returns the variables by which programs find it, and those with
 * placeholders of keys, which add to those that they have. Rejects with `SSH_CONNECT`.
 */
export async function openEgress(
  connection: Pick<SshConnection, 'listenAnywhere'>,
  inherited: Variables,
  options: EgressOptions,
): Promise<Variables> {
  let made: EgressProxy | undefined;
  const proxy = () => (made ??= proxyOf(options));
  const port = await connection.listenAnywhere((stream: Duplex) => proxy().take(stream));
  // Short commands need none, and the first connection of others need not wait: Node takes 7 ms to tell addresses.
  setTimeout(() => {
    proxy();
    isInternal('::1');
  }, readyMs).unref();
  const { config } = options;
  const machine = namesMachine(config) ? [machineName] : [];
  const names = [...machine, ...config.services.map(({ name }) => name)];
  return [...variablesFor(port, names, new Map(inherited)), ...placeholdersFor(config.credentials)];
}

function proxyOf(options: EgressOptions): EgressProxy {
  const { agent, workspace, config, host, ask, onRefusal } = options;
  const { state } = host.folders;
  // ssh2 makes two new buffers of each packet, and V8 would mark all that lives for them, step by step and over and over:
  // a quarter of the processor time of a download.
  setFlagsFromString('--no-incremental-marking');
  const { hosts = [], signIn = [], telemetry = [] } = ownValue(agentHosts, agent) ?? {};
  const keyed = config.credentials.flatMap(placesOf).map(placeText);
  // Whose SSH agent may be used for a host means to connect there.
  const ssh = config.git.sshAgent.map((each) => (/:\d+$/.test(each) ? each : `${each}:22`));
  const { extraHosts } = config.container;
  const log = new NetworkLog(state, workspace, agent);
  const policy = new Policy({
    network: config.network,
    listed: [...commonHosts.map(({ rule }) => rule), ...hosts, ...signIn, ...keyed, ...ssh],
    telemetry,
    isMachine: (name) => name === machineName && extraAddress(extraHosts, name) === undefined,
    decisions: () => decisionsOf(state, workspace),
    ask,
    note: (place, outcome, because, isQuiet = false) => {
      if (log.note(place, outcome, because) && outcome === 'refused' && !isQuiet) onRefusal(because);
    },
  });
  const dialler = new Dialler(policy, config.network, extraHosts);
  return new EgressProxy(policy, dialler, keyedHosts(options, dialler));
}

/** Has the options that a command's own value of it has, too. */
export const javaVariable = 'JAVA_TOOL_OPTIONS';

/** What the container itself has, and so no proxy is asked for. */
const loopback = ['localhost', '127.0.0.1', '::1'];

/** Those for which Java asks no proxy by itself. Source: java.net, "Networking Properties". */
const javaLoopback = ['localhost', '127.*', '[::1]'];

/** `names`: further hosts for which no proxy is asked. Java knows properties alone. */
function variablesFor(
  port: number,
  names: readonly string[],
  inherited: ReadonlyMap<string, string>,
): Variables {
  const address = '127.0.0.1';
  const url = `http://${address}:${port}`;
  const java = ['http', 'https'].flatMap((kind) => [
    `-D${kind}.proxyHost=${address}`,
    `-D${kind}.proxyPort=${port}`,
  ]);
  if (names.length > 0) java.push(`-Dhttp.nonProxyHosts=${[...javaLoopback, ...names].join('|')}`);
  const inheritedJava = inherited.get(javaVariable);
  return [
    ...proxyVariables({ httpProxy: url, httpsProxy: url, noProxy: [...loopback, ...names].join(',') }),
    ...nodeProxyVariables,
    [javaVariable, [...(inheritedJava === undefined ? [] : [inheritedJava]), ...java].join(' ')],
  ];
}

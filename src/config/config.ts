/** The configuration: one table of all keys, and the values that follow from it and the user's file. */
import { posix } from 'node:path';
import type { Host } from '../system/host';
import type { Devcontainer } from '../workspace/devcontainer/devcontainer';
import {
  absolutePath,
  command,
  decimal,
  duration,
  flag,
  oneOf,
  path,
  size,
  text,
  url,
  wholeNumber,
} from './config-kinds';
import { assemble, readIfThere, readSettings, type Key, type Setting } from './config-reader';
import * as words from './config-words';
import { key, required, type Fields, type Row } from './rows';
import { placesIn } from './toml-places';
import * as rules from './repository-rules';
import * as served from './serve-words';

/** Nobody is let in to everything by leaving something out. */
const rights = {
  agents: required(key('agents', served.allOr(served.agentNames), 'never')),
  workspaces: required(key('workspaces', served.allOr(served.folders), 'never')),
};

/**
 * Every key by its table: the field of `Config` that it sets, its kind, what a repository may do with it, and what
 * holds without it. A test compares this with `docs/configuration.md`, which says what each key means.
 */
const tables = {
  agent: {
    default: key('default', text, rules.anyKnownAgent, 'claude'),
    process: key('process', oneOf('workspace', 'session'), 'never', 'workspace'),
    data: key('data', oneOf('shared', 'workspace'), rules.only('workspace'), 'workspace'),
  },
  'agents.*': {
    // A known agent has one.
    command: {
      ...key('command', command, 'never'),
      isRequired: (agent) => !rules.agentNames.includes(agent),
    },
    name: key('name', text, 'never'),
    packages: key('packages', words.packages, 'never'),
    settings: key('settings', words.settingNames, 'never'),
    // Of "cursor" alone; without it: auto.
    adapter: key('adapter', oneOf('auto', 'native', 'stream-json'), 'never'),
  },
  acp: {
    terminal: key('terminal', oneOf('container', 'off'), 'never', 'container'),
    // A timer of Node holds 24.8 days.
    idle: key('idleMs', duration('24d'), 'never', '10m'),
    start_timeout: key('startTimeoutMs', duration('24d'), 'never', '2m'),
    // Limits of lines count without the newline.
    max_line_from_editor: key('maxLineFromEditorBytes', size('1MiB'), 'never', '64MiB'),
    max_line_to_editor: key('maxLineToEditorBytes', size('1MiB'), 'never', '32MiB'),
    queue_to_editor: key('queueToEditorBytes', size('1KiB'), 'never', '8MiB'),
    queue_to_agent: key('queueToAgentBytes', size('1KiB'), 'never', '64MiB'),
  },
  sessions: {
    persist: key('persist', flag, 'never', true),
    keep: key('keepMs', duration(), 'never', '90d'),
  },
  restart: {
    attempts: key('attempts', wholeNumber(1), 'never', 3),
    first_delay: key('firstDelayMs', duration('1h'), 'never', '1s'),
    max_delay: key('maxDelayMs', duration('1h'), 'never', '30s'),
  },
  mcp: {
    forward_loopback: key('forwardLoopback', flag, 'never', true),
    host_servers: key('hostServers', words.serverNames, 'never', []),
  },
  container: {
    // Without it: half of the engine's memory, at most 8 GiB.
    memory: key('memoryBytes', size('64MiB'), rules.lowerMemory),
    // Without it: all processors.
    cpus: key('cpus', decimal(0.01), rules.lower),
    disk: key('diskBytes', size('64MiB'), rules.lower),
    pids: key('pids', wholeNumber(64), rules.lower, 1_024),
    // Without it: a quarter of the container's memory, at least 64 MiB.
    shm: key('shmBytes', size('1MiB'), rules.lower),
    // Each takes a folder of this machine away.
    own: key('own', words.foldersBelow, rules.fewMore, []),
    // 0: the container is kept for ever.
    idle: key('idleMs', duration(), rules.sooner, '30m'),
    extra_hosts: key('extraHosts', words.extraHosts, 'never', []),
  },
  image: {
    auto_build: key('autoBuild', flag, rules.only(false), true),
    base: key('base', words.imageName, rules.trusted, 'node:22-bookworm-slim'),
    apt: key('apt', words.debianPackages, rules.addition, []),
    packages: key('packages', words.packages, rules.addition, []),
    dockerfile: key('dockerfile', path, rules.trusted),
    registry: key('registry', words.imageRegistry, rules.trusted),
  },
  devcontainer: {
    use: key('use', flag, rules.only(false), true),
    name: key('name', words.folderName, rules.harmless),
  },
  env: {
    import: key('import', words.variables, rules.addition, []),
  },
  git: {
    ssh_agent: key('sshAgent', words.sshHosts, 'never', []),
    sign: key('isSigning', flag, 'never', false),
  },
  worktrees: {
    per_session: key('perSession', flag, 'never', false),
    // Without it: a folder in our state folder.
    folder: key('folder', absolutePath, 'never'),
    copy: key('copy', words.filesBelow, 'never', []),
  },
  protect: {
    off: key('isOff', flag, rules.only(false), false),
    paths: key('paths', words.pathsBelow, rules.fewMore, []),
  },
  'credentials.[]': {
    for: required(key('for', words.keyed, 'never')),
    from: required(key('from', words.keySource, 'never')),
    header: key('header', words.keyHeader, 'never'),
  },
  'mounts.[]': {
    path: required(key('path', absolutePath, rules.trusted)),
    read_only: key('isReadOnly', flag, rules.trusted, false),
  },
  'services.[]': {
    name: required(key('name', words.serviceName, rules.trusted)),
    image: required(key('image', words.imageName, rules.trusted)),
    command: key('command', command, rules.trusted),
    env: key('env', words.serviceVariables, rules.trusted, []),
    health: key('health', command, rules.trusted),
    after: key('after', words.serviceNames, rules.trusted, []),
    ends: key('ends', flag, rules.trusted, false),
    volume: key('volume', words.innerPath, rules.trusted),
    memory: key('memoryBytes', size('64MiB'), rules.trusted, '1GiB'),
  },
  engine: {
    kind: key('kind', oneOf('docker', 'kubernetes'), 'never', 'docker'),
    context: key('context', text, 'never'),
    shares: key('shares', served.folders, 'never'),
    kubeconfig: key('kubeconfig', path, 'never'),
    namespace: key('namespace', text, 'never'),
  },
  kubernetes: {
    storage: key('storageBytes', size('64MiB'), 'never', '10GiB'),
    storage_class: key('storageClass', text, 'never'),
    requests: key('requests', words.podRequests, 'never', []),
    labels: key('labels', words.podLabels, 'never', []),
    annotations: key('annotations', words.podAnnotations, 'never', []),
    priority_class: key('priorityClass', text, 'never'),
    writable_folders: key('writableFolders', words.innerFolders, 'never', []),
    node_selector: key('nodeSelector', words.nodeLabels, 'never', []),
    tolerations: key('tolerations', words.tolerations, 'never', []),
    runtime_class: key('runtimeClass', text, 'never'),
    pull_secrets: key('pullSecrets', words.objectNames, 'never', []),
    copy: key('copy', oneOf('off', 'git'), 'never', 'off'),
    // Without it: as long as a start may take, in `pod-start.ts`.
    schedule_timeout: key('scheduleTimeoutMs', duration('24d'), 'never'),
    injected: key('injected', words.injectedContainers, 'never', []),
    allow_own_node: key('allowsOwnNode', flag, 'never', false),
  },
  'kubernetes.volumes.[]': {
    folder: required(key('folder', absolutePath, 'never')),
    from: required(key('from', words.volumeSource, 'never')),
  },
  // Addresses of proxies may hold a password.
  network: {
    egress: key('egress', oneOf('ask', 'listed', 'open'), rules.only('listed'), 'ask'),
    allow: key('allow', words.hostRules, rules.addition, []),
    deny: key('deny', words.hostRules, rules.more, []),
    host_ports: key('hostPorts', words.hostPorts, 'never', []),
    ca_file: key('caFile', path, 'never'),
    npm_registry: key('npmRegistry', url, 'never'),
    pip_index: key('pipIndex', url, 'never'),
    http_proxy: key('httpProxy', url, 'never'),
    https_proxy: key('httpsProxy', url, 'never'),
    no_proxy: key('noProxy', text, 'never'),
  },
  serve: {
    // Without it: the default agent.
    agents: key('agents', served.agentNames, 'never'),
    // Without it: a port of 127.0.0.1, in `serve-places.ts`.
    listen: key('listen', served.listenPlaces, 'never'),
    hosts: key('hosts', served.servedHosts, 'never', []),
    origins: key('origins', served.webOrigins, 'never', []),
    grace: key('graceMs', duration('24d'), 'never', '10m'),
    keep: key('keepBytes', size('1KiB'), 'never', '4MiB'),
    keep_messages: key('keepMessages', wholeNumber(1), 'never', 10_000),
    connections: key('connections', wholeNumber(1), 'never', 64),
    containers: key('containers', wholeNumber(1), 'never', 16),
    idle: key('idleMs', duration('24d'), 'never', '12h'),
    stall: key('stallMs', duration('24d'), 'never', '60s'),
    tls_cert: key('tlsCert', path, 'never'),
    tls_key: key('tlsKey', path, 'never'),
    client_ca: key('clientCa', path, 'never'),
    identity_header: key('identityHeader', words.headerName, 'never'),
    groups_header: key('groupsHeader', words.headerName, 'never'),
  },
  'serve.users.[]': { name: required(key('name', served.personName, 'never')), ...rights },
  'serve.groups.[]': { name: required(key('name', served.groupName, 'never')), ...rights },
} as const satisfies Record<string, Record<string, Row<string, unknown, boolean>>>;
type Tables = typeof tables;

/** The configuration in effect, frozen in type; all paths are absolute. */
export type Config = {
  readonly [S in Exclude<keyof Tables, 'agents.*' | `${string}.[]`>]: Fields<Tables[S]>;
} & {
  /** By the user's name for each, which can be any string: only own properties count. */
  readonly agents: Readonly<Record<string, Fields<Tables['agents.*']>>>;
  /** Folders and files of the host that agents have besides the workspace; no path twice. */
  readonly mounts: readonly Fields<Tables['mounts.[]']>[];
  /** What runs beside an agent's container; no name twice. */
  readonly services: readonly Fields<Tables['services.[]']>[];
  /** Keys that agents use without having them. */
  readonly credentials: readonly Fields<Tables['credentials.[]']>[];
  /** `users`: who else may come in to `cai serve`, and to what; `groups`: the same of those whom a proxy says to be in one. */
  readonly serve: Readonly<Record<'users' | 'groups', readonly Fields<Tables['serve.users.[]']>[]>>;
  /** `volumes`: folders of this machine that pods can mount, too. */
  readonly kubernetes: { readonly volumes: readonly Fields<Tables['kubernetes.volumes.[]']>[] };
  /** `memoryAtMostBytes`: what an untrusted repository makes of the default for `memoryBytes`: no more than this. */
  readonly container: { readonly memoryAtMostBytes?: number };
  /** `dockerfileText`: of a Dockerfile of the repository what the user trusted, whatever the file holds by now. */
  readonly image: { readonly dockerfileText?: string };
  /** `trusted`: the development container of the workspace, if it is used, as the user trusted it. */
  readonly devcontainer: { readonly trusted?: Devcontainer };
};

/** How this machine reaches the network, which building an image needs. */
export type HostNetwork = Omit<Config['network'], 'egress' | 'allow' | 'deny' | 'hostPorts'>;

/** All rows of the table, in the order of the docs. */
export const configKeys: readonly Key[] = Object.entries(tables).flatMap(([table, keys]) =>
  Object.entries(keys).map(([name, row]): Key => ({
    ...(row as Omit<Key, 'path'>),
    path: [...table.split('.'), name],
  })),
);

/** Path of the configuration of the user, which need not exist. */
export function configFileOf(host: Host): string {
  return posix.join(host.folders.config, 'config.toml');
}

/** Fails with `CaiError('CONFIG')` for a file that cannot be read or says something unknown. */
export function loadConfig(host: Host): Config {
  return configOf(userSettings(host));
}

/** What the user's file sets, and what the environment does. Fails as `loadConfig`. */
export function userSettings(host: Host): Setting[] {
  const file = configFileOf(host);
  const base = { folder: posix.dirname(file), home: host.home };
  const text = readIfThere(file);
  const settings = readSettings({ file, text, base, placeOf: placesIn(text) }, configKeys);
  return [...settings, ...ofServer(settings, host)];
}

/** With `cai serve` the editor may be on another machine, which cannot run our commands: unless the user says otherwise. */
function ofServer(settings: readonly Setting[], { isServed }: Host): Setting[] {
  const key = configKeys.find(({ path }) => path.join('.') === 'acp.terminal')!;
  if (!isServed || settings.some((setting) => setting.key === key)) return [];
  return [{ key, path: key.path, written: 'off', value: 'off', from: () => ['cai serve'] }];
}

/** The configuration that settings make, completed with defaults. */
export function configOf(settings: readonly Setting[]): Config {
  // The table of keys is also what `Config` is made of; tables without a default for anything are missing.
  const {
    agents = {},
    mounts = [],
    services = [],
    credentials = [],
    engine = {},
    network = {},
    kubernetes,
    serve,
    ...rest
  } = assemble(settings, configKeys);
  const byPath = new Map((mounts as Config['mounts']).map((mount) => [mount.path, mount]));
  const byName = new Map((services as Config['services']).map((service) => [service.name, service]));
  const lists = { mounts: [...byPath.values()], services: [...byName.values()], credentials };
  const nested = {
    serve: { users: [], groups: [], ...(serve as object) },
    kubernetes: { volumes: [], ...(kubernetes as object) },
  };
  return { ...rest, agents, engine, network, ...nested, ...lists } as unknown as Config;
}

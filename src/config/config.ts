/** The user's configuration: what can be set, what holds otherwise, and where it is read. */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../errors';
import {
  absolutePath,
  command,
  decimal,
  duration,
  flag,
  listOf,
  matching,
  oneOf,
  path,
  size,
  text,
  url,
  wholeNumber,
} from './config-kinds';
import type { Kind } from './config-kinds';
import { assemble, readSettings } from './config-reader';
import type { Key, Setting, Source } from './config-reader';
import { isExtraHost, isImportable, isPackage, isPathBelow } from './config-words';
import { directSettings } from './direct-settings';
import { homeFolder, ownFolders } from '../system/cai-folders';
import { errorCodeOf } from '../system/real-path';
import { addition, anyKnownAgent, lower, lowerMemory, more, only, sooner } from './repository-rules';
import type { RepositoryRule } from './repository-rules';

/** An agent that the user has added, or a known one with another command. */
export interface ConfiguredAgent {
  /** Program and arguments, started without a shell. */
  readonly command: readonly [string, ...string[]];
  /** What people call it. */
  readonly name?: string;
  /** What npm installs for it in our image: `name` or `name@version`. */
  readonly packages?: readonly string[];
}

/** A folder or file of the host that the agent has besides its workspace. */
export interface ConfiguredMount {
  /** Absolute, on the host and in the container. */
  readonly path: string;
  /** The agent cannot write there. */
  readonly isReadOnly: boolean;
}

/** The configuration in effect. What each key means to the user stands in `docs/configuration.md`. */
export interface Config {
  /** Which agent, and how many of it. */
  readonly agent: {
    /** Name of the agent where none is named. */
    readonly default: string;
    /** What shares one process: the sessions of a workspace, or nothing. */
    readonly process: 'workspace' | 'session';
    /** What shares its sign-in and history: all workspaces, or nothing. */
    readonly data: 'shared' | 'workspace';
  };
  /** By the user's name for them, which can be any string: only own properties count. */
  readonly agents: Readonly<Record<string, ConfiguredAgent>>;
  /** The proxy. */
  readonly acp: {
    /** Whether agents may read and write files through the editor. */
    readonly fs: 'editor' | 'off';
    /** Whether agents may use the editor's terminals, whose commands run in the container. */
    readonly terminal: 'container' | 'off';
    /** How long an agent without sessions is kept; fits a timer. */
    readonly idleMs: number;
    /** How long an agent may take to answer `initialize`; fits a timer. */
    readonly startTimeoutMs: number;
    /** Longest line taken from the editor, without its newline. */
    readonly maxLineFromEditorBytes: number;
    /** Longest line sent to the editor, without its newline. */
    readonly maxLineToEditorBytes: number;
    /** How much may wait for the editor before agents are no longer read. */
    readonly queueToEditorBytes: number;
    /** How much may wait for one agent before requests to it fail. */
    readonly queueToAgentBytes: number;
  };
  /** What is remembered of sessions. */
  readonly sessions: {
    /** Whether session ids are kept in a file, for later processes. */
    readonly persist: boolean;
    /** How long a session that is not used stays in that file. */
    readonly keepMs: number;
  };
  /** How what failed to start, or ended, is tried again. A prompt never is. */
  readonly restart: {
    /** How often, before the error is told. */
    readonly attempts: number;
    /** Before the second attempt; each further one waits twice as long. */
    readonly firstDelayMs: number;
    /** No wait is longer. */
    readonly maxDelayMs: number;
  };
  /** MCP servers that the editor names. */
  readonly mcp: {
    /** Whether servers on this machine's loopback are made reachable for agents. */
    readonly forwardLoopback: boolean;
    /** Names of the servers that run on this machine and not in the container. */
    readonly hostServers: readonly string[];
  };
  /** Limits of a container. */
  readonly container: {
    /** Most memory; without it half of the engine's, at most 8 GiB. */
    readonly memoryBytes?: number;
    /** What a repository makes of that half by itself: no more than that. */
    readonly memoryAtMostBytes?: number;
    /** Most processors, also a part of one; without it all. */
    readonly cpus?: number;
    /** Most that it may write to the disk; without it no limit. */
    readonly diskBytes?: number;
    /** Most processes and threads. */
    readonly pids: number;
    /** How long a container without a command is kept; 0: for ever. */
    readonly idleMs: number;
    /** Further names of hosts: `name:address`, where the address is an IP or `host-gateway`. */
    readonly extraHosts: readonly string[];
  };
  /** How images are made. */
  readonly image: {
    /** Whether a missing image is built when it is needed. */
    readonly autoBuild: boolean;
    /** The image that ours begins with. */
    readonly base: string;
    /** Absolute path of a Dockerfile that adds to our image. */
    readonly dockerfile?: string;
    /** Its text where it is a repository's: what the user trusts, whatever the file holds by now. */
    readonly dockerfileText?: string;
  };
  /** The environment of agents. */
  readonly env: {
    /** Names of variables of the host that agents get, each once. */
    readonly import: readonly string[];
  };
  /** What in a workspace agents cannot write, because programs on this machine would execute it. */
  readonly protect: {
    /** Whether agents can write all of it after all. */
    readonly isOff: boolean;
    /** Further paths, below the root of the workspace; a `*` stands for a part of one name. */
    readonly paths: readonly string[];
  };
  /** What agents get besides their workspace; no path twice. */
  readonly mounts: readonly ConfiguredMount[];
  /** The container engine. */
  readonly engine: {
    /** Name of its docker context. */
    readonly context?: string;
  };
  /** How the network is reached, while images are built and from containers. */
  readonly network: {
    /** Absolute path of a file with further certificates, PEM. */
    readonly caFile?: string;
    /** Where npm finds packages. */
    readonly npmRegistry?: string;
    /** Proxy for HTTP; may hold a password. */
    readonly httpProxy?: string;
    /** Proxy for HTTPS; may hold a password. */
    readonly httpsProxy?: string;
    /** Hosts that are reached without a proxy, parted by commas. */
    readonly noProxy?: string;
  };
}

const imageName = matching('the name of an image, such as "node:22-bookworm-slim"', /^\w[\w./:@-]*$/);
const packages = listOf('a list of different npm packages, such as ["my-agent@1.2.3"]', isPackage);
const variables = listOf(
  'a list of different names of variables, but for those that the container sets itself or that load code (PATH, HOME, LD_PRELOAD and the like)',
  isImportable,
);
const names = listOf('a list of different names of MCP servers', (name) => name !== '');
const hosts = listOf(
  'a list of different strings "name:address", the address an IP or host-gateway',
  isExtraHost,
);

const pathsBelow = listOf(
  'a list of different paths below the workspace, such as ["tools/run.sh", "packages/*/.vscode"], where a "*" stands for a part of one name (at most 4 in each) and each folder is to be named, because there is no "**"',
  isPathBelow,
);

/** Every key, with what holds without it and what a repository may do. `docs/configuration.md` has the same list. */
export const configKeys: readonly Key[] = [
  key('agent', 'default', 'default', text, anyKnownAgent, 'claude'),
  key('agent', 'process', 'process', oneOf('workspace', 'session'), 'never', 'workspace'),
  key('agent', 'data', 'data', oneOf('shared', 'workspace'), only('workspace'), 'shared'),
  agentKey('command', command, true),
  agentKey('name', text, false),
  agentKey('packages', packages, false),
  key('acp', 'fs', 'fs', oneOf('editor', 'off'), only('off'), 'off'),
  key('acp', 'terminal', 'terminal', oneOf('container', 'off'), 'never', 'container'),
  // A timer of Node holds 24.8 days.
  key('acp', 'idle', 'idleMs', duration('24d'), 'never', '10m'),
  key('acp', 'start_timeout', 'startTimeoutMs', duration('24d'), 'never', '2m'),
  key('acp', 'max_line_from_editor', 'maxLineFromEditorBytes', size('1MiB'), 'never', '64MiB'),
  key('acp', 'max_line_to_editor', 'maxLineToEditorBytes', size('1MiB'), 'never', '32MiB'),
  key('acp', 'queue_to_editor', 'queueToEditorBytes', size('1KiB'), 'never', '8MiB'),
  key('acp', 'queue_to_agent', 'queueToAgentBytes', size('1KiB'), 'never', '64MiB'),
  key('sessions', 'persist', 'persist', flag, 'never', true),
  key('sessions', 'keep', 'keepMs', duration(), 'never', '90d'),
  key('restart', 'attempts', 'attempts', wholeNumber(1), 'never', 3),
  key('restart', 'first_delay', 'firstDelayMs', duration('1h'), 'never', '1s'),
  key('restart', 'max_delay', 'maxDelayMs', duration('1h'), 'never', '30s'),
  key('mcp', 'forward_loopback', 'forwardLoopback', flag, 'never', true),
  key('mcp', 'host_servers', 'hostServers', names, 'never', []),
  key('container', 'memory', 'memoryBytes', size('64MiB'), lowerMemory),
  key('container', 'cpus', 'cpus', decimal(0.01), lower),
  key('container', 'disk', 'diskBytes', size('64MiB'), lower),
  key('container', 'pids', 'pids', wholeNumber(64), lower, 1_024),
  key('container', 'idle', 'idleMs', duration(), sooner, '30m'),
  key('container', 'extra_hosts', 'extraHosts', hosts, 'never', []),
  key('image', 'auto_build', 'autoBuild', flag, only(false), true),
  key('image', 'base', 'base', imageName, 'trusted', 'node:22-bookworm-slim'),
  key('image', 'dockerfile', 'dockerfile', path, 'trusted'),
  key('env', 'import', 'import', variables, addition, []),
  key('protect', 'off', 'isOff', flag, only(false), false),
  key('protect', 'paths', 'paths', pathsBelow, more, []),
  mountKey('path', 'path', absolutePath),
  mountKey('read_only', 'isReadOnly', flag, false),
  key('engine', 'context', 'context', text, 'never'),
  key('network', 'ca_file', 'caFile', path, 'never'),
  key('network', 'npm_registry', 'npmRegistry', url, 'never'),
  key('network', 'http_proxy', 'httpProxy', url, 'never'),
  key('network', 'https_proxy', 'httpsProxy', url, 'never'),
  key('network', 'no_proxy', 'noProxy', text, 'never'),
];

/** Where the user's configuration is read. */
export function configFileOf(env: NodeJS.ProcessEnv): string {
  return posix.join(ownFolders(env).config, 'config.toml');
}

/**
 * The user's configuration, from `config.toml` in our config folder; without that file, what holds by
 * default. Fails with `CaiError('CONFIG')` for a file that cannot be read or says something unknown.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const settings = readSettings(userSource(env), configKeys);
  return configOf([...settings, ...directSettings(env, settings, configKeys)]);
}

/** The text of the user's file, empty if there is none. Fails with `CaiError('CONFIG')`. */
export function userSource(env: NodeJS.ProcessEnv): Source {
  const file = configFileOf(env);
  return { file, text: readIfThere(file), base: { folder: posix.dirname(file), home: homeFolder(env) } };
}

/** The configuration that settings make. */
export function configOf(settings: readonly Setting[]): Config {
  // `configKeys` has a row for each field, of that field's type; what a section has no default for is missing.
  const { agents = {}, mounts = [], engine = {}, network = {}, ...rest } = assemble(settings, configKeys);
  const byPath = new Map((mounts as Config['mounts']).map((mount) => [mount.path, mount]));
  return { ...rest, agents, engine, network, mounts: [...byPath.values()] } as unknown as Config;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return '';
    throw new CaiError('CONFIG', `${file} cannot be read: ${messageOf(reason)}`, undefined, {
      cause: reason,
    });
  }
}

type Section = Exclude<keyof Config, 'agents' | 'mounts'>;

/** A key of a table that is always there; `field` is of the type that `kind` reads. */
function key<S extends Section, F extends keyof Config[S] & string>(
  section: S,
  name: string,
  field: F,
  kind: Kind<NonNullable<Config[S][F]>>,
  repository: RepositoryRule<NonNullable<Config[S][F]>>,
  standard?: Key['standard'],
): Key {
  return { path: [section, name], field, kind, standard, isRequired: false, repository };
}

/** A key of the table of one agent. */
function agentKey<F extends keyof ConfiguredAgent>(
  field: F,
  kind: Kind<NonNullable<ConfiguredAgent[F]>>,
  isRequired: boolean,
): Key {
  return { path: ['agents', '*', field], field, kind, standard: undefined, isRequired, repository: 'never' };
}

/** A key of one of the mounts; without a default it is required. */
function mountKey<F extends keyof ConfiguredMount>(
  name: string,
  field: F,
  kind: Kind<ConfiguredMount[F]>,
  standard?: Key['standard'],
): Key {
  const isRequired = standard === undefined;
  return { path: ['mounts', '[]', name], field, kind, standard, isRequired, repository: 'trusted' };
}

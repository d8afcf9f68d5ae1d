/**
 * The MCP servers that the editor names for a session in a container. Those on a loopback address of this machine are
 * made reachable inside, programs that the user allows run here, and programs that the container lacks are told.
 * Helper processes do this.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { AgentCommand } from '../../agent/catalog';
import type { Plan } from '../../rpc/json';
import { scanCall, type Message } from '../../rpc/message';
import { joined, replacing, splice, type Edit } from '../../rpc/splice';
import { Attempts } from '../child/retry';
import type { AgentSession } from '../sessions/session';
import type { Config } from '../../config/config';
import type { Host } from '../../system/host';
import type { ProxyOptions } from '../proxy-options';
import { Helper, type HelperOptions } from './helper';
import { mcpEntries, type McpAddress, type McpProgram } from './mcp-entries';
import type { SessionObserver } from '../sessions/observer';
import { within } from '../../system/time-limit';

/** How long a call waits for its session's servers, in milliseconds; then the session goes on without them. */
const readyMs = 10_000;

/** The agent's sshd cannot listen on ports below this, because it is an ordinary user. */
const firstPort = 1_024;

/** The program inside that joins an agent to a server on this machine. Source: `container/inside/join`. */
const bridge = '/run/cai/join';

/** Prints the index of each argument that is missing: the first `$1` are programs, as the shell finds them. */
const lookUp = [
  'n=$1; shift; i=0',
  'for each',
  'do if [ $i -lt $n ]',
  'then command -v -- "$each" > /dev/null',
  'else [ -e "$each" ]',
  'fi || echo $i',
  'i=$((i + 1))',
  'done',
].join('; ');

/** How many ports and programs of this machine may be shared at once: each costs a process. */
const maxShared = 32;

/** What of a proxy's options the servers need. */
interface McpServersOptions extends Pick<ProxyOptions, 'helper' | 'log'> {
  readonly agent: Pick<AgentCommand, 'name'>;
  readonly config: Pick<Config, 'mcp' | 'restart'> & {
    readonly network: Pick<Config['network'], 'hostPorts'>;
  };
  readonly host: Pick<Host, 'env'>;
}

interface Shared {
  readonly key: string;
  readonly helper: Helper;
  /** Socket inside at which an agent reaches the program that the helper runs; empty if it shares a port. */
  readonly socket: string;
  /** How many leases name it. */
  users: number;
}

/** What one call, and the session that it opens, needs. */
interface Lease {
  readonly root: string;
  /** As `Workspace` has it. */
  readonly identity: string | undefined;
  readonly folders: Pick<AgentSession, 'roots' | 'map'>;
  readonly shared: Shared[];
  readonly programs: McpProgram[];
  /** Where servers are elsewhere, each a host and a port. */
  readonly remote: string[];
}

/** The MCP servers of one proxy's sessions. Must be among the observers. */
export class McpServers implements SessionObserver {
  readonly #shared = new Map<string, Shared>();
  /** Leases of calls whose session is not open yet, by the editor's message. */
  readonly #pending = new Map<Message, Lease>();
  /** The leases of open sessions, by the editor's ids. */
  readonly #leases = new Map<string, Lease>();
  readonly #lookedUp = new Set<string>();
  readonly #running = new Set<Helper>();

  constructor(private readonly options: McpServersOptions) {}

  /**
   * The message to send instead of the editor's that opens a session in a workspace; `plan` reads both. A promise only where
   * something has to be waited for, at most 10 s. What was started lasts until `drop`, or, after `onOpen`, until the
   * session closes. The same message can be prepared again for an agent that was started again.
   */
  prepare(
    message: Message,
    plan: Plan,
    { root, identity }: Partial<Record<'root' | 'identity', string | undefined>>,
    folders: Pick<AgentSession, 'roots' | 'map'>,
  ): Message | Promise<Message> {
    const entries = this.options.helper === undefined || root === undefined ? [] : mcpEntries(message);
    if (entries.length === 0) return message;
    const lease: Lease = { root: root!, identity, folders, shared: [], programs: [], remote: [] };
    const edits: Edit[] = [];
    for (const entry of entries) {
      if (entry.kind === 'remote') {
        lease.remote.push(entry.place);
        continue;
      }
      const text = entry.kind === 'program' ? this.#hosted(entry, lease) : this.#forwarded(entry, lease);
      if (text !== undefined) edits.push(replacing(entry.span, text));
    }
    // The edits have moved the fields.
    const prepared = edits.length === 0 ? message : scanCall(joined(splice(message.line, edits)), plan);
    this.#pending.set(message, lease);
    // A helper that runs a program is not waited for: the bridge inside waits.
    const opening = lease.shared.filter(({ helper, socket }) => socket === '' && !helper.isSettled);
    if (opening.length === 0) return prepared;
    return within(readyMs, Promise.all(opening.map(({ helper }) => helper.settled))).then(() => prepared);
  }

  /** Whether a session in `root` that is open, or is being opened, has a server at that place. */
  isNamed(root: string | undefined, place: string): boolean {
    const leases = [...this.#pending.values(), ...this.#leases.values()];
    return leases.some((lease) => lease.root === root && lease.remote.includes(place));
  }

  /** Gives up what was prepared for a message that opens no session. Does nothing if it has opened one. */
  drop(message: Message): void {
    const lease = taken(this.#pending, message);
    this.#release(lease);
    // A program that is missing inside may be why.
    if (lease !== undefined) this.#lookUp(lease);
  }

  /** The message has opened the session, also one that was open before. */
  onOpen({ editorId }: AgentSession, message: Message): void {
    const earlier = taken(this.#leases, editorId);
    const lease = taken(this.#pending, message);
    if (lease !== undefined) {
      this.#leases.set(editorId, lease);
      this.#lookUp(lease);
    }
    this.#release(earlier);
  }

  onClose({ editorId }: AgentSession): void {
    this.#release(taken(this.#leases, editorId));
  }

  /** Ends all helpers; resolves when none runs any more. */
  async end(): Promise<void> {
    this.#shared.clear();
    await Promise.all([...this.#running].map((helper) => helper.stop()));
  }

  /** Makes a port of this machine reachable inside. Returns the URL to use there, JSON text, if it differs. */
  #forwarded({ name, host, port, url }: McpAddress, lease: Lease): string | undefined {
    if (!this.options.config.mcp.forwardLoopback) return undefined;
    if (port < firstPort) {
      const why = `in the container, where no agent may listen below ${firstPort}`;
      this.#warn(
        lease,
        name,
        `port ${port} cannot be made reachable ${why}: let the server listen on another`,
      );
      return undefined;
    }
    // Of these, `cai exec` makes each reachable itself.
    const isAnyway = host === 'localhost' && this.options.config.network.hostPorts.includes(port);
    if (!isAnyway) this.#share(lease, name, `${host}:${port}`);
    return url === undefined ? undefined : JSON.stringify(url);
  }

  /** Runs a program on this machine if the user allows it. Returns the entry for the agent then, JSON text. */
  #hosted(entry: McpProgram, lease: Lease): string | undefined {
    const { name, command, args, env, hasType } = entry;
    if (!this.options.config.mcp.hostServers.includes(name)) {
      lease.programs.push(entry);
      return undefined;
    }
    const shared = this.#share(lease, name, 'program', { name, command, args, env });
    const socket = shared?.socket ?? '/none';
    // Only the name is the editor's: the agent need not know how the program is run.
    const seen = { name, command: bridge, args: [socket], env: [] };
    return JSON.stringify(hasType ? { type: 'stdio', ...seen } : seen);
  }

  /** Adds the helper for `what` to a lease; starts it if no session has it. `undefined`: there are too many. */
  #share(lease: Lease, server: string, what: string, order?: object): Shared | undefined {
    const key = JSON.stringify([lease.root, what, order]);
    const known = this.#shared.get(key);
    if (known === undefined && this.#shared.size >= maxShared) {
      this.#warn(
        lease,
        server,
        `no more than ${maxShared} servers of this machine can be used: end a session`,
      );
      return undefined;
    }
    const shared = known?.helper.isOver === false ? known : this.#start(lease, server, key, what, order);
    this.#shared.set(key, shared);
    shared.users++;
    lease.shared.push(shared);
    return shared;
  }

  #start(lease: Lease, server: string, key: string, what: string, order: object | undefined): Shared {
    // A name that no other agent can guess.
    const socket = order === undefined ? '' : `/tmp/cai-mcp-${randomBytes(16).toString('hex')}`;
    const { config, log } = this.options;
    const warn = (text: string): void => this.#warn(lease, server, text);
    const helper = this.#run(lease, 'bridge', [what], {
      ...(order !== undefined && { input: JSON.stringify({ ...order, socket }) }),
      onNotice: warn,
      // The helper itself says what has failed.
      attempts: new Attempts(config.restart, { ...log, warn: log.debug }),
      onFailure: (reason, hasTold) => {
        const why = hasTold ? 'the container has no way to it' : reason.message;
        warn(`${why}: see cai doctor; a new session that names it tries again`);
      },
    });
    return { key, helper, socket, users: 0 };
  }

  #release(lease: Lease | undefined): void {
    for (const each of lease?.shared ?? []) {
      if (--each.users > 0) continue;
      if (this.#shared.get(each.key) === each) this.#shared.delete(each.key);
      void each.helper.stop();
    }
  }

  /** Warns of programs that the container does not have, and of files that they are given; of each once. */
  #lookUp(lease: Lease): void {
    const { root, folders } = lease;
    const isNew = (path: string): boolean => {
      const count = this.#lookedUp.size;
      return this.#lookedUp.add(JSON.stringify([root, path])).size > count;
    };
    // A program with another PATH may be found there.
    const programs = lease.programs
      .filter(({ command, env }) => !env.some(([variable]) => variable === 'PATH') && isNew(command))
      .map((program) => ({ path: program.command, name: program.name, text: missing(program) }));
    const files = lease.programs.flatMap(({ name, args }) =>
      args
        .filter((path) => path.startsWith('/') && existsSync(path) && isNew(path))
        .map((path) => ({ path, name, text: missingFile(path) })),
    );
    const all = [...programs, ...files];
    if (all.length === 0) return;
    const paths = all.map(({ path }) => folders.map.toAgent(path));
    const cwd = folders.map.toAgent(folders.roots[0]!.spelled);
    const count = String(programs.length);
    this.#run(lease, 'exec', ['--cwd', cwd, '--', 'sh', '-c', lookUp, 'sh', count, ...paths], {
      onLine: (index) => {
        const found = all[Number(index)];
        if (found !== undefined) this.#warn(lease, found.name, found.text);
      },
    });
  }

  /** Runs a command of ours for the container of a workspace. */
  #run(
    { root, identity }: Lease,
    command: string,
    args: readonly string[],
    more: Omit<HelperOptions, 'command' | 'cwd' | 'env' | 'log'>,
  ): Helper {
    const { agent, host, log } = this.options;
    const place = identity === undefined ? [] : ['--root-identity', identity];
    const target = ['--workspace', root, ...place, '--agent', agent.name, '--quiet', '--status-fd', '3'];
    const program = this.options.helper!([command, ...target, ...args]);
    const helper = new Helper({ command: program, cwd: root, env: host.env, log, ...more });
    this.#running.add(helper);
    void helper.ended.then(() => this.#running.delete(helper));
    return helper;
  }

  #warn({ root }: Lease, server: string, text: string): void {
    this.options.log.warn({ root }, `MCP server "${server}": ${text}`);
  }
}

function taken<Key, Value>(map: Map<Key, Value>, key: Key): Value | undefined {
  const value = map.get(key);
  map.delete(key);
  return value;
}

function missing({ name, command }: McpProgram): string {
  return `the container has no program "${command}": install it in the image ("dockerfile" in [image]), have the editor name a server that speaks HTTP, or let it run on this machine: host_servers = [${JSON.stringify(name)}] below [mcp]`;
}

function missingFile(path: string): string {
  return `the container does not have ${JSON.stringify(path)} of this machine: put it into the workspace, list its folder below [[mounts]], or let the server run on this machine ([mcp] host_servers)`;
}

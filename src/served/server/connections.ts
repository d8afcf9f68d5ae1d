/** All connections of a server, and the limits that they have together. */
import { randomUUID } from 'node:crypto';
import { agentNameOf, resolveAgent } from '../../agent/catalog';
import { ownProgram } from '../../agent/cai-program';
import type { Config } from '../../config/config';
import { serveFolder } from '../../config/serve-places';
import { ownerName } from '../../config/serve-words';
import { CaiError } from '../../errors';
import { servedVariable, workspacesVariable, type Host } from '../../system/host';
import type { Log } from '../../system/log';
import type { Closing } from './client-stream';
import { ServedConnection } from './served-connection';
import type { Visitor } from './door/visitor';
import type { LiveSession } from './traffic/live-session';
import { SessionClaims } from './traffic/session-claims';
import type { Metrics } from './metrics';

/** How often it is looked for connections that are idle, or whose visitors may not come in any more; in milliseconds. */
const sweepMs = 5_000;
/** Longest line of a process that is passed on: its own limits are lower. */
const maxLineBytes = 256 * 1024 * 1024;

export interface ConnectionsOptions {
  readonly config: Config;
  readonly host: Host;
  /** Names of the agents that are served; the first is for clients that name none. */
  readonly agents: readonly [string, ...string[]];
  readonly metrics: Metrics;
  readonly log: Log;
  /** What the process of a connection writes to stderr: lines of its log. */
  onStderr(id: string, text: string): void;
  isStillAdmitted(visitor: Visitor): boolean;
}

export class Connections {
  readonly #byId = new Map<string, ServedConnection>();
  /** Sessions of all connections of one visitor to one agent, by both names. */
  readonly #sessions = new Map<string, Map<string, LiveSession>>();
  readonly #claims: SessionClaims;
  readonly #sweep: NodeJS.Timeout;

  /** None is open. Fails with `CaiError` if an agent that is served does not exist. */
  constructor(private readonly options: ConnectionsOptions) {
    const { agents, config, host } = options;
    for (const name of agents) resolveAgent(name, [], { agents: config.agents, host });
    this.#claims = new SessionClaims(serveFolder(host));
    this.#sweep = setInterval(() => this.#endUnwanted(), sweepMs).unref();
  }

  get all(): readonly ServedConnection[] {
    return [...this.#byId.values()];
  }

  /**
   * Starts a connection; `agent` is what the client has named. `isSplit`: as of `ConnectionOptions`. Fails with
   * `CaiError('UNSUPPORTED_AGENT')` for an agent that the visitor may not use, and with `LIMIT`.
   */
  open(visitor: Visitor, agent: string | undefined, isSplit: boolean): ServedConnection {
    const { config, host, log, metrics } = this.options;
    const { serve } = config;
    const name = this.#agentFor(visitor, agent);
    if (this.#byId.size >= serve.connections) {
      const text = `this server has ${this.#byId.size} connections, which is its limit ("serve.connections" in its configuration): end one`;
      throw new CaiError('LIMIT', text);
    }
    this.#keepPlaces(visitor);
    const id = randomUUID();
    const scope = scopeOf(visitor, name);
    const sessions = this.#sessions.get(scope) ?? new Map<string, LiveSession>();
    this.#sessions.set(scope, sessions);
    const limited = visitor.workspaces && { [workspacesVariable]: JSON.stringify(visitor.workspaces) };
    const connection = new ServedConnection({
      id,
      visitor,
      process: {
        agent: {
          name,
          displayName: name,
          command: ownProgram(['--acp', name]),
          remedy: 'install cai again',
          hasStatus: true,
        },
        cwd: host.home,
        env: { ...host.env, ...limited, [servedVariable]: '1' },
        limits: { maxLineBytes, maxSearchBytes: 0 },
        log,
      },
      hear: (event) => {
        if (event.kind === 'stderr') this.options.onStderr(id, event.text);
        if (event.kind === 'status') metrics.told(event.status);
      },
      isSplit,
      keep: { bytes: serve.keepBytes, lines: serve.keepMessages },
      graceMs: serve.graceMs,
      stallMs: serve.stallMs,
      sessions,
      claims: this.#claims,
      answered: (...call) => metrics.answered(...call),
      onEnd: (isExpected) => {
        this.#byId.delete(id);
        metrics.ended(isExpected);
        log.info({ connection: id, visitor: visitor.name, isExpected }, 'connection ended');
      },
    });
    this.#byId.set(id, connection);
    metrics.opened();
    log.info({ connection: id, visitor: visitor.name, agent: name }, 'connection opened');
    return connection;
  }

  /** Names of the agents that are served to that visitor. */
  agentsFor(visitor: Visitor): readonly string[] {
    const { agents, config } = this.options;
    const own = visitor.agents?.map((each) => agentNameOf(each, config.agents));
    return agents.filter((name) => own?.includes(name) ?? true);
  }

  /** The sessions that are open in the connections of that visitor to that agent. */
  sessionsOf(visitor: Visitor, agent: string): readonly LiveSession[] {
    return [...(this.#sessions.get(scopeOf(visitor, agent))?.values() ?? [])];
  }

  /** An open connection of that visitor and of that kind; throws `CaiError('CONNECTION_UNKNOWN')`. */
  find(id: string, visitor: Visitor, isSplit: boolean): ServedConnection {
    const connection = this.#byId.get(id);
    if (connection?.visitor.name === visitor.name && connection.isSplit === isSplit && !connection.isOver)
      return connection;
    throw new CaiError(
      'CONNECTION_UNKNOWN',
      'there is no such connection, or it has ended: begin a new one, and load its sessions',
    );
  }

  /** Ends all; resolves when no process is left. */
  async close(why: Closing, reason: string): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all(this.all.map((each) => each.close(why, reason)));
  }

  /** The last places are for those who have no connection: nobody can keep others out. */
  #keepPlaces(visitor: Visitor): void {
    const { connections, users, groups } = this.options.config.serve;
    const present = new Set(this.all.map((each) => each.visitor.name));
    const absent = [ownerName, ...users.map(({ name }) => name)].filter((name) => !present.has(name)).length;
    // Who else is in a group is not known here.
    const kept = groups.length === 0 ? absent : Math.max(absent, Math.ceil(connections / 4));
    if (!present.has(visitor.name) || this.#byId.size + kept < connections) return;
    const text = `the last of the ${connections} connections of this server are for others: end one of yours`;
    throw new CaiError('LIMIT', text);
  }

  #agentFor(visitor: Visitor, wanted: string | undefined): string {
    const allowed = this.agentsFor(visitor);
    const name = wanted === undefined ? allowed[0] : agentNameOf(wanted, this.options.config.agents);
    if (name !== undefined && allowed.includes(name)) return name;
    const list = allowed.length === 0 ? 'none' : allowed.join(', ');
    throw new CaiError(
      'UNSUPPORTED_AGENT',
      `this server has no agent "${name ?? ''}" for you; it has: ${list}`,
    );
  }

  #endUnwanted(): void {
    const { config } = this.options;
    for (const each of this.all) {
      const isIdle = !each.isWorking && performance.now() - each.activeAt > config.serve.idleMs;
      if (!this.options.isStillAdmitted(each.visitor))
        void each.close('revoked', 'you may not use this server any more');
      else if (isIdle) void each.close('idle', 'nothing has passed for a long time');
    }
  }
}

/** What connections share that may join each other's sessions. */
function scopeOf({ name }: Visitor, agent: string): string {
  return JSON.stringify([name, agent]);
}

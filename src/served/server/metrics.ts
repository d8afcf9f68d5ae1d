/** What the server counts, as Prometheus reads it at `/metrics`: no name of anybody, and nothing of what is said. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AgentStatus } from '../../rpc/status';
import type { ServedConnection } from './served-connection';

/** Seconds: a turn takes from a moment to hours. */
const turnSeconds = [1, 5, 15, 60, 300, 1_800, 7_200];
/** Seconds: other calls, of which `session/new` may make a container. */
const callSeconds = [0.01, 0.05, 0.25, 1, 5, 30, 120];

/** Calls that open a connection or a session. */
const opening: readonly string[] = ['initialize', 'session/new', 'session/load', 'session/resume'];

export class Metrics {
  readonly #registry = new Registry();
  readonly #opened = this.#counter('cai_serve_connections_opened_total', 'Connections that were opened');
  readonly #returned = this.#counter('cai_serve_returns_total', 'Clients that have come back');
  readonly #ended = this.#counter(
    'cai_serve_processes_ended_total',
    'Processes of connections that have ended',
    'expected',
  );
  readonly #agents = this.#counter(
    'cai_serve_agents_ended_total',
    'Agents that have ended without being asked to; they start again when needed',
  );
  readonly #started = this.#counter(
    'cai_serve_agents_started_total',
    'Agents that were started, in a container that was started for them (new) or that ran already (running)',
    'container',
  );
  readonly #notStarted = this.#counter(
    'cai_serve_agent_starts_failed_total',
    'Agents that could not be started, by why: QUOTA, NO_PLACE (no node), NO_WALL (an open network) and others',
    'code',
  );
  readonly #refused = this.#counter('cai_serve_refused_total', 'Requests that were not let in', 'status');
  readonly #failed = this.#counter(
    'cai_serve_calls_failed_total',
    'Turns, and calls that open sessions, that were answered with an error, such as when no container can start',
    'method',
  );
  readonly #turns = new Histogram({
    name: 'cai_serve_turn_seconds',
    help: 'How long turns took',
    buckets: turnSeconds,
    registers: [this.#registry],
  });
  readonly #calls = new Histogram({
    name: 'cai_serve_call_seconds',
    help: 'How long calls that open sessions took',
    labelNames: ['method'],
    buckets: callSeconds,
    registers: [this.#registry],
  });

  /** `connections`: those that are open. */
  constructor(connections: () => readonly ServedConnection[]) {
    this.#gauge('cai_serve_connections', 'Connections that are open', () => connections().length);
    this.#gauge(
      'cai_serve_connections_away',
      'Of these, those whose client is away and may come back',
      () => connections().filter(({ isAttached }) => !isAttached).length,
    );
    this.#gauge('cai_serve_sessions', 'Sessions that are open', () =>
      connections().reduce((sum, { sessionIds }) => sum + sessionIds.length, 0),
    );
  }

  opened(): void {
    this.#opened.inc();
  }

  returned(): void {
    this.#returned.inc();
  }

  /** A connection's process has ended; `isExpected`: because the connection was over. */
  ended(isExpected: boolean): void {
    this.#ended.inc({ expected: String(isExpected) });
  }

  /** What the process of a connection has told of its agents. */
  told(status: AgentStatus): void {
    if (status.kind === 'agent-ended') this.#agents.inc();
    else if (status.kind === 'agent-started')
      this.#started.inc({ container: status.isNew ? 'new' : 'running' });
    else if (status.kind === 'agent-refused') this.#notStarted.inc({ code: status.code });
  }

  /** A request was answered with that status instead of being let in. */
  refused(status: number): void {
    this.#refused.inc({ status });
  }

  /** A call of a client was answered. Methods are counted by name only where we know them: clients may send any. */
  answered(method: string, ms: number, isError: boolean): void {
    const seconds = ms / 1_000;
    const isTurn = method === 'session/prompt';
    if (isTurn) this.#turns.observe(seconds);
    else if (opening.includes(method)) this.#calls.observe({ method }, seconds);
    if (isError && (isTurn || opening.includes(method))) this.#failed.inc({ method });
  }

  /** All of it, in the text format, and its type. */
  async text(): Promise<{ readonly type: string; readonly body: string }> {
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  #counter<Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge(name: string, help: string, count: () => number): void {
    const registers = [this.#registry];
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(count());
      },
    });
  }
}

/**
 * The children: which one serves a workspace, how one is started, what of it is over when it ends, and when
 * one is no longer needed.
 */
import { posix } from 'node:path';
import { loggedFailure } from '../agent/agent-end';
import type { AgentCommand } from '../agent/catalog';
import { patientStop } from '../agent/process';
import type { StopLadder } from '../agent/process';
import { CaiError } from '../errors';
import type { Log } from '../log';
import { notificationLine } from '../rpc/answer';
import type { OverlongLine } from '../rpc/line';
import type { LineWriter } from '../rpc/writer';
import { Attempts } from '../session/retry';
import { WorkspaceChild } from '../session/workspace-child';
import type { Config } from '../workspace/config';
import { emptyFolder } from '../workspace/empty-folder';
import { createPathMap, isInside } from '../workspace/path-map';
import type { PathMap } from '../workspace/path-map';
import type { Workspace } from '../workspace/root';
import { ChildStart } from './child-start';
import type { Core } from './core';
import type { ChildRecorder, Recorder } from './recorder';
import { Repeats } from './repeats';

/** What children are made from. */
export interface ChildrenOptions {
  /** The agent, as it was named; every child runs it. */
  readonly agent: AgentCommand;
  /** The user's configuration. */
  readonly config: Config;
  /** Environment of every child. */
  readonly env: NodeJS.ProcessEnv;
  /** Writes to the editor; each child gets a lane. */
  readonly writer: LineWriter;
  /** For starts, ends and what could not be repeated. */
  readonly log: Log;
  /**
   * What an agent calls the root of a workspace: where it is mounted, then links to that. `undefined`: the
   * agent sees the files of this machine.
   */
  placesOf(root: string): readonly [string, ...string[]] | undefined;
  /** The command that runs the agent for a workspace, or, without one, for none. */
  commandFor(workspace: Workspace | undefined): AgentCommand;
  /** Writes down what passes between us and the children. */
  readonly recorder?: Recorder | undefined;
  /** Each line of a child, in order, and who has to be told of it first. */
  onLine(child: WorkspaceChild, line: Buffer | OverlongLine, records: ChildRecorder | undefined): void;
  /** As in `AgentProcessOptions`; not asked where all that passes is written down, line by line. */
  onLines(child: WorkspaceChild, pieces: readonly Buffer[]): number;
  /** Of a child the answer to `initialize` or the image that it runs in has become known. */
  onHello(child: WorkspaceChild): void;
  /** A child has ended. */
  onEnd(child: WorkspaceChild): void;
}

/** The children of one proxy. */
export class Children {
  /** Every child that has not ended, oldest first. */
  readonly all: WorkspaceChild[] = [];
  /** The child that was used last. */
  lastUsed: WorkspaceChild | undefined;
  /** `initialize` params for a new child, JSON text. */
  hello = '';
  /** What every new child is told of earlier sign-ins. */
  readonly repeats = new Repeats();
  #isEnding = false;
  readonly #idleTimers = new Map<WorkspaceChild, NodeJS.Timeout>();
  /** By the root of the workspace; `undefined` for the children that serve none. */
  readonly #attempts = new Map<string | undefined, Attempts>();

  /** No child is started yet. */
  constructor(
    private readonly core: Core,
    private readonly options: ChildrenOptions,
  ) {}

  /** The child that serves a workspace, started if there is none. `isFresh` asks for one of its own. */
  forWorkspace(workspace: Workspace, isFresh = false): WorkspaceChild {
    const existing = this.all.find((child) => child.root === workspace.root && child.isUsable);
    const child = existing === undefined || isFresh ? this.#start(workspace) : existing;
    this.#use(child);
    return child;
  }

  /** The first child that can be used, or one that serves no workspace. */
  primary(): WorkspaceChild {
    const child = this.usable()[0] ?? this.#start(undefined);
    this.#use(child);
    return child;
  }

  /** The children that can be used, oldest first. */
  usable(): WorkspaceChild[] {
    return this.all.filter((child) => child.isUsable);
  }

  /** Between the editor's paths and the agent's, for a session opened in `workspace`. */
  mapFor(workspace: Workspace): PathMap {
    const { root, spelledRoot, cwd, realCwd } = workspace;
    const places = this.options.placesOf(root);
    // Where a link leads into the midst of the workspace, only the part below it has a name that way.
    const isBelow = isInside(cwd, spelledRoot);
    const hostRoots = isBelow ? [spelledRoot, root] : [cwd, realCwd];
    const below = isBelow ? '' : posix.relative(root, realCwd);
    return createPathMap({
      hostRoots,
      agentRoots: places?.map((place) => posix.join(place, below)) ?? hostRoots,
    });
  }

  /** Whether the agents of `workspace` have a folder of the host. */
  canSee(folder: string, workspace: Workspace): boolean {
    const { root, spelledRoot, cwd } = workspace;
    if (this.options.placesOf(root) === undefined) return true;
    const mounted = this.options.config.mounts.map(({ path }) => path);
    return [root, spelledRoot, cwd, ...mounted].some((each) => isInside(posix.normalize(folder), each));
  }

  /** Ends a child that has no session and nothing open, after the idle time. */
  stopWhenIdle(child: WorkspaceChild): void {
    clearTimeout(this.#idleTimers.get(child));
    if (!child.isIdle) return;
    const timer = setTimeout(() => {
      if (child.isIdle) void child.stop(patientStop);
    }, this.options.config.acp.idleMs);
    this.#idleTimers.set(child, timer.unref());
  }

  /** From now on none is started: what would need one fails. */
  refuseNew(): void {
    this.#isEnding = true;
  }

  /** Ends every child; resolves when nothing of them is left. */
  async stopAll(ladder: StopLadder): Promise<void> {
    this.refuseNew();
    await Promise.all(this.all.map((child) => child.stop(ladder)));
  }

  #use(child: WorkspaceChild): void {
    this.lastUsed = child;
    clearTimeout(this.#idleTimers.get(child));
  }

  #start(workspace: Workspace | undefined): WorkspaceChild {
    if (this.#isEnding)
      throw new CaiError('AGENT_EXITED', 'the proxy is ending: no agent is started any more');
    const { config, log } = this.options;
    const agent = this.options.commandFor(workspace);
    const records = this.options.recorder?.child(workspace?.root);
    const child = this.#newChild(workspace, agent, records);
    this.all.push(child);
    const start = new ChildStart(this.core, child, this.repeats, {
      agent,
      config,
      log,
      onHello: () => this.options.onHello(child),
      onReady: () => this.stopWhenIdle(child),
    });
    child.start({
      onLine: (line) => this.options.onLine(child, line, records),
      onLines: records === undefined ? (pieces) => this.options.onLines(child, pieces) : undefined,
      onEnd: () => {
        records?.ended();
        this.#onEnd(child);
      },
      onStatus: (status) => start.hear(status),
      onStart: () => {
        log.info({ root: workspace?.root }, 'agent started');
        this.#takeBack(child);
        start.greet(this.hello);
      },
    });
    return child;
  }

  /** One that has not been started. */
  #newChild(
    workspace: Workspace | undefined,
    agent: AgentCommand,
    records: ChildRecorder | undefined,
  ): WorkspaceChild {
    const { config, env, log, writer } = this.options;
    const root = workspace?.root ?? emptyFolder(this.options.env);
    return new WorkspaceChild({
      process: {
        agent,
        cwd: root,
        env,
        limits: { maxLineBytes: config.acp.maxLineToEditorBytes, maxSearchBytes: 1024 * 1024 },
        log,
        isAlone: () => this.all.length === 1,
        onSend: records?.toAgent,
      },
      root: workspace?.root,
      map: createPathMap({ hostRoots: [root], agentRoots: this.options.placesOf(root) ?? [root] }),
      writer,
      inputBudgetBytes: config.acp.queueToAgentBytes,
      attempts: this.#attemptsFor(workspace?.root),
      log,
    });
  }

  #attemptsFor(root: string | undefined): Attempts {
    const { config, log } = this.options;
    const attempts = this.#attempts.get(root) ?? new Attempts(config.restart, log);
    this.#attempts.set(root, attempts);
    return attempts;
  }

  /** All that was open at the child has failed; what it has open at the editor is taken back. */
  #onEnd(child: WorkspaceChild): void {
    this.#logEnd(child);
    this.all.splice(this.all.indexOf(child), 1);
    if (this.lastUsed === child) this.lastUsed = undefined;
    clearTimeout(this.#idleTimers.get(child));
    this.#idleTimers.delete(child);
    for (const session of [...child.sessions.values()]) this.core.sessions.lose(session);
    this.#takeBack(child);
    this.options.onEnd(child);
  }

  /** Where that was the end of a start, its failure has been told. */
  #logEnd({ root, wasStopped, isGivenUp, endReason }: WorkspaceChild): void {
    const { log } = this.options;
    if (wasStopped || isGivenUp) log.info({ root }, 'agent ended');
    else log.warn({ root, ...loggedFailure(endReason!) }, 'agent ended unexpectedly');
  }

  /** What a process has asked that is gone. */
  #takeBack(child: WorkspaceChild): void {
    for (const request of this.core.requests.openOfAgents(child)) {
      this.core.requests.take(request.editorId);
      request.onOver?.(false);
      child.deliver(notificationLine('$/cancel_request', `{"requestId":${request.editorId}}`));
    }
  }
}

/**
 * The children: which one serves a workspace, how one is started, what of it is over when it ends, and when
 * one is no longer needed.
 */
import { posix } from 'node:path';
import { loggedFailure } from '../../agent/agent-end';
import { patientStop, type StopLadder } from '../../agent/process-end';
import { CaiError } from '../../errors';
import { cancelLine } from '../../rpc/answer';
import { Attempts } from './retry';
import type { AgentEvent, ChildEvent } from './child-event';
import { Child } from './child';
import { emptyFolder } from '../../workspace/empty-folder';
import { createPathMap, type PathMap } from '../../system/paths/path-map';
import type { Workspace } from '../../workspace/root';
import type { SessionWorkspace } from '../../workspace/worktrees/worktrees';
import { ChildStart, type StartEvent } from './child-start';
import type { ProxyOptions } from '../proxy-options';
import type { Core } from '../relay/core';
import type { AgentStatus } from '../../rpc/status';
import { Repeats } from '../../rpc/repeated-requests';
import { ChildHealth } from './child-health';
import { isInside } from '../../system/paths/is-inside';

/** What an agent said before its connection was lost arrives within this time, in milliseconds. */
const lastWordsMs = 50;

export class Children {
  /** Every child that has not ended, oldest first. */
  readonly all: Child[] = [];
  lastUsed: Child | undefined;
  /** Params of `initialize` for each new child, JSON text. */
  helloParams = '';
  /** What every new child is told of earlier sign-ins. */
  readonly repeats = new Repeats();
  readonly #health = new ChildHealth(this.all, (child, reason) => this.#giveUp(child, reason));
  #isEnding = false;
  readonly #idleTimers = new Map<Child, NodeJS.Timeout>();
  /** By the root of the workspace; `undefined` for the children that serve none. */
  readonly #attempts = new Map<string | undefined, Attempts>();

  /** By the root of the workspace, the map of the last session: most have the same. */
  readonly #maps = new Map<string, { readonly names: string; readonly map: PathMap }>();

  /** No child is started yet. `pass` gets what the children have for the proxy. */
  constructor(
    private readonly core: Core,
    private readonly options: ProxyOptions,
    private readonly pass: (child: Child, event: AgentEvent) => void,
  ) {}

  /** The child that serves a workspace. One is started if none runs, or if `isFresh` asks for another. */
  forWorkspace(workspace: SessionWorkspace, isFresh = false): Child {
    const existing = this.#serving(workspace.root).find(({ identity }) => identity === workspace.identity);
    return this.#use(existing === undefined || isFresh ? this.#start(workspace) : existing);
  }

  /**
   * Ends the children that serve another folder, which had the root's name before, and have nothing to do. They have
   * that folder as long as they run; one that is at work keeps it, and its container cannot be used for this one.
   */
  async retire(workspace: Workspace): Promise<void> {
    const { root, identity } = workspace;
    const strays = this.#serving(root).filter((child) => child.identity !== identity);
    if (strays.length === 0) return;
    this.options.log.warn({ root }, 'the folder of a workspace was replaced by another');
    await Promise.all(
      strays.filter((child) => this.core.sessions.isIdle(child)).map((child) => child.stop(patientStop)),
    );
  }

  #serving(root: string): Child[] {
    return this.all.filter((child) => child.root === root && child.isUsable);
  }

  /** The first child that can be used, or one that serves no workspace. */
  primary(): Child {
    return this.#use(this.usable()[0] ?? this.#start(undefined));
  }

  /** The children that can be used, oldest first. */
  usable(): Child[] {
    return this.all.filter((child) => child.isUsable);
  }

  /** Between the editor's paths and the agent's, for a session opened in `workspace`. */
  mapFor(workspace: SessionWorkspace): PathMap {
    const { worktreeOf } = workspace;
    const places = this.options.placesOf(workspace.root);
    // The editor names a worktree by the workspace that it stands for.
    const { root, spelledRoot, cwd, realCwd } = worktreeOf ?? workspace;
    // Where a link leads into the midst of the workspace, only the part below it has a name that way.
    const isBelow = isInside(cwd, spelledRoot);
    const named = isBelow ? [spelledRoot, root] : [cwd, realCwd];
    const below = isBelow ? '' : posix.relative(root, realCwd);
    // What the agent has in a worktree is another file than the one with that name in the workspace.
    const hostRoots = worktreeOf === undefined ? named : [posix.join(workspace.root, below), ...named];
    const seen = worktreeOf === undefined ? named : [posix.join(workspace.root, below)];
    const agentRoots = places?.map((place) => posix.join(place, below)) ?? seen;
    const names = JSON.stringify([hostRoots, agentRoots]);
    const last = this.#maps.get(workspace.root);
    if (last?.names === names) return last.map;
    const map = createPathMap({ hostRoots, agentRoots });
    this.#maps.set(workspace.root, { names, map });
    return map;
  }

  /** Ends a child that has no session and nothing open, after the idle time. */
  stopWhenIdle(child: Child): void {
    clearTimeout(this.#idleTimers.get(child));
    if (!this.core.sessions.isIdle(child)) return;
    const timer = setTimeout(() => {
      if (this.core.sessions.isIdle(child)) void child.stop(patientStop);
    }, this.options.config.acp.idleMs);
    this.#idleTimers.set(child, timer.unref());
  }

  /** Ends every child; resolves when nothing of them is left. What would need another one fails from now on. */
  async stopAll(ladder: StopLadder): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.all.map((child) => child.stop(ladder)));
  }

  #use(child: Child): Child {
    this.lastUsed = child;
    clearTimeout(this.#idleTimers.get(child));
    return child;
  }

  #start(workspace: SessionWorkspace | undefined): Child {
    if (this.#isEnding)
      throw new CaiError('AGENT_EXITED', 'the proxy is ending: no agent is started any more');
    const child = this.#newChild(workspace);
    this.all.push(child);
    this.#health.watch();
    const hear = (event: StartEvent): void => this.#hearStart(child, event);
    const start = new ChildStart(this.core, child, this.repeats, this.options, hear);
    child.start(
      (event) => this.#hear(child, start, event),
      (output) => this.pass(child, output),
    );
    return child;
  }

  #hearStart(child: Child, event: StartEvent): void {
    if (event === 'hello') this.options.profiles.heard(child, this.options.hasOwnData(child.root));
    else this.stopWhenIdle(child);
  }

  #hear(child: Child, start: ChildStart, event: ChildEvent): void {
    switch (event.kind) {
      case 'start':
        this.options.log.info({ root: child.root }, 'agent started');
        this.#takeBack(child);
        start.greet(this.helloParams);
        // While the agent starts there is time for it.
        setImmediate(() => this.core.sessions.records.refresh());
        break;
      case 'status':
        this.#hearStatus(child, event.status);
        start.takeStatus(event.status);
        break;
      case 'stopping':
        // At the end of the proxy, turns may still be answered.
        if (!this.#isEnding) this.#lose(child);
        break;
      case 'end':
        child.records?.ended();
        this.#onEnd(child);
        this.pass(child, event);
        if (child.isGivenUp)
          this.options.tellServer?.({ kind: 'agent-refused', code: loggedFailure(child.endReason!).code });
        else if (!child.wasStopped) this.options.tellServer?.({ kind: 'agent-ended' });
        break;
    }
  }

  #hearStatus(child: Child, status: AgentStatus): void {
    switch (status.kind) {
      case 'started':
        this.options.tellServer?.({ kind: 'agent-started', isNew: status.isNew === true });
        break;
      case 'stopped':
      case 'unwatchable':
        this.#health.giveUpStopped(child, status.kind);
        break;
      case 'lost':
        setTimeout(() => child.cutOff(status.takenBytes), lastWordsMs);
        break;
    }
  }

  /** A child that has not been started. */
  #newChild(workspace: SessionWorkspace | undefined): Child {
    const { config, host, log, recorder, writer } = this.options;
    const agent = this.options.commandFor(workspace);
    const records = recorder?.child(workspace?.root);
    const root = workspace?.root ?? emptyFolder(host.folders.state);
    return new Child({
      agent,
      cwd: root,
      env: agent.hasStatus === true ? host.env : { ...agent.env, ...host.envForOthers },
      limits: { maxLineBytes: config.acp.maxLineToEditorBytes, maxSearchBytes: Infinity },
      log,
      isAlone: () => this.all.length === 1,
      offersLines: records === undefined,
      records,
      root: workspace?.root,
      identity: workspace?.identity,
      map: this.#ownMap(root, workspace?.worktreeOf),
      writer,
      inputBudgetBytes: config.acp.queueToAgentBytes,
      attempts: this.#attemptsFor(workspace?.root),
    });
  }

  /** The paths of messages that are about no session. */
  #ownMap(root: string, worktreeOf: Workspace | undefined): PathMap {
    const named = worktreeOf === undefined ? [] : [worktreeOf.spelledRoot, worktreeOf.root];
    return createPathMap({ hostRoots: [root, ...named], agentRoots: this.options.placesOf(root) ?? [root] });
  }

  #attemptsFor(root: string | undefined): Attempts {
    const { config, log } = this.options;
    const attempts = this.#attempts.get(root) ?? new Attempts(config.restart, log);
    this.#attempts.set(root, attempts);
    return attempts;
  }

  /** A child that will never go on is ended at once. What it was asked fails, and its sessions go on in another. */
  #giveUp(child: Child, reason: CaiError): void {
    this.options.log.warn({ root: child.root, reason: reason.message }, 'agent given up');
    if (child.state === 'starting') {
      child.failStart(reason);
      return;
    }
    child.abandon(reason, { termAfterMs: 0, killAfterMs: 0 });
  }

  /** Its sessions go on in another. What it has asked is taken back. */
  #lose(child: Child): void {
    this.core.sessions.loseAll(child);
    this.#takeBack(child);
  }

  /** All that was open at the child has failed; what it has open at the editor is taken back. */
  #onEnd(child: Child): void {
    this.#logEnd(child);
    this.all.splice(this.all.indexOf(child), 1);
    if (this.lastUsed === child) this.lastUsed = undefined;
    clearTimeout(this.#idleTimers.get(child));
    this.#idleTimers.delete(child);
    this.#lose(child);
  }

  /** Where that was the end of a start, its failure has been told. */
  #logEnd({ root, wasStopped, isGivenUp, endReason }: Child): void {
    const { log } = this.options;
    if (wasStopped || isGivenUp) log.info({ root }, 'agent ended');
    else log.warn({ root, ...loggedFailure(endReason!) }, 'agent ended unexpectedly');
  }

  /** The questions of a process that is gone. */
  #takeBack(child: Child): void {
    const { ofAgents } = this.core.requests;
    for (const request of ofAgents.all.filter((each) => each.child === child)) {
      ofAgents.take(request.editorId);
      request.onOver?.(false);
      child.deliver(cancelLine(request.editorId));
    }
  }
}

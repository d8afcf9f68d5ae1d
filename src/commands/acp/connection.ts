/** The editor's two pipes and the proxy between them and the agents. */
import { join } from 'node:path';
import type { Host } from '../../system/host';
import { Proxy } from '../../proxy/proxy';
import type { ProxyOptions } from '../../proxy/proxy-options';
import { dueMs } from '../../proxy/shutdown';
import { Recorder } from '../../recording/recorder';
import type { Core } from '../../relay/core';
import { DelayObserver } from '../../proxy/delay-observer';
import { ReviewObserver } from '../../review/review-observer';
import { UsageObserver } from '../../usage/usage-observer';
import type { AgentCommand } from '../../agent/catalog';
import { execution, ownProgram } from '../../agent/cai-program';
import { sweepTokens } from '../../agent/editor-token';
import { messageOf } from '../../errors';
import type { LogFile } from '../../system/log-file';
import { LineReader } from '../../rpc/line';
import type { Line } from '../../rpc/splice';
import { LineWriter } from '../../rpc/writer';
import { SessionFile } from '../../sessions/session-file';
import { SessionRecords } from '../../sessions/session-records';
import { SessionTable } from '../../sessions/session-table';
import { WaitingRoom } from '../../sessions/waiting-room';
import type { Config } from '../../config/config';
import { loadWorkspaceConfig } from '../../config/effective-config';
import { fallbackMount, mountPointOf } from '../../workspace/mount';
import type { Workspace } from '../../workspace/root';
import type { EarlyAnswer } from './early-answer';

/** Signals that end the proxy as the end of its input does, only without patience. */
const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** What the editor may send while `initialize` is being answered before it is no longer read, in bytes. */
const maxWaitingBytes = 1024 * 1024;
/** How long the editor may take no byte of what is still due at the end, in milliseconds. */
const stallMs = 5_000;

/** What a connection is made from, besides what the proxy is; `recordFile`: where all that passes is written down. */
interface ConnectionOptions extends Pick<
  ProxyOptions,
  'agent' | 'config' | 'host' | 'log' | 'profiles' | 'signIn' | 'terminals'
> {
  readonly about: ConstructorParameters<typeof LogFile>[1];
  readonly isDirect: boolean;
  readonly recordFile: string | undefined;
  readonly early: EarlyAnswer | undefined;
}

/** One editor, for as long as it is there. */
export class Connection {
  readonly #reader: LineReader;
  readonly #writer: LineWriter;
  readonly #proxy: Proxy;
  readonly #recorder: Recorder | undefined;
  #resolve: (status: number) => void = () => undefined;
  readonly #hurried: Promise<void>;
  #hurry: () => void = () => undefined;
  #status = 0;
  #isInputOver = false;
  /** When the end of its input was noticed, by `performance.now()`. */
  #goneAt: number | undefined;
  #isEnding = false;

  /** Nothing is read before `run`. */
  constructor(private readonly options: ConnectionOptions) {
    const { about, config, early, log, recordFile } = options;
    const recorder = recordFile === undefined ? undefined : new Recorder(recordFile, { ...about, log });
    this.#recorder = recorder;
    this.#hurried = new Promise((resolve) => (this.#hurry = resolve));
    this.#reader = new LineReader({
      maxLineBytes: config.acp.maxLineFromEditorBytes,
      maxSearchBytes: Infinity,
    });
    const onBroken = (reason: Error): void => {
      log.info({ reason: reason.message }, 'the editor does not read any more');
      this.#endHastily();
    };
    const onWrite = recorder === undefined ? undefined : (line: Line): void => recorder.toEditor(line);
    this.#writer = new LineWriter(process.stdout, config.acp.queueToEditorBytes, onBroken, onWrite);
    this.#proxy = new Proxy({
      ...options,
      ...containment(options),
      recorder,
      writer: this.#writer,
      answered: early?.answer,
      onRoom: () => this.#pull(),
    });
  }

  /** Resolves with the exit status when the editor is gone and nothing is left. */
  run(): Promise<number> {
    const { stdin } = process;
    const { received, unsent } = this.options.early ?? {};
    if (unsent !== undefined && unsent.length > 0) this.#writer.lane(() => undefined).queue(unsent);
    if (received !== undefined) this.#reader.push(received);
    stdin.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#pull();
    });
    stdin.on('end', () => {
      this.#reader.end();
      this.#isInputOver = true;
      this.#goneAt = performance.now();
      // An agent that hangs keeps nobody: not who waits for initialize, and no other request.
      setTimeout(() => this.#endHastily(), dueMs).unref();
      this.#pull();
    });
    stdin.on('error', (reason) => {
      this.options.log.error({ reason: messageOf(reason) }, 'the editor cannot be read any more');
      this.#status = 1;
      this.#endHastily();
    });
    for (const signal of endSignals) process.on(signal, () => this.#endHastily());
    // A bug: the agents must not outlive it, and what is open is still answered.
    process.on('uncaughtException', (error) => {
      this.options.log.error({ err: error }, 'internal error: the connection is ended');
      this.#status = 1;
      this.#endHastily();
    });
    this.#pull();
    // What a proxy has left that was killed.
    setImmediate(() => sweepTokens(this.options.host));
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Takes the lines that have come, as long as the proxy takes them. */
  #pull(): void {
    while (!this.#isEnding && !this.#stopIfBusy()) {
      const line = this.#reader.next();
      if (line === undefined) break;
      this.#recorder?.fromEditor(line);
      this.#proxy.fromEditor(line);
    }
    if (this.#recorder?.isFull === true) this.#recorder.whenRoom(() => this.#pull());
    const isBusy = this.#stopIfBusy();
    // While initialize is being answered, the end of the editor is to be noticed.
    const isReadOn = this.#proxy.isGreeting && this.#reader.waitingBytes <= maxWaitingBytes;
    if (isBusy && !isReadOn) process.stdin.pause();
    else if (this.#isInputOver && !isBusy) void this.#end();
    else process.stdin.resume();
  }

  #stopIfBusy(): boolean {
    return this.#proxy.stopIfBusy() || this.#recorder?.isFull === true;
  }

  /** Without waiting for what agents still have to answer, also where that wait has begun. */
  #endHastily(): void {
    this.#hurry();
    void this.#end();
  }

  async #end(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    await this.#proxy.end(this.#hurried, this.#goneAt ?? performance.now());
    // What has come and was not taken up is refused.
    for (let line = this.#reader.next(); line !== undefined; line = this.#reader.next()) {
      this.#recorder?.fromEditor(line);
      this.#proxy.fromEditor(line);
    }
    await this.#writer.drain(stallMs);
    await this.#recorder?.end();
    this.options.signIn.end();
    this.#resolve(this.#status);
  }
}

/** What the proxy takes from this machine: what is kept, and how an agent is run and sees its workspace. */
function containment({ agent, config, host, isDirect, log }: ConnectionOptions) {
  const { persist, keepMs } = config.sessions;
  const { state } = host.folders;
  const file = persist ? new SessionFile(join(state, 'sessions.ndjson'), keepMs, log) : undefined;
  /** What the configuration of a workspace says; `otherwise` where that cannot be used. */
  const configured = <T>(root: string | undefined, read: (config: Config) => T, otherwise: T): T => {
    try {
      return read(root === undefined ? config : loadWorkspaceConfig(host, root).config);
    } catch {
      return otherwise;
    }
  };
  return {
    sessions: new SessionTable(
      new SessionRecords(agent.name, file),
      new WaitingRoom(config.acp.queueToAgentBytes),
    ),
    observers: (core: Core) => [
      ...(persist ? [new UsageObserver(join(state, 'usage'), keepMs, agent.name, log)] : []),
      // Agents that run on this machine execute what they like, and need no image.
      ...(isDirect ? [] : [new ReviewObserver(core, host), new DelayObserver(core)]),
    ],
    hasOwnData: (root: string | undefined) =>
      !isDirect && configured(root, (its) => its.agent.data === 'workspace', true),
    filesOf: (root: string | undefined) => configured(root, ({ acp }) => acp.fs, 'off'),
    placesOf: (root: string) => placesOf(root, host, isDirect),
    commandFor: (workspace: Workspace | undefined) => (isDirect ? agent : contained(agent, workspace)),
    helper: isDirect ? undefined : ownProgram,
  };
}

/** What the agent calls the root of a workspace; `undefined`: as we do. */
function placesOf(root: string, host: Host, isDirect: boolean): [string, ...string[]] | undefined {
  const forced = host.env.CAI_ACP_WORKSPACE_MOUNT;
  if (isDirect) return forced === undefined ? undefined : [forced];
  return [forced ?? mountPointOf(root), fallbackMount];
}

/** The command that runs an agent in the container of a workspace, or in one without a workspace. */
function contained(agent: AgentCommand, workspace: Workspace | undefined): AgentCommand {
  const place =
    workspace === undefined
      ? ['--no-workspace']
      : ['--workspace', workspace.root, '--root-identity', workspace.identity];
  return { ...execution(agent, [...place, '--quiet', '--status-fd', '3']), hasStatus: true };
}

/**
 * `cai --acp [agent] [agent args...]`: the proxy on stdin and stdout. stdout carries ACP lines and
 * nothing else; whatever else is to be said goes to stderr.
 */
import { join } from 'node:path';
import { version } from '../../package.json';
import { Profiles } from '../acp/profiles';
import { Proxy } from '../acp/proxy';
import { Recorder } from '../acp/recorder';
import { SignIn } from '../acp/sign-in';
import { resolveAgent } from '../agent/catalog';
import type { AgentCommand } from '../agent/catalog';
import { runInteractive } from '../agent/interactive';
import { ProfileStore } from '../agent/profile';
import { programIdentity } from '../agent/program-identity';
import { imageTagOf } from '../container/image-tag';
import { CaiError, messageOf } from '../errors';
import { openLog } from '../log';
import { LogFile } from '../log-file';
import type { Log } from '../log';
import { LineReader } from '../rpc/line';
import type { Line } from '../rpc/splice';
import { LineWriter } from '../rpc/writer';
import { SessionFile } from '../session/session-file';
import { SessionTable } from '../session/session-table';
import { UsageFile } from '../session/usage';
import { configFileOf, loadConfig } from '../workspace/config';
import type { Config } from '../workspace/config';
import { loadWorkspaceConfig } from '../workspace/effective-config';
import { fallbackMount, mountPointOf } from '../workspace/mount';
import { ownFolders } from '../workspace/own-folders';
import { findWorkspace } from '../workspace/root';
import type { Workspace } from '../workspace/root';
import { takeRecordOption } from './record-option';

/** Signals that end the proxy as the end of its input does, only without patience. */
const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** How long the editor may take no byte of what is still due at the end, in milliseconds. */
const stallMs = 5_000;

/** Runs the proxy until the editor is gone; resolves with the exit status. */
export async function run(args: readonly string[]): Promise<number> {
  const { env } = process;
  const config = loadConfig(env);
  const { args: named, file } = takeRecordOption(args);
  const [name = config.agent.default, ...agentArgs] = named;
  const isDirect = env.CAI_ACP_DIRECT_SPAWN === '1';
  const agent = resolveAgent(name, agentArgs, {
    agents: config.agents,
    isDirect,
    isTestMode: env.CAI_ACP_TEST_MODE === '1',
    configFile: configFileOf(env),
    cwd: workingDirectory(),
  });
  const childEnv = { ...env, CAI_NO_UPDATE_CHECK: '1' };
  if (process.stdin.isTTY && process.stdout.isTTY) {
    if (agentArgs.length > 0)
      return await runInteractive(isDirect ? agent : await onTerminal(agent, env), childEnv);
    throw new CaiError(
      'USAGE',
      'this is for an editor to start, not for a terminal: put it into the settings of your editor, as the README shows',
    );
  }
  const connection = new Connection(agent, config, childEnv, isDirect, file);
  return await connection.run();
}

/** The folder that we were started in; one that is gone is no workspace, as `/` is none. */
function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** The command that runs an agent in the container of a workspace, or in one without a workspace. */
function contained(agent: AgentCommand, workspace: Workspace | undefined): AgentCommand {
  const place = workspace === undefined ? ['--no-workspace'] : ['--workspace', workspace.root];
  return { ...execution(agent, [...place, '--quiet', '--status-fd', '3']), hasStatus: true };
}

/** The same on our own terminal, for the folder that we were started in if that can be a workspace. */
async function onTerminal(agent: AgentCommand, env: NodeJS.ProcessEnv): Promise<AgentCommand> {
  const folder = workingDirectory();
  const isWorkspace = await findWorkspace(folder, { env }).then(
    () => true,
    () => false,
  );
  return execution(agent, [...(isWorkspace ? ['--workspace', folder] : ['--no-workspace']), '--tty']);
}

/** Our own program, whatever PATH says. */
function execution(agent: AgentCommand, options: readonly string[]): AgentCommand {
  const args = ['exec', '--agent', agent.name, ...options, '--', ...agent.command];
  return { ...agent, command: ownProgram(args) };
}

function ownProgram(args: readonly string[]): [string, ...string[]] {
  return [process.execPath, join(__dirname, '../../bin/cai'), ...args];
}

/** What the agent calls the root of a workspace; `undefined`: as we do. */
function placesOf(
  root: string,
  env: NodeJS.ProcessEnv,
  isDirect: boolean,
): [string, ...string[]] | undefined {
  const forced = env.CAI_ACP_WORKSPACE_MOUNT;
  if (isDirect) return forced === undefined ? undefined : [forced];
  return [forced ?? mountPointOf(root), fallbackMount];
}

/** As in `ProfilesOptions`. A workspace whose configuration cannot be used counts as one that has. */
function hasOwnData(root: string | undefined, config: Config, env: NodeJS.ProcessEnv): boolean {
  try {
    const { agent } = root === undefined ? config : loadWorkspaceConfig(env, root).config;
    return agent.data === 'workspace';
  } catch {
    return true;
  }
}

/** The editor's two pipes and the proxy between them and the agents. */
class Connection {
  readonly #log: Log;
  readonly #reader: LineReader;
  readonly #writer: LineWriter;
  readonly #proxy: Proxy;
  readonly #recorder: Recorder | undefined;
  #resolve: (status: number) => void = () => undefined;
  readonly #hurried: Promise<void>;
  #hurry: () => void = () => undefined;
  #status = 0;
  #isInputOver = false;
  #isEnding = false;

  /** `recordFile`: where all that passes is written down. */
  constructor(
    agent: AgentCommand,
    config: Config,
    env: NodeJS.ProcessEnv,
    isDirect: boolean,
    recordFile: string | undefined,
  ) {
    const about = { pid: process.pid, agent: agent.name, version };
    const log = openLog(env, new LogFile(join(ownFolders(env).state, 'logs'), about));
    this.#log = log;
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
    const file = join(ownFolders(env).state, 'sessions.ndjson');
    const signIn = new SignIn({ agent: isDirect ? undefined : agent, env, log });
    this.#proxy = new Proxy({
      agent,
      config,
      env,
      terminals: isDirect ? 'off' : config.acp.terminal,
      cwd: workingDirectory(),
      signIn,
      profiles: new Profiles({
        agent,
        config,
        imageName: isDirect ? undefined : imageTagOf({ agent: agent.name }),
        profiles: config.sessions.persist
          ? new ProfileStore(join(ownFolders(env).state, 'profiles'), log)
          : undefined,
        hasOwnData: (root) => !isDirect && hasOwnData(root, config, env),
        programIdentity: () => programIdentity(agent.command, env.PATH),
        signIn,
        log,
      }),
      sessions: new SessionTable(
        agent.name,
        config.sessions.persist ? new SessionFile(file, config.sessions.keepMs, log) : undefined,
      ),
      usage: config.sessions.persist
        ? new UsageFile(join(ownFolders(env).state, 'usage'), config.sessions.keepMs, log)
        : undefined,
      writer: this.#writer,
      recorder,
      log,
      placesOf: (root) => placesOf(root, env, isDirect),
      commandFor: (workspace) => (isDirect ? agent : contained(agent, workspace)),
      helper: isDirect ? undefined : ownProgram,
      onRoom: () => this.#pull(),
    });
  }

  /** Resolves with the exit status when the editor is gone and nothing is left. */
  run(): Promise<number> {
    const { stdin } = process;
    stdin.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#pull();
    });
    stdin.on('end', () => {
      this.#reader.end();
      this.#isInputOver = true;
      this.#pull();
    });
    stdin.on('error', (reason) => {
      this.#log.error({ reason: messageOf(reason) }, 'the editor cannot be read any more');
      this.#status = 1;
      this.#endHastily();
    });
    for (const signal of endSignals) process.on(signal, () => this.#endHastily());
    // A bug: the agents must not outlive it, and what is open is still answered.
    process.on('uncaughtException', (error) => {
      this.#log.error({ err: error }, 'internal error: the connection is ended');
      this.#status = 1;
      this.#endHastily();
    });
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Takes the lines that have come, as long as the proxy takes them. */
  #pull(): void {
    while (!this.#isEnding && !this.#mustWait) {
      const line = this.#reader.next();
      if (line === undefined) break;
      this.#recorder?.fromEditor(line);
      this.#proxy.fromEditor(line);
    }
    if (this.#recorder?.isFull === true) this.#recorder.whenRoom(() => this.#pull());
    if (this.#mustWait) process.stdin.pause();
    else if (this.#isInputOver) void this.#end();
    else process.stdin.resume();
  }

  get #mustWait(): boolean {
    return this.#proxy.mustWait || this.#recorder?.isFull === true;
  }

  /** Without waiting for what agents still have to answer, also where that wait has begun. */
  #endHastily(): void {
    this.#hurry();
    void this.#end();
  }

  async #end(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    await this.#proxy.end(this.#hurried);
    await this.#writer.drain(stallMs);
    await this.#recorder?.end();
    this.#resolve(this.#status);
  }
}

/** `cai exec`: runs one command in the container of a workspace, as if it ran here. */
import { spawnSync } from 'node:child_process';
import { posix } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Host } from '../../system/host';
import { watchCommand } from '../../container/ssh/agent-watch';
import { Option } from 'commander';
import { explained, whyKilled } from '../../container/endings';
import { killedStatus } from '../../container/engine/container-info';
import { commandEnvironment, type Variables } from '../../container/environment';
import { openHostPorts } from '../../container/ssh/host-port';
import { diskWarning, shortageWarning } from '../../container/ssh/limit-warnings';
import { relay } from '../../container/ssh/relay';
import type { RemoteProcess } from '../../container/ssh/remote-process';
import type { SshConnection } from '../../container/ssh/ssh';
import { CaiError } from '../../errors';
import { statusLine, type AgentStatus } from '../../rpc/status';
import type { Settings } from '../../container/spec/spec';
import { recordUse } from '../../workspace/records';
import type { Workspace } from '../../workspace/root';
import { changesEnded } from '../../network';
import { safeProgram } from '../../system/paths/safe-program';
import { quoted } from '../../system/quoted';
import { common, declare, several } from '../support/command';
import { tell } from '../support/terminal';
import { Guard } from './guard';
import { openSshAgent } from './ssh-agent-socket';
import { setUpContainer } from './set-up';
import { openWay } from './way-out';
import { Target, targetOptions, type TargetOptions } from '../containers/target';
import { innermost } from '../../system/paths/is-inside';

export interface ExecOptions extends TargetOptions {
  /** Folder to start in: as it is named inside, or relative to the folder that we are in. */
  readonly cwd?: string;
  /** `NAME=value`, or `NAME` for the value that it has here. */
  readonly env: readonly string[];
  readonly tty?: boolean;
  /** Descriptor that is told what happens before the command runs, and whose end is ours. */
  readonly statusFd?: number;
  /** Whether the first SIGTERM or SIGHUP ends the command and all that it has started, instead of being passed on. */
  readonly endsOnSignal?: boolean;
  /** Identity of the process for which the command runs, besides our parent: its end, too, is ours. */
  readonly wantedBy?: string;
  /** Whether a sign-in that the command makes is for all workspaces; otherwise it is for this one alone. */
  readonly signsInForAll?: boolean;
  /** What is opened on its connection before the command runs, and closed when that has ended. */
  readonly beside?: (connection: SshConnection) => Promise<{ close(): Promise<void> }>;
}

export const run = declare<Partial<ExecOptions>>({
  name: 'exec',
  description: `Runs a command in the container of a workspace, which is made and started when needed. stdin, stdout,
stderr, signals and the exit status are the command's own.`,
  arguments: [['<command...>', 'program and arguments, started without a shell']],
  options: [
    ...targetOptions,
    ['--cwd <folder>', 'folder to start in: relative to the current folder, or a path in the container'],
    new Option(
      '-e, --env <name[=value]>',
      'set a variable; without a value, pass on the one it has here',
    ).argParser(several),
    ['-t, --tty', 'give the command a terminal'],
    new Option(
      '--status-fd <number>',
      'report there what happens before the command runs, as JSON lines; closing it ends the command',
    ).argParser(Number),
    common.rootIdentity,
  ],
  passesThrough: true,
  footer: `
Exit status: the command's own, or 128+N if signal N ended it. Otherwise: 2 wrong usage, 10 container gone,
11 start failed, 12 SSH keys, 13 connection, 14 wrong host key, 15 not a container of cai.`,
  action: (options, host, argv) =>
    runInContainer(argv as [string, ...string[]], { env: [], ...options }, host),
});

export async function runInContainer(
  argv: readonly [string, ...string[]],
  options: ExecOptions,
  host: Host,
): Promise<number> {
  if (options.tty === true && !host.isOnTerminal)
    throw new CaiError('USAGE', '-t needs a terminal on stdin and stdout: leave it out');
  const terminalType = options.tty === true ? ['TERM', 'COLORTERM'] : [];
  const env = variables([...options.env, ...terminalType], host);
  const guard = new Guard(options.endsOnSignal === true, options.wantedBy);
  const status = options.statusFd === undefined ? undefined : guard.openLifeline(options.statusFd);
  try {
    const target = await Target.find(options, host, status);
    return await runIn(target, { argv, env }, options, { host, guard, status });
  } catch (reason) {
    if (reason instanceof CaiError) status?.write(statusLine({ kind: 'failed', code: reason.code }));
    throw reason;
  }
}

interface ExecContext {
  readonly host: Host;
  readonly guard: Guard;
  /** The program that has started us, if it wants to be told. */
  readonly status: Duplex | undefined;
}

async function runIn(
  target: Target,
  { argv, env }: { readonly argv: readonly [string, ...string[]]; readonly env: Variables },
  options: ExecOptions,
  { host, guard, status }: ExecContext,
): Promise<number> {
  const { config, settings } = target.wanted;
  const { container, connection } = await target.connect();
  guard.connection = connection;
  let beside: { close(): Promise<void> } | undefined;
  let sshAgent: ReturnType<typeof openSshAgent> | undefined;
  let hostPorts: ReturnType<typeof openHostPorts> | undefined;
  try {
    hostPorts = openHostPorts(connection, config.network.hostPorts, {
      id: container.id,
      state: host.folders.state,
      tell: target.voice.tell,
    });
    const base = commandEnvironment(container, config, host.env, settings);
    const place = { container, connection, base, own: env };
    const cwd = startFolder(target.wanted, options.cwd);
    sshAgent = openSshAgent(target.wanted, connection, host, options.quiet === true);
    const way = openWay(target.wanted, place, { host, guard }, options);
    const command = Promise.all([way, sshAgent]).then(([{ env: all, files }, agent]) => ({
      ...{ argv, cwd, files },
      env: [...agent.env, ...all],
    }));
    // It is waited for below.
    command.catch(() => undefined);
    beside = await options.beside?.(connection);
    await hostPorts;
    await setUpContainer(target, { ...place, command, host });
    const terminal = options.tty === true ? { ...windowSize(), term: host.env.TERM ?? 'xterm' } : undefined;
    const remote = await connection.run(command, terminal ?? 'pipes');
    guard.command = remote;
    if (status !== undefined) {
      const { imageId: image, isNew } = container;
      const pipes = remote.pipes?.descriptors;
      status.write(statusLine({ kind: 'started', image, imageName: target.imageName, isNew, pipes }));
      tellOf(remote, connection, status, settings.diskBytes);
    }
    if (terminal !== undefined) useTerminal(remote, host);
    // Until here `endWithReader` (main.ts) ends us where nobody reads stdout; from here on the command is ended first.
    process.stdout.removeAllListeners('error');
    const ended = await relay(remote, process, guard.link);
    const why = ended === killedStatus ? await whyKilled(connection, settings.diskBytes) : undefined;
    if (why !== undefined) tell(why);
    return ended;
  } catch (reason) {
    throw await explained(reason, target.wanted.engine, container);
  } finally {
    if (options.tty === true) process.stdin.setRawMode(false);
    await beside?.close().catch(() => undefined);
    await sshAgent?.then((opened) => opened.close()).catch(() => undefined);
    const told = connection.end();
    void hostPorts?.then((endNotes) => endNotes());
    recordUse(host.folders.state, settings.workspace);
    await told;
    await changesEnded();
  }
}

/** When the command begins to be watched, in milliseconds: its start has the processors to itself. */
const watchAfterMs = 2_000;

/** Tells the program that started us what the command cannot say itself. `diskBytes`: as for `whyKilled`. */
function tellOf(
  command: RemoteProcess,
  connection: SshConnection,
  status: Duplex,
  diskBytes: number | undefined,
): void {
  const report = (said: AgentStatus | undefined) => said && status.write(statusLine(said));
  const [memory, processes] = [shortageWarning('memory'), shortageWarning('processes')];
  const heard = {
    stopped: () => report({ kind: 'stopped' }),
    disk: (words: string) => report(diskWarning(words, diskBytes)),
    memory: (words: string) => report(memory(words)),
    processes: (words: string) => report(processes(words)),
  };
  const onUnwatchable = () => report({ kind: 'unwatchable' });
  setTimeout(() => void watchCommand(connection, { command, heard, onUnwatchable }), watchAfterMs).unref();
  // Why the connection is lost takes a while to find out, in which more may be sent to us that never gets there.
  let takenBytes = 0;
  process.stdin.on('data', (chunk: Buffer) => (takenBytes += chunk.length));
  void connection.lost.then(() => report({ kind: 'lost', takenBytes }));
}

/** Where the command starts, as a path in the container. Fails with `CaiError('USAGE')` if the container lacks it. */
export function startFolder(
  {
    workspace,
    settings,
  }: {
    workspace: Workspace | undefined;
    settings: Pick<Settings, 'binds' | 'workingFolder' | 'isCopied'>;
  },
  cwd = '.',
): string {
  if (workspace === undefined || posix.isAbsolute(cwd)) return posix.resolve(settings.workingFolder, cwd);
  const folder = posix.resolve(workspace.realCwd, cwd);
  const { binds, isCopied, workingFolder: target } = settings;
  const copied = isCopied ? [{ source: workspace.root, target }] : [];
  const bind = innermost(folder, [...binds, ...copied], ({ source }) => source);
  if (bind !== undefined) return posix.join(bind.target, posix.relative(bind.source, folder));
  throw new CaiError(
    'USAGE',
    `--cwd: ${quoted(folder)} is not in the container, which has the workspace ${quoted(workspace.root)} and your [[mounts]]`,
  );
}

function variables(given: readonly string[], { env }: Host): Variables {
  return given.flatMap((each) => {
    const [, name, , value] = /^([^=]+)(=(.*))?$/s.exec(each) ?? [];
    if (name === undefined) throw new CaiError('USAGE', '-e needs NAME=value or NAME');
    const chosen = value ?? env[name];
    return chosen === undefined ? [] : [[name, chosen] as const];
  });
}

function useTerminal(remote: RemoteProcess, host: Host): void {
  process.stdin.setRawMode(true);
  // In raw mode Node still lets the terminal turn LF into CR LF; the terminal inside handles that.
  const stty = safeProgram('stty', host);
  if (stty !== undefined) spawnSync(stty, ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
  process.stdout.on('resize', () => {
    const { columns, rows } = windowSize();
    remote.resize(columns, rows);
  });
}

const windowSize = () => ({ columns: process.stdout.columns, rows: process.stdout.rows });

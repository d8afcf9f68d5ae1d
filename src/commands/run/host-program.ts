/** An MCP server that the user allows on this machine: a process of its program for each connection. */
import type { Duplex, Readable } from 'node:stream';
import type { Host } from '../../system/host';
import { AgentProcess } from '../../agent/process';
import type { StopLadder } from '../../agent/process-end';
import type { Settings } from '../../container/spec/spec';
import { removeInside } from '../../container/ssh/short-command';
import type { SshConnection } from '../../container/ssh/ssh';
import { CaiError, messageOf } from '../../errors';
import { openLog, type Log } from '../../system/log';
import { AgentFolders } from '../../system/paths/agent-folders';
import { findProgram } from './find-program';

/** What is run, with what environment besides ours, and on what socket inside agents reach it. */
interface ProgramOrder {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [string, string])[];
  readonly socket: string;
}

/** Each agent uses one or two; a process of the program costs more than a connection. */
const maxProcesses = 16;
/** Longest message of a server, in bytes. */
const limits = { maxLineBytes: 64 * 2 ** 20, maxSearchBytes: 0 };
/** When the agent is done with one. Source: MCP, lifecycle: stdin is closed, then signals. */
const politeStop: StopLadder = { termAfterMs: 2_000, killAfterMs: 1_000 };
/** When we are ending: the proxy does not wait much longer. */
const endingStop: StopLadder = { termAfterMs: 300, killAfterMs: 700 };

/** The order that the first line of a stream is, a JSON object. */
export async function readOrder(input: Readable): Promise<ProgramOrder> {
  const chunks: Buffer[] = [];
  for await (const chunk of input.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (chunk.includes('\n')) break;
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as ProgramOrder;
  } catch {
    throw new CaiError('USAGE', 'stdin has to begin with a line that describes the program');
  }
}

export class HostProgram {
  readonly #processes = new Set<AgentProcess>();
  readonly #log: Log;
  readonly #env: NodeJS.ProcessEnv;
  #isOver = false;

  /** Nothing is started yet. `tell` says what the user has to know. */
  constructor(
    private readonly order: ProgramOrder,
    private readonly tell: (notice: string) => void,
    private readonly host: Host,
  ) {
    this.#log = openLog(host.env);
    this.#env = { ...host.env, ...Object.fromEntries(order.env) };
  }

  /** Serves the socket inside. Rejects with `WORKSPACE` if there is no such program, or agents can change it. */
  async listen(connection: SshConnection, { binds }: Pick<Settings, 'binds'>): Promise<void> {
    const writable = binds.filter(({ isReadOnly }) => !isReadOnly).map(({ source }) => source);
    this.#find(writable);
    await connection.listen(this.order.socket, (stream) => {
      stream.on('error', () => undefined);
      try {
        // Looked for each time: what leads to it may be another program by now.
        const hasRoom = !this.#isOver && this.#processes.size < maxProcesses && !stream.destroyed;
        if (hasRoom) this.#start(stream, this.#find(writable));
        else stream.destroy();
      } catch (reason) {
        this.tell(messageOf(reason));
        stream.destroy();
      }
    });
  }

  /** Ends all processes and takes the socket away; resolves when nothing of them is left. */
  async end(connection: SshConnection | undefined): Promise<void> {
    this.#isOver = true;
    await Promise.all([
      ...[...this.#processes].map((each) => each.stop(endingStop)),
      connection && removeInside(connection, this.order.socket),
    ]);
  }

  /** Nothing that any agent can write counts; what this container gets is known even where nothing is recorded. */
  #find(writable: readonly string[]): ReturnType<typeof findProgram> {
    const folders = new AgentFolders(this.host.folders.state, writable);
    return findProgram(this.order.command, { home: this.host.home, path: this.#env.PATH, folders });
  }

  #start(stream: Duplex, { file, path }: ReturnType<typeof findProgram>): void {
    const { name, args } = this.order;
    let isHeldBack = false;
    const options = {
      agent: { name, displayName: name, remedy: 'install it', command: [file, ...args] },
      // Not the workspace: there `npx` and the like run what they find, and agents write it.
      cwd: this.host.home,
      env: { ...this.#env, PATH: path },
      limits,
      log: this.#log,
    } as const;
    const started = new AgentProcess(options, (event) => {
      if (event.kind === 'line') {
        const { line } = event;
        if (!Buffer.isBuffer(line)) stream.destroy();
        else if (!stream.write(Buffer.concat([line, newline])) && !isHeldBack) {
          isHeldBack = true;
          started.pause();
        }
      } else if (event.kind === 'end') {
        if (event.reason.code === 'AGENT_START') this.tell(event.reason.message);
        stream.end();
      }
    });
    this.#processes.add(started);
    stream.on('drain', () => {
      if (isHeldBack) started.resume();
      isHeldBack = false;
    });
    stream.on('data', (chunk: Buffer) => {
      started.send(chunk);
      if (started.unreadBytes > limits.maxLineBytes) stream.destroy();
    });
    // It may have more to say once there is nothing more to read.
    stream.on('end', () => void started.stop(politeStop));
    stream.on('close', () => void started.stop(politeStop).then(() => this.#processes.delete(started)));
  }
}

const newline = Buffer.from('\n');

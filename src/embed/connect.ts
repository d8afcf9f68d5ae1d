/**
 * The proxy inside another program, with that program as its editor. Nothing of the process is used for it: no stdin or
 * stdout, no signal, no handler.
 */
import { realpathSync, statSync } from 'node:fs';
import { duplexPair } from 'node:stream';
import { chooseAgent, commonOptions } from '../commands/acp/common-options';
import { Connection } from '../commands/acp/connection';
import { CaiError } from '../errors';
import { hostOf } from '../system/paths/search-path';
import { quoted } from '../system/quoted';
import type { ByteStream, MessageStream, StreamPair } from './message';
import { byteForm, messageForm, WebStreams, type Form } from './web-streams';

/** How a connection differs from that of `cai --acp`, started in this process. */
export interface ConnectOptions {
  /** Name of an agent. Default: `agent.default` in the configuration, else `claude`. */
  readonly agent?: string | undefined;
  /** More arguments of the agent's command. */
  readonly agentArgs?: readonly string[] | undefined;
  /** The folder that the proxy counts as started in. Default: the current folder. Sessions name their own. */
  readonly cwd?: string | undefined;
  /** The whole environment of the proxy: where the configuration and the engine are. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** True: agents run as programs of this machine, in no container. Default: as `CAI_ACP_DIRECT_SPAWN` says. */
  readonly direct?: boolean | undefined;
}

export interface Ending {
  /** Resolves when the connection has ended and no process of it is left. Never rejects. */
  readonly closed: Promise<void>;
  /** Ends it at once: turns are cancelled, unread messages are dropped, agents are ended. Returns `closed`. */
  close(): Promise<void>;
}

/** A connection to agents, one in each workspace. The SDK takes it as its `Stream`. */
export interface AgentConnection extends MessageStream, Ending {}

/**
 * Starts the proxy in this process. Any number of connections can be open. Close each: its agents live as long. Throws a
 * `CaiError` for an agent that is not known (`UNSUPPORTED_AGENT`), a configuration that cannot be used (`CONFIG`) and a
 * `cwd` that is no folder (`WORKSPACE`). What goes wrong later is answered to the request that it concerns.
 */
export function connect(options: ConnectOptions = {}): AgentConnection {
  return open(options, messageForm());
}

/**
 * As `connect`, for an editor at the other end of `stream`, such as a `Stream` of the SDK: its `readable` has what the
 * editor sends, its `writable` takes what the editor gets. Where one of them ends or fails, the connection ends; with the
 * connection, both end.
 */
export function serve(stream: MessageStream, options: ConnectOptions = {}): Ending {
  return joined(stream, open(options, messageForm()));
}

/** As `serve`, for an editor that sends and gets bytes: each message a line of JSON. */
export function serveBytes(stream: ByteStream, options: ConnectOptions = {}): Ending {
  return joined(stream, open(options, byteForm));
}

function joined<T>(stream: StreamPair<T>, connection: StreamPair<T> & Ending): Ending {
  const { closed } = connection;
  const close = (): Promise<void> => connection.close();
  stream.readable.pipeTo(connection.writable).catch(close);
  connection.readable.pipeTo(stream.writable).catch(close);
  return { closed, close };
}

function open<T>(options: ConnectOptions, form: Form<T>): StreamPair<T> & Ending {
  const { agent, agentArgs = [], cwd, env = process.env, direct } = options;
  const chosenEnv = { ...env, CAI_NO_UPDATE_CHECK: '1', ...spawning(direct) };
  const host = hostOf(chosenEnv, cwd === undefined ? undefined : folderAt(cwd));
  const common = commonOptions(chooseAgent(agent, agentArgs, host), host, nowhere);
  const [ours, theirs] = duplexPair();
  const connection = new Connection({ ...common, early: undefined, recordFile: undefined }, theirs, theirs);
  const close = (): Promise<void> => {
    connection.end();
    streams.drop(ended());
    return closed;
  };
  const streams = new WebStreams(ours, form, () => void close());
  const closed = connection.run().then(() => {
    streams.refuse(ended());
    // A write that was under way is over, too.
    theirs.removeAllListeners('data').resume().end();
    common.log.end();
  });
  // Also where what nobody reads was given up.
  theirs.on('close', () => streams.drop(ended()));
  return { readable: streams.readable, writable: streams.writable, closed, close };
}

/** A program that embeds us has its own stderr; `cai logs` shows what is logged. */
const nowhere = { write: (): void => undefined };

const ended = (): CaiError => new CaiError('AGENT_EXITED', 'the connection has ended');

function spawning(direct: boolean | undefined): NodeJS.ProcessEnv {
  return direct === undefined ? {} : { CAI_ACP_DIRECT_SPAWN: direct ? '1' : '0' };
}

/** Its real path. */
function folderAt(cwd: string): string {
  try {
    const folder = realpathSync(cwd);
    if (statSync(folder).isDirectory()) return folder;
  } catch {
    // As below.
  }
  throw new CaiError('WORKSPACE', `"cwd" is no folder that can be opened: ${quoted(cwd)}`);
}

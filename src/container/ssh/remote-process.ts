/** A command that runs in a container, on a channel of its SSH connection. */
import { once } from 'node:events';
import { constants } from 'node:os';
import { Readable, type Duplex, type Writable } from 'node:stream';
import { CaiError } from '../../errors';
import type { OpenPipes } from '../engine/engine';
import { streamsOf } from './pipes';

/** The signals that can be sent to a command. */
export type RemoteSignal = 'TERM' | 'INT' | 'HUP' | 'QUIT' | 'USR1' | 'USR2';

/** A command that runs in a container. */
export interface RemoteProcess {
  /** Its end is passed on, and ends nothing else. */
  readonly stdin: Writable;
  /**
   * With a terminal, all output. It and `stderr` share one window: who leaves one of them unread gets no more of the
   * other after a while.
   */
  readonly stdout: Readable;
  /** Must be read or resumed, like `stdout`. */
  readonly stderr: Readable;
  /** For the command and its process group; nothing once the command has ended. */
  signal(name: RemoteSignal): void;
  /** Tells a new size of the terminal. */
  resize(columns: number, rows: number): void;
  /**
   * Resolves with its exit status, 128 + N if signal N ended it, once all its output has arrived. Rejects with
   * `SSH_CONNECT` if the connection is lost before.
   */
  readonly exited: Promise<{ readonly status: number }>;
  /** Whether it has ended. What it has said may still be on its way. */
  readonly hasEnded: boolean;
}

/** What a command needs of its connection. */
interface Around {
  /** Tells why the connection has ended, if it has. */
  readonly lost: () => CaiError | undefined;
  /** Sends a signal to a process inside, where sshd cannot do it. */
  readonly kill: (name: RemoteSignal, pid: string) => void;
  /** Resolves with `undefined` where the channel is to carry stdin and stdout. */
  readonly openPipes?: (() => Promise<OpenPipes | undefined>) | undefined;
}

/** A session channel of ssh2, as far as we use it. */
type SessionChannel = Duplex & { readonly stderr: Readable };

/**
 * Sends the header to the supervisor on a new channel, once it is known; resolves when the supervisor has read it. A
 * signal that is sent before would be lost if sshd had not executed anything yet. If the header asks for pipes,
 * `openPipes` opens them.
 */
export async function startProcess(
  channel: SessionChannel,
  header: Promise<Buffer>,
  { lost, kill, openPipes }: Around,
): Promise<RemoteProcess> {
  // What is written when the command has ended may be lost.
  channel.on('error', () => undefined);
  const { stdout, stderr } = openOutput(channel);
  const { outgoing, _client } = channel as unknown as ChannelInside;
  const exited = exitOf(channel, lost);
  let isOpen = true;
  let hasEnded = false;
  channel.on('exit', () => (hasEnded = true));
  channel.on('close', () => (isOpen = false));
  const ready = readiness(stdout);
  ready.catch(() => undefined);
  channel.write(await header);
  const { pid, hasPipes } = await ready;
  const pipes = hasPipes ? await openPipes?.().catch(() => undefined) : undefined;
  if (hasPipes) channel.write(pipes === undefined ? '0' : '1');
  const direct = pipes && streamsOf(pipes);
  if (direct !== undefined) {
    stdout.resume();
    if (isOpen) channel.on('close', () => direct.end());
    else direct.end();
  }
  return {
    stdin: direct?.stdin ?? channel,
    stdout: direct?.stdout ?? stdout,
    stderr,
    signal(name) {
      if (!isOpen) return;
      if (pid === '') _client._protocol.signal(outgoing.id, name);
      else kill(name, pid);
    },
    resize(columns, rows) {
      if (isOpen) _client._protocol.windowChange(outgoing.id, rows, columns, 0, 0);
    },
    exited,
    get hasEnded() {
      return hasEnded || !isOpen;
    },
  };
}

/**
 * Takes from the output what the supervisor says of itself: its pid, if sshd will not pass signals on, whether it has made
 * pipes, and a NUL byte. What is no supervisor says something else, which stays where it is and tells why.
 */
async function readiness(stdout: Readable): Promise<{ readonly pid: string; readonly hasPipes: boolean }> {
  await once(stdout, 'readable');
  const output = (stdout.read() ?? Buffer.alloc(0)) as Buffer;
  const [said, pid = '', pipes] = /^([0-9]*)(\|)?\0/.exec(output.toString('latin1', 0, 16)) ?? [''];
  if (output.length > said.length) stdout.unshift(output.subarray(said.length));
  return { pid, hasPipes: pipes !== undefined };
}

function exitOf(channel: SessionChannel, lost: () => CaiError | undefined): RemoteProcess['exited'] {
  const exited = new Promise<{ status: number }>((resolve, reject) => {
    let status: number | undefined;
    const signals: Readonly<Record<string, number | undefined>> = constants.signals;
    channel.on('exit', (code: number | null, signal: string | undefined = '') => {
      // sshd names 13 signals, and no others.
      status = code ?? 128 + (signals[signal] ?? constants.signals.SIGKILL);
    });
    channel.on('close', () => {
      // The status comes before the last output, which a lost connection may have kept back.
      const failure = lost();
      if (failure !== undefined) reject(failure);
      else if (status !== undefined) resolve({ status });
      else reject(new CaiError('SSH_CONNECT', 'sshd gave no exit status of the command: start it again'));
    });
  });
  // Who does not wait for it need not be told.
  exited.catch(() => undefined);
  return exited;
}

/**
 * What ssh2 sends requests with. Its own methods for them do nothing once stdin has ended, though a channel takes
 * requests until it is closed. Source: RFC 4254, 5.3.
 */
interface ChannelInside {
  readonly outgoing: { readonly id: number };
  readonly _client: {
    readonly _protocol: {
      signal(channel: number, name: RemoteSignal): void;
      windowChange(channel: number, rows: number, columns: number, height: number, width: number): void;
    };
  };
}

/** What each stream may hold before the window stays shut, in bytes. */
const highWaterMark = 256 * 1024;
/** Shorter pieces are put together, so many of them, in bytes. */
const smallBytes = 1_024;
const maxPieces = 256;

/**
 * stdout and stderr of an SSH channel, each of which ends when the channel does. Call before the channel has any data.
 *
 * They share one window. ssh2 opens that window again when either of them is read, so that a few bytes on the one make
 * room for megabytes that nobody reads on the other. Here it is opened only when both have room: memory is bounded by a
 * window beyond what each of them may hold.
 */
export function openOutput(channel: Readable & { readonly stderr: Readable }) {
  const full = new Set<Readable>();
  function divert(source: Readable): Readable {
    /** What came in small pieces while it was full, put together: each takes far more memory than its bytes. */
    let pieces: Buffer[] = [];
    const take = (): void => {
      const all = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      if (!stream.push(all)) full.add(stream);
    };
    const stream: Readable = new Readable({
      highWaterMark,
      read: () => {
        full.delete(stream);
        if (pieces.length > 0) take();
        // Opens the window if it was left shut.
        if (full.size === 0) channel._read(0);
      },
    });
    const push = source.push.bind(source);
    source.push = (chunk: Buffer | null) => {
      if (chunk === null) {
        if (pieces.length > 0) take();
        stream.push(null);
        // What holds nothing must end all the same, for the channel to close.
        return push(null);
      }
      pieces.push(chunk);
      if (!full.has(stream) || chunk.length >= smallBytes || pieces.length >= maxPieces) take();
      // ssh2 leaves the window shut where a stream says that it is full.
      return full.size === 0;
    };
    source.resume();
    return stream;
  }
  return { stdout: divert(channel), stderr: divert(channel.stderr) };
}

/** A command that runs in a container, on a channel of its SSH connection. */
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { CaiError } from '../../errors';
import { streamsOf, type OpenPipes, type PipeStreams } from '../../system/streams/pipe-streams';
import { openOutput } from './window';

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
  /** What `stdin` and `stdout` are, where they are pipes, so that another program can take them. */
  readonly pipes?: Pick<PipeStreams, 'descriptors' | 'release'> | undefined;
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
  const { outgoing, _client } = channel as unknown as ChannelRequests;
  const exited = exitOf(channel, lost);
  let isOpen = true;
  let hasEnded = false;
  channel.on('exit', () => (hasEnded = true));
  const closed = new Promise<void>((resolve) => channel.on('close', () => resolve()));
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
    // Also where it has closed meanwhile.
    void closed.then(() => direct.end());
  }
  return {
    stdin: direct?.stdin ?? channel,
    stdout: direct?.stdout ?? stdout,
    stderr,
    pipes: direct,
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
interface ChannelRequests {
  readonly outgoing: { readonly id: number };
  readonly _client: {
    readonly _protocol: {
      signal(channel: number, name: RemoteSignal): void;
      windowChange(channel: number, rows: number, columns: number, height: number, width: number): void;
    };
  };
}

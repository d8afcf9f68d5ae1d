/** Who still wants a command: it ends with them, and signals reach it. */
import { Socket } from 'node:net';
import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { CommandLink } from '../../rpc/status';
import { changesEnded } from '../../network';
import type { RemoteProcess, RemoteSignal } from '../../container/ssh/remote-process';
import type { SshConnection } from '../../container/ssh/ssh';
import { CaiError } from '../../errors';
import { isRunning } from '../../system/process-identity';

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** How often it is checked whether anybody still wants the command, in milliseconds. */
const wantedCheckMs = 1_000;

/** Passes signals on, and ends the command when nobody wants it any more, or a signal is repeated. */
export class Guard {
  command: RemoteProcess | undefined;
  /** Its connection, which is ended when we leave. */
  connection: SshConnection | undefined;
  /** To whoever holds the other end of the lifeline; undefined without one. */
  link: CommandLink | undefined;
  readonly #seen = new Set<string>();
  readonly #parent = process.ppid;

  /** `endsOnSignal`, `wantedBy`: as in `ExecOptions`. */
  constructor(
    private readonly endsOnSignal: boolean,
    wantedBy: string | undefined,
  ) {
    for (const signal of forwarded) process.on(signal, () => this.#take(signal));
    // A parent that was killed closes neither our input, if others hold it, nor our output.
    setInterval(() => {
      const isUnwanted = wantedBy !== undefined && isRunning(wantedBy) === false;
      if (process.ppid !== this.#parent || isUnwanted) this.#leave('SIGHUP');
    }, wantedCheckMs).unref();
  }

  /** A stream whose other end is held by somebody who wants the command; we leave when it is closed. */
  openLifeline(fd: number): Duplex {
    const lifeline = openSocket(fd);
    // Closing is told by the end, or by an error where something is still unread.
    lifeline.on('error', () => undefined).on('close', () => this.#leave('SIGHUP'));
    this.link = new CommandLink(lifeline);
    return lifeline.unref();
  }

  #take(signal: (typeof forwarded)[number]): void {
    const isRepeated = this.#seen.has(signal) && (signal === 'SIGINT' || signal === 'SIGTERM');
    this.#seen.add(signal);
    const isEnd = this.endsOnSignal && (signal === 'SIGTERM' || signal === 'SIGHUP');
    if (this.command === undefined || isRepeated || isEnd) this.#leave(signal);
    else this.command.signal(signal.slice('SIG'.length) as RemoteSignal);
  }

  #leave(signal: (typeof forwarded)[number]): void {
    this.connection?.destroy();
    void changesEnded().finally(() => process.exit(128 + constants.signals[signal]));
  }
}

function openSocket(fd: number): Socket {
  try {
    if (Number.isInteger(fd) && fd > 2) return new Socket({ fd });
  } catch {
    // Not open, or nothing that can be read and written.
  }
  throw new CaiError(
    'USAGE',
    '--status-fd needs the number of an open descriptor above 2, a pipe or a socket',
  );
}

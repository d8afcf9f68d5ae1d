/** The SSH side of a container: a connection to its sshd, commands on it, and ways to its ports. */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type Algorithms, type Channel, type ClientChannel, type ExecOptions } from 'ssh2';
import { CaiError, messageOf } from '../../errors';
import { printableLine } from '../../system/quoted';
import { userName } from '../spec/files';
import { fingerprint } from '../../network';
import { paceOf, together } from './pace';
import { encodeHeader, type RemoteCommand } from './remote-command';
import { startProcess, type RemoteProcess, type RemoteSignal } from './remote-process';
import {
  cannotConnect,
  closedEarly,
  connectionLost,
  isStarting,
  wrongHostKey,
  type SshTarget,
} from './ssh-target';
import { heedWindow } from './window';

/** The one command that sshd is ever asked to run. */
const supervisor = 'exec /run/cai/supervisor';

/** A container that no longer answers is noticed after one interval more than that: 16 seconds. */
const keepalive = { keepaliveInterval: 4_000, keepaliveCountMax: 3 };
/** How long after its end a connection may take to close, in milliseconds. */
const closeMs = 1_000;
/** How long the container may take to answer a request, in milliseconds: one that is hostile never does. */
const answerMs = 30_000;
/** Bytes of ssh2's own answers that may wait for a container that does not read; what we send is paced (`pace.ts`). */
const maxUnreadBytes = 16 * 2 ** 20;
/** Between two attempts, in milliseconds: sshd needs some tens of them to start, and seconds on a busy machine. */
const firstPauseMs = 5;
const maxPauseMs = 1_000;
/** By how much a pause is longer than the one before: at most a third of the time until then. */
const pauseGrowth = 1.5;

/** Quick in Node without native code, and known to every sshd of the last ten years. */
const algorithms: Algorithms = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'],
  compress: ['none'],
};

/** While the supervisor reads its header, the terminal passes every byte as it is, and repeats none. */
const rawTerminal = { ECHO: 0, ICANON: 0, ISIG: 0, IEXTEN: 0, ICRNL: 0, IXON: 0, OPOST: 0 } as const;

/** A connection to the sshd of a container. When it ends, for whatever reason, its commands are ended. */
export class SshConnection {
  /** Resolves when the connection has ended without our doing. */
  readonly lost: Promise<CaiError>;
  #loss: CaiError | undefined;
  #hasEnded = false;
  /** Why it ends, unless that is our doing. */
  #reason = 'it was closed';
  readonly #paced: ReturnType<typeof paceOf>;
  /** Who takes the connections that come from the container, by the port or socket that we asked for. */
  readonly #takers = new Map<string, (stream: Duplex) => void>();

  /**
   * Connects and logs in, and waits for an sshd that is still starting. Rejects with `HOST_KEY` if something else
   * answers, and with `SSH_CONNECT` if nothing does within `timeoutMs`, to which an engine that hangs adds its own, or it
   * does not let us in.
   */
  static async open(target: SshTarget, timeoutMs = 30_000): Promise<SshConnection> {
    const deadline = Date.now() + timeoutMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseGrowth * pauseMs, maxPauseMs)) {
      try {
        return await SshConnection.#attempt(target, deadline - Date.now());
      } catch (reason) {
        if (reason instanceof CaiError) throw reason;
        if (!isStarting(reason) || Date.now() + pauseMs >= deadline) throw cannotConnect(target, reason);
      }
      await pause(pauseMs);
    }
  }

  static async #attempt(target: SshTarget, timeoutMs: number): Promise<SshConnection> {
    const stream = together(await target.connect());
    return await new Promise((resolve, reject) => {
      const client = new Client();
      client.on('error', (error) => {
        stream.destroy();
        reject(error);
      });
      client.on('close', () => reject(new Error(closedEarly)));
      client.on('ready', () => resolve(new SshConnection(target, client, stream)));
      client.connect({
        sock: stream,
        username: userName,
        privateKey: target.privateKey,
        authHandler: ['publickey'],
        readyTimeout: Math.max(timeoutMs, 1),
        hostVerifier: (key: Buffer) => {
          const offered = fingerprint(key);
          if (offered !== target.hostKey) reject(wrongHostKey(target, offered));
          return offered === target.hostKey;
        },
        algorithms,
        ...keepalive,
      });
    });
  }

  private constructor(
    private readonly target: SshTarget,
    private readonly client: Client,
    private readonly stream: Duplex,
  ) {
    this.#paced = paceOf(stream);
    client.on('tcp connection', ({ destPort }, accept, reject) => this.#take(destPort, accept, reject));
    client.on('unix connection', ({ socketPath }, accept, reject) => this.#take(socketPath, accept, reject));
    client.on('error', (error) => (this.#reason = printableLine(error.message)));
    // Answers to what it asks for, which ssh2 sends by itself, would pile up.
    const watch = setInterval(() => {
      if (stream.writableLength > maxUnreadBytes) this.#cut('it does not read what it is sent');
    }, 1_000).unref();
    this.lost = new Promise((resolve) => {
      client.on('close', () => {
        clearInterval(watch);
        this.#loss = connectionLost(target, this.#hasEnded ? 'we ended it' : this.#reason);
        if (!this.#hasEnded) resolve(this.#loss);
      });
    });
  }

  /**
   * Starts a command, with a terminal if one is given: of so many characters by lines, and of the type `term`, which is
   * not the command's `TERM`. `'pipes'`: its stdin and stdout take the way past sshd where there is one, which is quicker
   * for much or for long. That the program is not there is told by its status, as a shell does. A command that is
   * promised is waited for while its way is opened; if that promise rejects, so does this. Rejects also with `USAGE`
   * for text that cannot be passed on, and with `SSH_CONNECT`.
   */
  async run(
    command: RemoteCommand | Promise<RemoteCommand>,
    by?: { readonly columns: number; readonly rows: number; readonly term: string } | 'pipes',
  ): Promise<RemoteProcess> {
    const terminal = by === 'pipes' ? undefined : by;
    const { openPipes } = this.target;
    const pipes = by === 'pipes' && openPipes !== undefined ? randomUUID() : undefined;
    const header = Promise.resolve(command).then((known) => encodeHeader(known, pipes));
    const size = terminal && { cols: terminal.columns, rows: terminal.rows, width: 0, height: 0 };
    const options: ExecOptions = size ? { pty: { ...size, term: terminal.term, modes: rawTerminal } } : {};
    const around = {
      lost: () => this.#loss,
      kill: (name: RemoteSignal, pid: string) => this.#kill(name, pid),
      openPipes: pipes === undefined ? undefined : () => openPipes!(pipes),
    };
    const failed = `a command cannot be started in container "${this.target.container}"`;
    const starting = this.#request<RemoteProcess>(failed, (done) => {
      this.client.exec(supervisor, options, (error, channel) => {
        // At once: what comes with the same packet must not be missed.
        if (error) done(error);
        else
          startProcess(this.#bounded(channel), header, around).then(
            (process) => done(undefined, process),
            done,
          );
      });
    });
    // What is wrong with the command is told as it is.
    const [process] = await Promise.all([starting, header]);
    return process;
  }

  /** A stream to a port of the container's loopback address. Rejects with `SSH_CONNECT`, also if nothing listens there. */
  async openTunnel(port: number, address: '127.0.0.1' | '::1' = '127.0.0.1'): Promise<Duplex> {
    const failed = `port ${port} of container "${this.target.container}" cannot be reached, does anything listen there?`;
    const channel = await this.#request<ClientChannel>(failed, (done) =>
      this.client.forwardOut('127.0.0.1', 0, address, port, done),
    );
    return this.#tunnel(channel);
  }

  /**
   * Listens until the connection ends, on a port of the container's loopback address, or on a
   * socket, which only its user can open, and whose file is left there; `take` gets each stream that is opened there.
   * Rejects with `SSH_CONNECT`, also if the place is taken: sshd does not tell why it refuses.
   */
  async listen(at: number | string, take: (stream: Duplex) => void): Promise<void> {
    const place = typeof at === 'number' ? `port ${at}` : at;
    // At once: the first connection can come with the answer.
    this.#takers.set(String(at), take);
    try {
      await this.#request(
        `${place} of container "${this.target.container}" cannot be listened on`,
        (done) => {
          const answer = (error?: Error | null): void => done(error ?? undefined);
          if (typeof at === 'number') this.client.forwardIn('127.0.0.1', at, answer);
          else this.client.openssh_forwardInStreamLocal(at, answer);
        },
      );
    } catch (reason) {
      this.#takers.delete(String(at));
      throw reason;
    }
  }

  /** The same on a port that is free, with which it resolves. */
  async listenAnywhere(take: (stream: Duplex) => void): Promise<number> {
    const failed = `no port of container "${this.target.container}" can be listened on`;
    return await this.#request<number>(failed, (done) => {
      this.client.forwardIn('127.0.0.1', 0, (error, port) => {
        if (!error) this.#takers.set(String(port), take);
        done(error ?? undefined, port);
      });
    });
  }

  get isOver(): boolean {
    return this.#loss !== undefined;
  }

  /**
   * Ends the connection, with what is already sent, and so whatever runs on it. Resolves when the other end is being told:
   * of a process that is gone before, a cluster tells it a second later, and until then its ports inside are taken.
   */
  async end(): Promise<void> {
    this.#hasEnded = true;
    this.client.end();
    // Who no longer answers does not hold us.
    const timer = setTimeout(() => this.stream.destroy(), closeMs);
    this.stream.once('close', () => clearTimeout(timer));
    await finished(this.stream, { readable: false }).catch(() => undefined);
  }

  destroy(): void {
    this.#hasEnded = true;
    this.stream.destroy();
  }

  #take(at: number | string, accept: () => Channel, reject: () => void): void {
    const take = this.#takers.get(String(at));
    if (take === undefined) reject();
    else take(this.#tunnel(accept() as ClientChannel));
  }

  /** A channel that is a stream of bytes. Nobody reads its stderr, which sshd has no use for: what comes there is dropped. */
  #tunnel(channel: ClientChannel): Duplex {
    channel.stderr.resume();
    return this.#bounded(channel);
  }

  /** A channel keeps no more than its window in either direction, whatever the other end does. */
  #bounded(channel: ClientChannel): ClientChannel {
    heedWindow(channel, () =>
      this.#cut('it sent more than it had room for, as no sshd of ours does; --fresh recreates it'),
    );
    return this.#paced(channel);
  }

  /** Ends a connection whose other end does what it must not. */
  #cut(reason: string): void {
    this.#reason = reason;
    this.stream.destroy();
  }

  /** As sshd would, if it did so for root. Source: OpenSSH, session.c, `session_signal_req`. */
  #kill(name: RemoteSignal, pid: string): void {
    const argv = ['/bin/sh', '-c', 'kill -s "$1" "$2"', 'sh', name, pid] as const;
    const running = this.run({ argv, cwd: '/', env: [] });
    // Where it fails the connection is lost, and the command with it.
    running
      .then(({ stdout, stderr }) => [stdout, stderr].forEach((each) => each.resume()))
      .catch(() => undefined);
  }

  #request<T>(
    failed: string,
    send: (done: (error: Error | undefined, result?: T) => void) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => fail(`no answer in ${answerMs / 1_000} s`), answerMs);
      const fail = (reason: unknown) => {
        clearTimeout(limit);
        reject(this.#loss ?? new CaiError('SSH_CONNECT', `${failed}: ${printableLine(messageOf(reason))}`));
      };
      try {
        send((error, result) => {
          clearTimeout(limit);
          if (error === undefined) resolve(result!);
          else fail(error);
        });
      } catch (reason) {
        fail(reason);
      }
    });
  }
}

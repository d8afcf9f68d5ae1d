/** Connections to an engine by the system's `ssh`, each with its own process, for requests of HTTP. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { Duplex } from 'node:stream';
import type { Host } from '../../../../system/host';
import { within } from '../../../../system/time-limit';
import { sshFailure, sshMissing } from './ssh-failure';
import { programs, sshArguments, sshConfig, type SshTarget } from './ssh-program';

/** How long a connection is kept for the next request, in milliseconds. */
const idleMs = 30_000;
const tailChars = 4_096;
/** How long the last words of an ssh that has ended may take, in milliseconds. */
const lastWordsMs = 200;

export class SshAgent extends Agent {
  #program = 0;
  #configFile: string | undefined;

  constructor(
    private readonly target: SshTarget,
    private readonly host: Pick<Host, 'env' | 'folders' | 'home'>,
  ) {
    super({ keepAlive: true, scheduling: 'lifo', servername: '' } as ConstructorParameters<typeof Agent>[0]);
  }

  /** From now on the next program is tried; false if all were tried. */
  useNextProgram(): boolean {
    return ++this.#program < programs.length;
  }

  override createConnection(): Duplex {
    this.#configFile ??= sshConfig(this.host);
    const args = sshArguments(this.target, programs[this.#program] ?? programs[0], this.#configFile);
    // In its own session, so that Ctrl-C in a terminal is for the command alone.
    const ssh = spawn('ssh', args, { env: this.host.env, detached: true, stdio: 'pipe' });
    return new SshConnection(this.target, ssh);
  }

  override keepSocketAlive(connection: SshConnection): boolean {
    connection.unref();
    return true;
  }
}

/** stdin and stdout of an `ssh`, which ends with it. */
class SshConnection extends Duplex {
  #hasAnswered = false;
  #said = '';
  #idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly target: SshTarget,
    private readonly ssh: ChildProcessWithoutNullStreams,
  ) {
    super();
    const { stdin, stdout, stderr } = ssh;
    ssh.once('error', (reason) => this.destroy(sshMissing(reason)));
    // Its end tells why.
    stdin.on('error', () => undefined);
    stdout.on('data', (chunk: Buffer) => {
      this.#hasAnswered = true;
      if (!this.push(chunk)) stdout.pause();
    });
    stderr.on('data', (chunk: Buffer) => (this.#said = (this.#said + chunk.toString()).slice(-tailChars)));
    void this.#end();
  }

  /** Nobody waits for it, until `ref` is called. */
  unref(): void {
    for (const each of this.#handles()) each.unref();
    this.#idle = setTimeout(() => this.destroy(), idleMs).unref();
  }

  /** Somebody waits for it. Node's agent calls this. */
  ref(): void {
    clearTimeout(this.#idle);
    for (const each of this.#handles()) each.ref();
  }

  override _read(): void {
    this.ssh.stdout.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.ssh.stdin.write(chunk, () => done());
  }

  override _final(done: () => void): void {
    this.ssh.stdin.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#idle);
    this.ssh.kill('SIGKILL');
    done(error);
  }

  /** Its stdout may end before it is known why. */
  async #end(): Promise<void> {
    const { ssh } = this;
    const ended = Promise.all([once(ssh, 'exit'), once(ssh.stdout, 'end')]);
    const saidAll = once(ssh.stderr, 'end');
    // An ssh that was never started has said so.
    saidAll.catch(() => undefined);
    const status = await ended.then(
      ([[code]]) => code as number | null,
      () => null,
    );
    // Another ssh, which goes on for everybody, may hold it.
    await within(lastWordsMs, saidAll);
    if (!this.#hasAnswered) this.destroy(sshFailure(this.target, status, this.#said));
    else if (status === 0) {
      // As when the engine has gone: what it said last is read first, and nothing more is taken.
      this.once('end', () => this.destroy());
      this.push(null);
    } else this.destroy(Object.assign(new Error('ssh broke off'), { code: 'ECONNRESET' }));
  }

  #handles() {
    const { stdin, stdout, stderr } = this.ssh;
    return [this.ssh, stdin, stdout, stderr] as unknown as readonly { ref(): void; unref(): void }[];
  }
}

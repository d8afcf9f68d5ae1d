/** The built `cai serve` with an agent of tests, as a program of a user of its own. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cai, userWith } from '../support/cli';

/** One server, at a port of this machine. */
export class ServeProgram {
  /** Where it listens. */
  port = 0;
  /** Of its user. */
  readonly home: string;
  /** A workspace. */
  readonly cwd: string;
  readonly process: ChildProcessWithoutNullStreams;

  /** `agent`: its command; `settings`: lines of `[serve]` in the user's configuration. */
  constructor(agent: readonly string[], settings = '') {
    const user = userWith(`[agents.it]\ncommand = ${JSON.stringify(agent)}\n[serve]\n${settings}\n`);
    this.home = user.cwd!;
    this.cwd = join(this.home, 'work');
    mkdirSync(this.cwd);
    const args = [cai, 'serve', '--listen', '127.0.0.1:0', '--agent', 'it'];
    const env = { PATH: process.env.PATH, ...user.env };
    this.process = spawn(process.execPath, args, { cwd: this.cwd, env });
    this.process.stderr.resume();
  }

  /** Resolves when it listens. */
  async ready(): Promise<this> {
    const [line] = (await once(createInterface(this.process.stdout), 'line')) as [string];
    this.port = Number(/:(\d+)$/.exec(line)![1]);
    return this;
  }

  /** Where its user's token is, for other programs of this user. */
  get stateFolder(): string {
    return join(this.home, '.local/state');
  }

  /** The header with the user's token. */
  get authorization(): { readonly authorization: string } {
    const token = readFileSync(join(this.stateFolder, 'containai/serve/token'), 'utf8').trim();
    return { authorization: `Bearer ${token}` };
  }

  /** Ends it; resolves when that is done. */
  async stop(): Promise<void> {
    this.process.kill('SIGTERM');
    await once(this.process, 'close');
  }
}

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { patienceMs } from '../support/patience';

/** What to start and where. */
export interface ProgramOptions {
  readonly cwd: string;
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
}

/** How a program ended, and all it said. */
export interface Ended {
  /** Exit code, or the name of the signal. */
  readonly status: number | string;
  /** Lines of stdout in order, without newlines. */
  readonly lines: readonly string[];
  readonly stderr: string;
}

/** A running program whose output is waited for line by line; every wait ends with a verdict. */
export class Program {
  /** Settles when the program has ended and its output is complete. */
  readonly ended: Promise<Ended>;
  private readonly child: ChildProcess;
  private readonly lines: string[] = [];
  private stderr = '';
  private onLine: (line: string) => void = () => undefined;

  constructor(
    private readonly title: string,
    command: readonly string[],
    options: ProgramOptions,
  ) {
    const [file = '', ...args] = command;
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      this.lines.push(line);
      this.onLine(line);
    });
    this.ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        resolve({ status: signal ?? code ?? -1, lines: this.lines, stderr: this.stderr });
      });
    });
  }

  /** Waits for a line of stdout, also one that is already there. Fails at once when the program ends before. */
  async sees(what: string, matches: (line: string) => boolean): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      this.onLine = (line) => {
        if (matches(line)) resolve();
      };
      this.lines.forEach(this.onLine);
    });
    const endedFirst = this.ended.then(({ status }) => {
      throw new Error(this.verdict(`ended with ${status} before ${what}`));
    });
    await this.inTime(Promise.race([seen, endedFirst]), what);
  }

  /** Waits for the end, which must have status 0. */
  async succeeds(): Promise<Ended> {
    const ended = await this.inTime(this.ended, 'its end');
    if (ended.status !== 0) throw new Error(this.verdict(`ended with ${ended.status}`));
    return ended;
  }

  /** Sends a signal to this program alone, not to what it started. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  private async inTime<T>(event: Promise<T>, what: string): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        this.child.kill('SIGKILL');
        reject(new Error(this.verdict(`gave no sign of ${what} in ${patienceMs} ms`)));
      }, patienceMs);
    });
    try {
      return await Promise.race([event, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  private verdict(happened: string): string {
    const tail = (text: string) => text.slice(-2000);
    return `${this.title} ${happened}\nstdout: ${tail(this.lines.join('\n'))}\nstderr: ${tail(this.stderr)}`;
  }
}

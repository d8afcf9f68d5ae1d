/** A command of ours that does something for the agents of a workspace until it is stopped. */
import type { CaiError } from '../errors';
import type { Log } from '../system/log';
import { AgentProcess } from './process';
import type { StopLadder } from './process';

/** At the end of its input a helper ends what it has started, which can take some seconds. */
const helperStop: StopLadder = { termAfterMs: 4_000, killAfterMs: 1_000 };

/** Lines of a helper are short. */
const limits = { maxLineBytes: 64 * 1024, maxSearchBytes: 1024 };

/** How a helper is started, and who is told what it says. */
export interface HelperOptions {
  /** Program and arguments; the program tells its status on descriptor 3. */
  readonly command: readonly [string, ...string[]];
  /** Its working directory. */
  readonly cwd: string;
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** A line for its stdin, without its end. No other follows. */
  readonly input?: string;
  /** For its stderr, at level debug. */
  readonly log: Log;
  /** Called for each line of its stdout. */
  onLine?(line: string): void;
  /** Called with each sentence that it has for the user. */
  onNotice?(text: string): void;
  /**
   * Called if it ends before `stop`. Returns after how many milliseconds it is started again; `undefined`: it is not.
   */
  onFailure?(reason: CaiError, hasTold: boolean): number | undefined;
}

/** A running helper; it is over when it was stopped, or has ended and is not started again. */
export class Helper {
  /** Resolves when the helper says that it has started or what is wrong, or has ended. */
  readonly settled: Promise<void>;
  /** Whether `settled` has resolved. */
  isSettled = false;
  /** Whether the helper has ended or is being ended. */
  isOver = false;
  /** Resolves when the helper has ended for good. */
  readonly ended: Promise<void>;
  #process!: AgentProcess;
  /** Runs until the helper is started again. */
  #wait: NodeJS.Timeout | undefined;
  #settle!: () => void;
  #end!: () => void;

  /** Starts the helper. */
  constructor(private readonly options: HelperOptions) {
    this.settled = new Promise((resolve) => {
      this.#settle = () => {
        this.isSettled = true;
        resolve();
      };
    });
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.#start();
  }

  /** Ends the helper; resolves when all its processes have ended. */
  async stop(): Promise<void> {
    this.isOver = true;
    clearTimeout(this.#wait);
    if (this.#wait !== undefined) this.#finish();
    await this.#process.stop(helperStop);
  }

  #start(): void {
    const { command, cwd, env, log, input } = this.options;
    this.#wait = undefined;
    let hasTold = false;
    const remedy = 'install cai again';
    this.#process = new AgentProcess({
      agent: { name: 'cai', displayName: 'cai', command, remedy, hasStatus: true },
      cwd,
      env,
      limits,
      log,
      onLine: (line) => {
        if (Buffer.isBuffer(line)) this.options.onLine?.(line.toString());
      },
      onStatus: (status) => {
        if (status.kind === 'notice') {
          hasTold = true;
          this.options.onNotice?.(status.text);
        }
        if (status.kind === 'started' || status.kind === 'notice') this.#settle();
      },
      onEnd: (reason) => {
        const againMs = this.isOver ? undefined : this.options.onFailure?.(reason, hasTold);
        if (againMs === undefined) this.#finish();
        else this.#wait = setTimeout(() => this.#start(), againMs);
      },
    });
    if (input !== undefined) this.#process.send(Buffer.from(`${input}\n`));
  }

  #finish(): void {
    this.isOver = true;
    this.#settle();
    this.#end();
  }
}

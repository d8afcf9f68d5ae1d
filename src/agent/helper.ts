/** A command of our own that does something for the agents of a workspace, for as long as it is wanted. */
import type { CaiError } from '../errors';
import type { Log } from '../system/log';
import { AgentProcess } from './process';
import type { StopLadder } from './process';

/** Its input ends first, on which it ends what it has started: that can take some seconds. */
const helperStop: StopLadder = { termAfterMs: 4_000, killAfterMs: 1_000 };

/** What it says is short. */
const limits = { maxLineBytes: 64 * 1024, maxSearchBytes: 1024 };

/** How one is started. */
export interface HelperOptions {
  /** Program and arguments; descriptor 3 takes its status (`AgentStatus`). */
  readonly command: readonly [string, ...string[]];
  /** Its working directory. */
  readonly cwd: string;
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** What it reads first, a line without its end; nothing follows. */
  readonly input?: string;
  /** For its stderr, at level debug. */
  readonly log: Log;
  /** Each line of its stdout. */
  onLine?(line: string): void;
  /** What it has to tell the user. */
  onNotice?(text: string): void;
  /** It has ended without being asked to: why. Returns how long to wait before it is started again, in milliseconds. */
  onFailure?(reason: CaiError, hasTold: boolean): number | undefined;
}

/** A command of ours that runs until it ends, and is not started again, or is stopped. */
export class Helper {
  /** Resolves when it has said that it has started or what is wrong, or has ended. */
  readonly settled: Promise<void>;
  /** Whether that has happened. */
  isSettled = false;
  /** Whether it has ended or is being ended. */
  isOver = false;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  #process!: AgentProcess;
  /** Until it is started again. */
  #wait: NodeJS.Timeout | undefined;
  #settle!: () => void;
  #end!: () => void;

  /** Starts it. */
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

  /** Ends it; resolves when nothing of it is left. */
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

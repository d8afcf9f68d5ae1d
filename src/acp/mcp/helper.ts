/** A command of ours that does something for the agents of a workspace until it is stopped. */
import { AgentProcess, type AgentProcessOptions } from '../../agent/process';
import type { ProcessEvent } from '../../agent/process-event';
import { AgentStarts } from '../child/agent-starts';
import type { Attempts } from '../child/retry';
import type { CaiError } from '../../errors';

/** At the end of its input a helper ends what it has started, which can take some seconds. */
const helperStop = { termAfterMs: 4_000, killAfterMs: 1_000 };

/** Lines of a helper are short. */
const limits = { maxLineBytes: 64 * 1024, maxSearchBytes: 1024 };

/** How a helper is started, and who is told what it says. */
export interface HelperOptions extends Pick<AgentProcessOptions, 'cwd' | 'env' | 'log'> {
  /** Program and arguments; the program tells its status on descriptor 3. */
  readonly command: readonly [string, ...string[]];
  /** A line for its stdin, without its end. No other follows. */
  readonly input?: string;
  /** Says whether it is started again if it ends before `stop`; absent: it is not. */
  readonly attempts?: Pick<Attempts, 'failed' | 'delayMs'>;
  /** Called for each line of its stdout. */
  readonly onLine?: (line: string) => void;
  /** Called with each sentence that it has for the user. */
  readonly onNotice?: (text: string) => void;
  /** Called if it has ended before `stop`, and is not started again. `hasTold`: it has told a notice. */
  readonly onFailure?: (reason: CaiError, hasTold: boolean) => void;
}

/** A running helper; it is over when it was stopped, or has ended and is not started again. */
export class Helper {
  /** Resolves when the helper says that it has started or what is wrong, or has ended. */
  readonly settled: Promise<void>;
  isSettled = false;
  isOver = false;
  readonly ended: Promise<void>;
  readonly #starts: AgentStarts;

  constructor({ command, input, attempts, onLine, onNotice, onFailure, ...options }: HelperOptions) {
    let [settle, end, hasTold] = [(): void => undefined, (): void => undefined, false];
    this.settled = new Promise<void>((resolve) => (settle = resolve));
    this.ended = new Promise((resolve) => (end = resolve));
    void this.settled.then(() => (this.isSettled = true));
    const process = {
      ...options,
      agent: { name: 'cai', displayName: 'cai', command, remedy: 'install cai again', hasStatus: true },
      limits,
    };
    const hear = (event: ProcessEvent): void => {
      switch (event.kind) {
        case 'line':
          if (Buffer.isBuffer(event.line)) onLine?.(event.line.toString());
          break;
        case 'status':
          if (event.status.kind === 'notice') {
            hasTold = true;
            onNotice?.(event.status.text);
          }
          if (event.status.kind === 'started' || event.status.kind === 'notice') settle();
          break;
        case 'asks':
          // A helper serves no session in which anybody could be asked.
          event.answer(undefined);
          break;
        case 'end':
          this.#starts.ended(event.reason);
          break;
      }
    };
    this.#starts = new AgentStarts('cai', {
      spawn: () => {
        hasTold = false;
        const started = new AgentProcess(process, hear);
        if (input !== undefined) started.send(Buffer.from(`${input}\n`));
        return started;
      },
      delayMs: () => attempts?.delayMs ?? 0,
      onFailure: (reason) => {
        if (this.isOver) return reason;
        if (attempts !== undefined && attempts.failed(reason) === undefined) return undefined;
        onFailure?.(reason, hasTold);
        return reason;
      },
      onEnd: () => {
        this.isOver = true;
        settle();
        end();
      },
    });
    this.#starts.start();
  }

  /** Ends the helper; resolves when all its processes have ended. */
  stop(): Promise<void> {
    this.isOver = true;
    return this.#starts.stop(helperStop);
  }
}

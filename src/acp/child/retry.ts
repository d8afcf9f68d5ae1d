/**
 * Whether an agent that could not be started, or ended before it had answered anything, is started again, and when.
 * Only starts are repeated, never a prompt. Why: docs/decisions/0015-recovery.md.
 */
import { AgentEnd, loggedFailure } from '../../agent/agent-end';
import { CaiError, type FailureCode } from '../../errors';
import type { Log } from '../../system/log';

/** Failures after which the same attempt may succeed a moment later. */
interface RetryClass {
  /** For the log and the documentation. */
  readonly name: string;
  readonly remedy: string;
  readonly codes: readonly FailureCode[];
}

export const retryClasses: readonly RetryClass[] = [
  {
    name: 'engine',
    remedy: 'see to the container engine, with the help of cai doctor',
    codes: ['NO_ENGINE'],
  },
  {
    name: 'container',
    remedy: 'see cai doctor, or remove it with cai rm',
    codes: ['CONTAINER_START', 'CONTAINER_NOT_FOUND', 'QUOTA', 'NO_WALL'],
  },
  {
    name: 'connection',
    remedy: 'see cai doctor, or remove the container with cai rm',
    codes: ['SSH_CONNECT'],
  },
  { name: 'ended', remedy: 'run its command in a terminal to see why', codes: ['AGENT_EXITED'] },
];

/** Exit statuses of an agent whose next attempt would end likewise: wrong usage, no rights, no program. */
const finalStatuses: ReadonlySet<number | undefined> = new Set([2, 64, 77, 78, 126, 127]);

/**
 * The class of a failed attempt; undefined if there is to be no other one: its message says what to do. `hasStarted`: the
 * agent ran, so its exit status says nothing about the start.
 */
export function classOf(reason: CaiError, hasStarted = false): RetryClass | undefined {
  const end = reason.cause instanceof AgentEnd ? reason.cause : undefined;
  if (end?.failure === undefined && !hasStarted && finalStatuses.has(end?.status)) return undefined;
  const code: string = end?.failure ?? reason.code;
  return retryClasses.find(({ codes }) => codes.some((each) => each === code));
}

export interface RetryPolicy {
  /** Attempts in succession before the failure is told, at least 1. */
  readonly attempts: number;
  /** Milliseconds before the second attempt; before each further one twice as many. */
  readonly firstDelayMs: number;
  /** No wait is longer, in milliseconds. */
  readonly maxDelayMs: number;
}

/** The attempts to have a working agent for one workspace. */
export class Attempts {
  #failures = 0;

  constructor(
    private readonly policy: RetryPolicy,
    private readonly log: Log,
  ) {}

  /** How long the next start is to wait, in milliseconds. */
  get delayMs(): number {
    const { firstDelayMs, maxDelayMs } = this.policy;
    return this.#failures === 0 ? 0 : Math.min(firstDelayMs * 2 ** (this.#failures - 1), maxDelayMs);
  }

  /**
   * An attempt has failed; `hasStarted` as in `classOf`. Returns undefined if there is to be another attempt after
   * `delayMs`, else the failure to tell. The next attempt after that is a first one again.
   */
  failed(reason: CaiError, hasStarted = false): CaiError | undefined {
    const kind = classOf(reason, hasStarted);
    const attempt = ++this.#failures;
    const { attempts } = this.policy;
    const isAgain = kind !== undefined && attempt < attempts;
    const delayMs = isAgain ? this.delayMs : undefined;
    const about = { class: kind?.name, attempt, attempts, delayMs, ...loggedFailure(reason) };
    this.log.warn(about, 'agent start failed');
    if (isAgain) return undefined;
    this.#failures = 0;
    if (attempt === 1) return reason;
    // For an agent that wrote nothing, the message ends with the remedy already.
    const isAdvised = kind === undefined || reason.message.endsWith(kind.remedy);
    const advice = isAdvised ? '' : `: ${kind.remedy}`;
    const text = `${reason.message} (attempt ${attempt} of ${attempts}${advice})`;
    return new CaiError(reason.code, text, reason.data, { cause: reason.cause });
  }

  succeeded(): void {
    this.#failures = 0;
  }
}

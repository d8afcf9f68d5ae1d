/**
 * Whether an agent that could not be started, or ended before it had answered anything, is started again, and when.
 * Only starts are repeated, never a prompt. Why: docs/decisions/0015-recovery.md.
 */
import { AgentEnd, loggedFailure } from '../../agent/agent-end';
import { CaiError, type FailureCode } from '../../errors';
import type { Log } from '../../system/log';

export interface RetryClass {
  /** For the log and the documentation. */
  readonly name: string;
  /** Whether the same attempt may succeed a moment later. */
  readonly isRetried: boolean;
  readonly remedy: string;
  readonly codes: readonly FailureCode[];
  /** The exit statuses of agents that belong to it, while they start; every other one is `ended`. */
  readonly statuses: readonly number[];
}

/** The classes. A failure that no other class names is `other`. */
export const retryClasses = [
  retried('engine', 'see to the container engine, with the help of cai doctor', 'NO_ENGINE'),
  retried(
    'container',
    'see cai doctor, or remove it with cai rm',
    ...(['CONTAINER_START', 'CONTAINER_NOT_FOUND', 'QUOTA', 'NO_WALL'] as const),
  ),
  retried('connection', 'see cai doctor, or remove the container with cai rm', 'SSH_CONNECT'),
  retried('ended', 'run its command in a terminal to see why', 'AGENT_EXITED'),
  final('missing', ['AGENT_START', 'UNSUPPORTED_AGENT'], [126, 127]),
  final('usage', ['USAGE', 'CONFIG', 'WORKSPACE', 'INVALID_PARAMS'], [2, 64, 78]),
  final('sign-in', [], [77]),
  final('image', ['IMAGE'], []),
  final('silent', ['NOT_READY', 'NO_PLACE', 'AGENT_TIMEOUT'], []),
  final('distrust', ['SSH_SETUP', 'HOST_KEY', 'FOREIGN_CONTAINER', 'REPLACED'], []),
  final('other', [], []),
] as const satisfies readonly RetryClass[];

function retried(name: string, remedy: string, ...codes: FailureCode[]): RetryClass {
  return { name, isRetried: true, remedy, codes, statuses: [] };
}

/** A failure that is told at once, because its message says what to do. */
function final(name: string, codes: readonly FailureCode[], statuses: readonly number[]): RetryClass {
  return { name, isRetried: false, remedy: '', codes, statuses };
}

/** The class of a failed attempt. `hasStarted`: the agent ran, so its exit status says nothing about the start. */
export function classOf(reason: CaiError, hasStarted = false): RetryClass {
  const end = reason.cause instanceof AgentEnd ? reason.cause : undefined;
  const code: string = end?.failure ?? reason.code;
  const status = end?.failure === undefined && !hasStarted ? end?.status : undefined;
  const ofStatus = retryClasses.find(({ statuses }) => status !== undefined && statuses.includes(status));
  const ofCode = retryClasses.find(({ codes }) => codes.some((each) => each === code));
  return ofStatus ?? ofCode ?? retryClasses.at(-1)!;
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
    const { name, isRetried, remedy } = classOf(reason, hasStarted);
    const attempt = ++this.#failures;
    const { attempts } = this.policy;
    const isAgain = isRetried && attempt < attempts;
    const delayMs = isAgain ? this.delayMs : undefined;
    const about = { class: name, attempt, attempts, delayMs, ...loggedFailure(reason) };
    this.log.warn(about, 'agent start failed');
    if (isAgain) return undefined;
    this.#failures = 0;
    if (attempt === 1) return reason;
    // For an agent that wrote nothing, the message ends with the remedy already.
    const advice = reason.message.endsWith(remedy) ? '' : `: ${remedy}`;
    const text = `${reason.message} (attempt ${attempt} of ${attempts}${advice})`;
    return new CaiError(reason.code, text, reason.data, { cause: reason.cause });
  }

  succeeded(): void {
    this.#failures = 0;
  }
}

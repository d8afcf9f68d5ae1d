import type { CaiError } from '../errors';

/** How an agent's process ended, for those who decide what follows: the `cause` of the reason that is told. */
export class AgentEnd {
  /** Of one process. */
  constructor(
    /** Its exit status; undefined when a signal ended it. */
    readonly status: number | undefined,
    /** The failure that a command of ours has told instead of running the agent, a `FailureCode`. */
    readonly failure: string | undefined,
    /** The signal that ended it; undefined when it exited. */
    readonly signal?: NodeJS.Signals,
  ) {}
}

/** What the log takes of a failure. */
export interface LoggedFailure {
  /** Code of the failure; if a command of ours reported one, that. */
  readonly code: string;
  /** Exit status of the agent's process; undefined where none is known. */
  readonly status: number | undefined;
  /** The signal that ended that process; undefined where none did. */
  readonly signal: NodeJS.Signals | undefined;
  /** Its message. It may quote the agent, and so the log writes it to stderr alone. */
  readonly said: string;
}

/** The fields of a log line about a failure of an agent. */
export function loggedFailure(reason: CaiError): LoggedFailure {
  const end = reason.cause instanceof AgentEnd ? reason.cause : undefined;
  const { failure = reason.code, status, signal } = end ?? {};
  return { code: failure, status, signal, said: reason.message };
}

/** What a command of ours said last, which can have several lines; `undefined`: it said nothing itself. */
export function ourMessage(stderr: string): string | undefined {
  const begin = `\n${stderr}`.lastIndexOf('\ncai: ');
  return begin < 0 ? undefined : stderr.slice(begin + 'cai: '.length);
}

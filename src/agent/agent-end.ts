import type { CaiError } from '../errors';

/** How an agent's process ended, for those who decide what follows: the `cause` of the reason that is told. */
export class AgentEnd {
  /** Of one process. */
  constructor(
    /** Its exit status; undefined when a signal ended it. */
    readonly status: number | undefined,
    /** The failure that a command of ours has told instead of running the agent, a `FailureCode`. */
    readonly failure: string | undefined,
  ) {}
}

/** What the log takes of a failure. */
export interface LoggedFailure {
  /** That of the failure, or of the one that a command of ours has told. */
  readonly code: string;
  /** Exit status of the agent's process; undefined where none is known. */
  readonly status: number | undefined;
  /** Its message. It may quote the agent, and so the log writes it to stderr alone. */
  readonly said: string;
}

/** The fields of a log line about a failure of an agent. */
export function loggedFailure(reason: CaiError): LoggedFailure {
  const end = reason.cause instanceof AgentEnd ? reason.cause : undefined;
  return { code: end?.failure ?? reason.code, status: end?.status, said: reason.message };
}

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

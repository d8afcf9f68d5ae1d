/** JSON-RPC error codes that the proxy itself answers with. Source: ACP v1, `ErrorCode`. */
export const rpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  requestCancelled: -32800,
  authRequired: -32000,
  resourceNotFound: -32002,
} as const;

/** Every expected failure: its exit status, and its JSON-RPC code, mostly `internalError`. Anything else is a bug. */
const failures = {
  USAGE: { exit: 2 }, // the command line is wrong
  UNSUPPORTED_AGENT: { exit: 1 }, // no catalog entry has that name
  CONFIG: { exit: 2 }, // a config file cannot be used
  WORKSPACE: { exit: 2, rpc: rpcCode.invalidParams }, // a folder cannot be a workspace
  OUTSIDE: { exit: 1, rpc: rpcCode.invalidParams }, // an agent names a file outside the folders of its session
  REPLACED: { exit: 11, rpc: rpcCode.invalidParams }, // not the folder of the session or container any more
  INVALID_PARAMS: { exit: 2, rpc: rpcCode.invalidParams }, // params lack something, or have it in another form
  NO_ENGINE: { exit: 11 }, // no container engine can be used
  NOT_READY: { exit: 11 }, // the engine, or what else makes a container ready, does not answer
  NO_PLACE: { exit: 11 }, // no machine of the engine takes the container in time, or gives it its volumes
  QUOTA: { exit: 11 }, // there are as many containers or volumes as there may be
  NO_WALL: { exit: 11 }, // a container that is to have no network would have one
  CONTAINER_NOT_FOUND: { exit: 10 }, // there is no such container
  IMAGE: { exit: 11 }, // the image is not there and cannot be built
  CONTAINER_START: { exit: 11 }, // the container cannot be created or started, or has ended
  SSH_SETUP: { exit: 12 }, // the keys for SSH cannot be made or read
  SSH_CONNECT: { exit: 13 }, // sshd in the container cannot be reached, or the connection is lost
  HOST_KEY: { exit: 14 }, // sshd in the container has another key than the container was made with
  FOREIGN_CONTAINER: { exit: 15 }, // the container is not ours, or is not as we made it
  AGENT_START: { exit: 11 }, // the agent could not be started, or ended before it could answer
  AGENT_TIMEOUT: { exit: 11 }, // the agent did not answer `initialize` in time
  AGENT_EXITED: { exit: 11 }, // the agent ended while a request was open
  NO_SERVER: { exit: 11 }, // a server of agents cannot be reached, lets us not in, or was lost
  UNDELIVERED: { exit: 11 }, // the connection to the agent was lost before it could get the request
  AGENT_STALLED: { exit: 11 }, // the agent does not read its input, and too much waits for it
  AGENT_ANSWER: { exit: 11 }, // what an agent answered cannot be passed on
  SESSION_UNKNOWN: { exit: 1, rpc: rpcCode.resourceNotFound }, // a session id that stands for nothing here
  SESSION_LOST: { exit: 1 }, // a session whose agent has ended could not be restored
  TERMINAL_UNKNOWN: { exit: 1, rpc: rpcCode.resourceNotFound }, // a terminal id of no or another session
  TOO_MANY_TERMINALS: { exit: 1 }, // an agent has as many terminals as it may have, or creates them too fast
  GONE: { exit: 13 }, // messages of a served connection that somebody has missed are no longer kept
  CONNECTION_UNKNOWN: { exit: 13 }, // a connection id that stands for nothing on a server, or for another user's
  LIMIT: { exit: 13 }, // a server has as many connections as it may have
  CANCELLED: { exit: 1, rpc: rpcCode.requestCancelled }, // cancelled before an agent had it
  REPLAY: { exit: 1 }, // a recording cannot be played, or something else happens than is recorded
  NOT_OFFERED: { exit: 1, rpc: rpcCode.methodNotFound }, // the agent in question does not offer the method
  NO_PACKAGE: { exit: 1 }, // files of the program itself are gone
} as const satisfies Readonly<Record<string, { exit: number; rpc?: number }>>;

export type FailureCode = keyof typeof failures;

/**
 * An expected failure. The message says what failed, on which thing, and what to do next; it never
 * holds params, environment values or headers.
 */
export class CaiError extends Error {
  override readonly name = 'CaiError';
  /** JSON-RPC code of the answer to a request that failed with this. */
  readonly rpcCode: number;
  /** Exit status when this ends the process. */
  readonly exitCode: number;

  /** `data` becomes `error.data` of the answer, as it is. */
  constructor(
    readonly code: FailureCode,
    message: string,
    readonly data?: Readonly<Record<string, unknown>>,
    options?: ErrorOptions,
  ) {
    super(message, options);
    const { exit, rpc = rpcCode.internalError }: { exit: number; rpc?: number } = failures[code];
    this.rpcCode = rpc;
    this.exitCode = exit;
  }
}

/** The text of whatever was thrown; of an error about a file the words alone, as our own messages name the file. */
export function messageOf(reason: unknown): string {
  const text = reason instanceof Error ? reason.message : String(reason);
  // Its names are paths. What an agent has written can be long, and would take long.
  if (text.length > 2 * 4_096) return text;
  return /^(?:Error: )?E[A-Z0-9]+: (.+?), [a-z]+(?: '.*')?$/s.exec(text)?.[1] ?? text;
}

/** The code of a system error, such as `ENOENT`. */
export function errorCodeOf(reason: unknown): unknown {
  return typeof reason === 'object' && reason !== null && 'code' in reason ? reason.code : undefined;
}

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

/**
 * Every expected failure: the JSON-RPC code it is answered with, and the exit status when it ends the
 * process. Anything else that is thrown is a bug.
 */
const failures = {
  /** The command line is wrong. */
  USAGE: { rpc: rpcCode.internalError, exit: 2 },
  /** No catalog entry has that name. */
  UNSUPPORTED_AGENT: { rpc: rpcCode.internalError, exit: 1 },
  /** A config file cannot be used. */
  CONFIG: { rpc: rpcCode.internalError, exit: 2 },
  /** A folder cannot be a workspace, or a path is not acceptable. */
  WORKSPACE: { rpc: rpcCode.invalidParams, exit: 2 },
  /** An agent names a file outside the folders of its session. */
  OUTSIDE: { rpc: rpcCode.invalidParams, exit: 1 },
  /** A folder is not the one any more that a session was opened with, or that a container has. */
  REPLACED: { rpc: rpcCode.invalidParams, exit: 11 },
  /** Params lack something, or have it in a form that cannot be served. */
  INVALID_PARAMS: { rpc: rpcCode.invalidParams, exit: 2 },
  /** No container engine can be used. */
  NO_ENGINE: { rpc: rpcCode.internalError, exit: 11 },
  /** The engine, or what else makes a container ready, does not answer. */
  NOT_READY: { rpc: rpcCode.internalError, exit: 11 },
  /** There is no such container. */
  CONTAINER_NOT_FOUND: { rpc: rpcCode.internalError, exit: 10 },
  /** The image is not there and cannot be built. */
  IMAGE: { rpc: rpcCode.internalError, exit: 11 },
  /** The container cannot be created or started, or has ended. */
  CONTAINER_START: { rpc: rpcCode.internalError, exit: 11 },
  /** The keys for SSH cannot be made or read. */
  SSH_SETUP: { rpc: rpcCode.internalError, exit: 12 },
  /** sshd in the container cannot be reached or does not let us in, or the connection is lost. */
  SSH_CONNECT: { rpc: rpcCode.internalError, exit: 13 },
  /** sshd in the container has another key than the one that the container was made with. */
  HOST_KEY: { rpc: rpcCode.internalError, exit: 14 },
  /** The container is not ours, or is not as we made it. */
  FOREIGN_CONTAINER: { rpc: rpcCode.internalError, exit: 15 },
  /** The agent could not be started, or ended before it could answer. */
  AGENT_START: { rpc: rpcCode.internalError, exit: 11 },
  /** The agent did not answer `initialize` in time. */
  AGENT_TIMEOUT: { rpc: rpcCode.internalError, exit: 11 },
  /** The agent ended while a request was open. */
  AGENT_EXITED: { rpc: rpcCode.internalError, exit: 11 },
  /** The connection to the agent was lost before it could get the request. */
  UNDELIVERED: { rpc: rpcCode.internalError, exit: 11 },
  /** The agent does not read its input, and too much waits for it. */
  AGENT_STALLED: { rpc: rpcCode.internalError, exit: 11 },
  /** What an agent answered cannot be passed on. */
  AGENT_ANSWER: { rpc: rpcCode.internalError, exit: 11 },
  /** A session id that stands for nothing here. */
  SESSION_UNKNOWN: { rpc: rpcCode.resourceNotFound, exit: 1 },
  /** A session whose agent has ended could not be restored. */
  SESSION_LOST: { rpc: rpcCode.internalError, exit: 1 },
  /** A terminal id that the editor did not give to the session that names it. */
  TERMINAL_UNKNOWN: { rpc: rpcCode.resourceNotFound, exit: 1 },
  /** An agent has as many terminals as one may have, or creates them too fast. */
  TOO_MANY_TERMINALS: { rpc: rpcCode.internalError, exit: 1 },
  /** The editor has cancelled the request before an agent had it. Source: ACP v1, cancellation. */
  CANCELLED: { rpc: rpcCode.requestCancelled, exit: 1 },
  /** A recording cannot be played, or something else happens than is recorded. */
  REPLAY: { rpc: rpcCode.internalError, exit: 1 },
  /** The agent in question does not offer the method. */
  NOT_OFFERED: { rpc: rpcCode.methodNotFound, exit: 1 },
} as const;

/** The name of an expected failure. */
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
    this.rpcCode = failures[code].rpc;
    this.exitCode = failures[code].exit;
  }
}

/**
 * The text of whatever was thrown, for a log line or an error message. Of the system's errors about files the words
 * alone, as our own messages name the file.
 */
export function messageOf(reason: unknown): string {
  const text = reason instanceof Error ? reason.message : String(reason);
  return /^(?:Error: )?E[A-Z0-9]+: (.+?), [a-z]+(?: '.*')?$/s.exec(text)?.[1] ?? text;
}

/** How agents' processes fail to start, and end, and what people and the log are told of that. */
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { CaiError } from '../errors';
import { isNowhere } from '../system/paths/search-path';
import type { AgentCommand } from './catalog';

/** How an agent's process ended, for those who decide what follows: the `cause` of the reason that is told. */
export class AgentEnd {
  constructor(
    /** Its exit status; undefined when a signal ended it. */
    readonly status: number | undefined,
    /** The failure that a command of ours has told instead of running the agent, a `FailureCode`. */
    readonly failure: string | undefined,
    /** The signal that ended it; undefined when it exited. */
    readonly signal?: NodeJS.Signals,
  ) {}
}

/** The log's fields for a failure of an agent. `said` may quote the agent, and so the log writes it to stderr alone. */
export function loggedFailure(
  reason: CaiError,
): Readonly<{ code: string; status: number | undefined; signal: NodeJS.Signals | undefined; said: string }> {
  const end = reason.cause instanceof AgentEnd ? reason.cause : undefined;
  const { failure: code = reason.code, status, signal } = end ?? {};
  return { code, status, signal, said: reason.message };
}

/** The signal that a command of ours tells of by its exit status, which is 128 and the signal's number. */
function signalOfStatus(status: number): NodeJS.Signals | undefined {
  const found = Object.entries(constants.signals).find(([, number]) => status === 128 + number);
  return found?.[0] as NodeJS.Signals | undefined;
}

/** How a process or container ended that says so by its status, as the rest of a sentence. */
export function endedBy(status: number): string {
  const signal = signalOfStatus(status);
  return signal === undefined ? `ended with status ${status}` : `was killed by ${signal}`;
}

/** Lines around the cause of a crash: stack frames, source lines and fields, which are indented, and versions. */
const aroundCause = /^(?:\s|[\]})^]|Node\.js v\d|note: )/;
const logLine = /^(?:\[|\{|\d{4}-\d\d-\d\d|(?:TRACE|DEBUG|INFO)\b)/i;
const errorWord = /error|exception|fail|fatal|panic/i;

/** The last line of an agent's stderr that can be why it ended by itself; `undefined`: none can. */
function causeIn(stderr: string): string | undefined {
  const canBeCause = (line: string): boolean =>
    line !== '' && !aroundCause.test(line) && (!logLine.test(line) || errorWord.test(line));
  return stderr.split('\n').findLast(canBeCause)?.trimEnd();
}

/** What a command of ours said last, which can have several lines; `undefined`: it said nothing itself. */
function ourMessage(stderr: string): string | undefined {
  const begin = `\n${stderr}`.lastIndexOf('\ncai: ');
  return begin < 0 ? undefined : stderr.slice(begin + 'cai: '.length);
}

/** The `AGENT_EXITED` for a process that has ended by itself or by a signal; `stderr` is the end of what it wrote. */
export function endReason(
  { name, hasStatus = false }: AgentCommand,
  ended: {
    readonly status: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly failure: string | undefined;
    readonly stderr: string;
  },
): CaiError {
  const { status, stderr, failure } = ended;
  const signal = ended.signal ?? (hasStatus ? signalOfStatus(status!) : undefined);
  const cause = new AgentEnd(signal === undefined ? status! : undefined, failure, signal);
  const ours = hasStatus ? ourMessage(stderr) : undefined;
  if (ours !== undefined)
    return new CaiError('AGENT_EXITED', `agent "${name}": ${ours}`, undefined, { cause });
  // What an agent wrote before it was killed is not why.
  const how =
    signal === undefined
      ? `exited with status ${status!}: ${causeIn(stderr) ?? 'run its command in a terminal to see why'}`
      : `was killed by ${signal}`;
  const data = stderr === '' ? undefined : { details: stderr };
  return new CaiError('AGENT_EXITED', `agent "${name}" ${how}`, data, { cause });
}

/** The `AGENT_START` for an error of `spawn` in that folder, with that environment: says why, and what to do. */
export function startFailure(
  { name, command, remedy }: Pick<AgentCommand, 'name' | 'command' | 'remedy'>,
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  error: NodeJS.ErrnoException,
): CaiError {
  const program = `"${command[0]}"`;
  const missing = `${program} was not found: ${remedy}`;
  const causes: Readonly<Record<string, string>> = {
    ENOENT: existsSync(cwd) ? missing : `the folder ${cwd} is gone`,
    EACCES: isNowhere(command[0], env.PATH, cwd)
      ? missing
      : `${program} may not be executed: make it executable (chmod +x), or correct the command`,
  };
  const cause = causes[error.code ?? ''] ?? `${program}: ${error.message}`;
  return new CaiError('AGENT_START', `agent "${name}" could not be started: ${cause}`);
}

/**
 * The log: one line per event to stderr, or to the file `CAI_LOG_FILE`, at `CAI_LOG_LEVEL` (default
 * `warn`). It takes method names, ids and reasons; params, environments and headers never reach it.
 */
import pino from 'pino';

/** Where modules write log lines. */
export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** The log of this process. Writes are synchronous, so that the last line before an exit is there. */
export function openLog(env: NodeJS.ProcessEnv): Log {
  const level = env.CAI_LOG_LEVEL ?? 'warn';
  const known = Object.hasOwn(pino.levels.values, level) || level === 'silent';
  const destination = env.CAI_LOG_FILE ? { dest: env.CAI_LOG_FILE, mkdir: true } : { dest: 2 };
  const log = pino(
    { level: known ? level : 'warn', base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ ...destination, sync: true }),
  );
  if (!known) log.warn({ level }, 'CAI_LOG_LEVEL is not a level; using "warn"');
  return log;
}

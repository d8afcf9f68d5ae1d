/**
 * The log: one line per event to stderr, or to the file `CAI_LOG_FILE`, at `CAI_LOG_LEVEL` (default
 * `warn`). It takes method names, ids and reasons; params, environments and headers never reach it. The field
 * `said` is for text that an agent may have chosen: cut, and for stderr alone, as no file keeps it.
 * Logging never fails and never waits: what nobody takes is dropped.
 */
import { openSync, mkdirSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import pino from 'pino';
import { CaiError, messageOf } from './errors';

/** Where modules write log lines. */
export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Of `said`, in characters. */
const maxSaid = 500;
/** Bytes that may wait for whoever reads our stderr. */
const maxWaitingBytes = 256 * 1024;

/**
 * The log of this process. `kept` gets what is logged at level info, unless the level is `silent`. Fails with
 * `CONFIG` when `CAI_LOG_FILE` cannot be opened.
 */
export function openLog(env: NodeJS.ProcessEnv, kept?: pino.DestinationStream): Log {
  const level = env.CAI_LOG_LEVEL ?? 'warn';
  const known = Object.hasOwn(pino.levels.values, level) || level === 'silent';
  const shown = (known ? level : 'warn') as pino.LevelWithSilent;
  const stream = env.CAI_LOG_FILE ? toFile(env.CAI_LOG_FILE) : toStderr();
  const serializers = { said: (text: string) => text.slice(0, maxSaid) };
  const options = { base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers };
  const log =
    kept === undefined || shown === 'silent'
      ? pino({ ...options, level: shown }, stream)
      : pino({ ...options, level: lower(shown, 'info') }, bothOf({ level: shown, stream }, kept));
  if (!known) log.warn({ wanted: level }, 'CAI_LOG_LEVEL is not a level; using "warn"');
  return log;
}

function bothOf(
  shown: { readonly level: pino.Level; readonly stream: pino.DestinationStream },
  kept: pino.DestinationStream,
): pino.DestinationStream {
  return pino.multistream([
    shown,
    { level: 'info', stream: { write: (line) => kept.write(withoutSaid(line)) } },
  ]);
}

/** A line as a file keeps it. */
function withoutSaid(line: string): string {
  if (!line.includes('"said":')) return line;
  return `${JSON.stringify({ ...(JSON.parse(line) as object), said: undefined })}\n`;
}

/** The one at which more is logged. */
function lower(a: pino.Level, b: pino.Level): pino.Level {
  return pino.levels.values[a]! < pino.levels.values[b]! ? a : b;
}

/** An editor that does not read our stderr must not stop us. */
function toStderr(): pino.DestinationStream {
  // Nobody is there any more to be told.
  process.stderr.on('error', () => undefined);
  return {
    write: (line) => {
      if (process.stderr.writableLength < maxWaitingBytes) process.stderr.write(line);
    },
  };
}

function toFile(path: string): pino.DestinationStream {
  let file: number;
  try {
    mkdirSync(dirname(path), { recursive: true });
    file = openSync(path, 'a', 0o600);
  } catch (error) {
    throw new CaiError('CONFIG', `CAI_LOG_FILE cannot be used: ${messageOf(error)}`);
  }
  return {
    write: (line) => {
      try {
        writeSync(file, withoutSaid(line));
      } catch {
        // A full disk costs log lines and nothing else.
      }
    },
  };
}

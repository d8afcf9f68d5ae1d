/**
 * The log: one line per event to stderr, or to the file `CAI_LOG_FILE`, at `CAI_LOG_LEVEL` (default
 * `warn`). It takes method names, ids and reasons; params, environments and headers never reach it. The field
 * `said` is for text that an agent may have chosen: cut, and for stderr alone, as no file keeps it.
 * Logging never fails and never waits: what nobody takes is dropped.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type pino from 'pino';
import { CaiError, messageOf } from '../errors';
import { escapedUnits } from './quoted';
import { makeFolder } from './files/make-folder';

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** A log and the files that it writes. */
export interface OpenLog extends Log {
  /** Closes them; what is logged later is dropped. */
  end(): void;
}

interface Destination extends pino.DestinationStream {
  end?(): void;
}

/** By how much is logged, the most first. */
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** Of `said`, in characters. */
const maxSaid = 500;
/** Bytes that may wait for whoever reads our stderr. */
const maxWaitingBytes = 256 * 1024;

/**
 * The log of this process. `kept` gets what is logged at level info, unless the level is `silent`; `stream` gets what no
 * `CAI_LOG_FILE` takes, by default our stderr. Fails with `CONFIG` when that file cannot be opened.
 */
export function openLog(
  env: NodeJS.ProcessEnv,
  kept?: Destination,
  stream?: pino.DestinationStream,
): OpenLog {
  const wanted = env.CAI_LOG_LEVEL ?? 'warn';
  const shown = levels.find((level) => level === wanted) ?? 'warn';
  const isKept = kept !== undefined && shown !== 'silent';
  const level = isKept && levels.indexOf('info') < levels.indexOf(shown) ? 'info' : shown;
  const file = env.CAI_LOG_FILE ? toFile(env.CAI_LOG_FILE) : undefined;
  let open: Log | undefined;
  // While there is nothing to say, nothing is loaded: an editor waits for its first answer.
  const logAt = (name: keyof Log): pino.LogFn => {
    if (levels.indexOf(name) < levels.indexOf(level)) return () => undefined;
    return (...line: unknown[]) => {
      open ??= pinoLog(level, shown, file ?? stream ?? toStderr(), isKept ? kept : undefined);
      open[name](...(line as Parameters<pino.LogFn>));
    };
  };
  const log = {
    ...{ debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') },
    end: () => [file, kept].forEach((each) => each?.end?.()),
  };
  if (shown !== wanted) log.warn({ wanted }, 'CAI_LOG_LEVEL is not a level; using "warn"');
  return log;
}

/** What a terminal could take for a command, and JSON does not escape by itself: C1 controls, and what hides or turns text. */
const steering = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/** The same line, still JSON: a person may read it in a terminal, and a part of it may be an agent's. */
function withoutSteering(line: string): string {
  return line.replace(steering, escapedUnits);
}

/** `level` is the least that anybody gets, `shown` the least that `stream` does; `kept` gets level info. */
function pinoLog(
  level: pino.LevelWithSilent,
  shown: pino.LevelWithSilent,
  stream: pino.DestinationStream,
  kept: pino.DestinationStream | undefined,
): Log {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded when it is wanted, at once
  const create = require('pino') as typeof pino;
  const serializers = { said: (text: string) => text.slice(0, maxSaid) };
  const options = { level, base: null, timestamp: create.stdTimeFunctions.isoTime, serializers };
  const harmless = { write: (line: string) => stream.write(withoutSteering(line)) };
  if (kept === undefined) return create(options, harmless);
  const keptStream = {
    level: 'info',
    stream: { write: (line: string) => kept.write(withoutSaid(line)) },
  } as const;
  return create(options, create.multistream([{ level: shown as pino.Level, stream: harmless }, keptStream]));
}

function withoutSaid(line: string): string {
  if (!line.includes('"said":')) return line;
  return `${JSON.stringify({ ...(JSON.parse(line) as object), said: undefined })}\n`;
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

function toFile(path: string): Destination {
  let file: number | undefined;
  try {
    makeFolder(dirname(path), 0o777);
    file = openSync(path, 'a', 0o600);
  } catch (error) {
    throw new CaiError('CONFIG', `CAI_LOG_FILE cannot be used: ${path}: ${messageOf(error)}`);
  }
  return {
    write: (line) => {
      try {
        if (file !== undefined) writeSync(file, withoutSaid(line));
      } catch {
        // A full disk costs log lines and nothing else.
      }
    },
    end: () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

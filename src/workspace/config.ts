/** The user's configuration: what can be set, what holds otherwise, and where it is read. */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../errors';
import { command, duration, flag, oneOf, size, text } from './config-kinds';
import type { Kind } from './config-kinds';
import { readConfig } from './config-reader';
import type { Key } from './config-reader';
import { ownFolders } from './own-folders';
import { errorCodeOf } from './real-path';

/** An agent that the user has added, or a known one with another command. */
export interface ConfiguredAgent {
  /** Program and arguments, started without a shell. */
  readonly command: readonly [string, ...string[]];
  /** What people call it. */
  readonly name?: string;
}

/** The configuration in effect. What each key means to the user stands in `docs/configuration.md`. */
export interface Config {
  /** Which agent, and how many of it. */
  readonly agent: {
    /** Name of the agent where none is named. */
    readonly default: string;
    /** What shares one process: the sessions of a workspace, or nothing. */
    readonly process: 'workspace' | 'session';
  };
  /** By the user's name for them, which can be any string: only own properties count. */
  readonly agents: Readonly<Record<string, ConfiguredAgent>>;
  /** The proxy. */
  readonly acp: {
    /** Whether agents may read and write files through the editor. */
    readonly fs: 'editor' | 'off';
    /** How long an agent without sessions is kept; fits a timer. */
    readonly idleMs: number;
    /** How long an agent may take to answer `initialize`; fits a timer. */
    readonly startTimeoutMs: number;
    /** Longest line taken from the editor, without its newline. */
    readonly maxLineFromEditorBytes: number;
    /** Longest line sent to the editor, without its newline. */
    readonly maxLineToEditorBytes: number;
    /** How much may wait for the editor before agents are no longer read. */
    readonly queueToEditorBytes: number;
    /** How much may wait for one agent before requests to it fail. */
    readonly queueToAgentBytes: number;
  };
  /** What is remembered of sessions. */
  readonly sessions: {
    /** Whether session ids are kept in a file, for later processes. */
    readonly persist: boolean;
    /** How long a session that is not used stays in that file. */
    readonly keepMs: number;
  };
}

/** Every key, with what holds without it. `docs/configuration.md` has the same list. */
export const configKeys: readonly Key[] = [
  key('agent', 'default', 'default', text, 'claude'),
  key('agent', 'process', 'process', oneOf('workspace', 'session'), 'workspace'),
  agentKey('command', command, true),
  agentKey('name', text, false),
  key('acp', 'fs', 'fs', oneOf('editor', 'off'), 'editor'),
  // A timer of Node holds 24.8 days.
  key('acp', 'idle', 'idleMs', duration('24d'), '10m'),
  key('acp', 'start_timeout', 'startTimeoutMs', duration('24d'), '2m'),
  key('acp', 'max_line_from_editor', 'maxLineFromEditorBytes', size('1MiB'), '64MiB'),
  key('acp', 'max_line_to_editor', 'maxLineToEditorBytes', size('1MiB'), '32MiB'),
  key('acp', 'queue_to_editor', 'queueToEditorBytes', size('1KiB'), '8MiB'),
  key('acp', 'queue_to_agent', 'queueToAgentBytes', size('1KiB'), '64MiB'),
  key('sessions', 'persist', 'persist', flag, true),
  key('sessions', 'keep', 'keepMs', duration(), '90d'),
];

/** Where the user's configuration is read. */
export function configFileOf(env: NodeJS.ProcessEnv): string {
  return posix.join(ownFolders(env).config, 'config.toml');
}

/**
 * The user's configuration, from `config.toml` in our config folder; without that file, what holds by
 * default. Fails with `CaiError('CONFIG')` for a file that cannot be read or says something unknown.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const file = configFileOf(env);
  // `configKeys` has a row for each field, of that field's type, and `agents` may be missing.
  return { agents: {}, ...readConfig(readIfThere(file), file, configKeys) } as Config;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return '';
    throw new CaiError('CONFIG', `${file} cannot be read: ${messageOf(reason)}`, undefined, {
      cause: reason,
    });
  }
}

type Section = Exclude<keyof Config, 'agents'>;

/** A key of a table that is always there; `field` is of the type that `kind` reads. */
function key<S extends Section, F extends keyof Config[S] & string>(
  section: S,
  name: string,
  field: F,
  kind: Kind<Config[S][F]>,
  standard: string | boolean,
): Key {
  return { path: [section, name], field, kind, standard, isRequired: false };
}

/** A key of the table of one agent. */
function agentKey<F extends keyof ConfiguredAgent>(
  field: F,
  kind: Kind<NonNullable<ConfiguredAgent[F]>>,
  isRequired: boolean,
): Key {
  return { path: ['agents', '*', field], field, kind, standard: undefined, isRequired };
}

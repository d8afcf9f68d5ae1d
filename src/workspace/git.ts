import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { posix } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { Host } from '../system/host';
import { CaiError, messageOf } from '../errors';
import { printableLine, quoted } from '../system/quoted';
import { readRegularFile } from '../system/paths/read-regular-file';
import { safePath, safeProgram } from '../system/paths/safe-program';
import { withoutEnd } from '../system/paths/without-end';

export interface GitOptions {
  readonly host: Host;
  /** After which it is killed; default: `answerMs`. */
  readonly limitMs?: number;
  /** After which it is not started, and killed, too, by the clock of `performance.now()`; default: never. */
  readonly untilMs?: number;
}

/** So long git may take to answer, in milliseconds. */
export const answerMs = 2_000;

/** A repository can name programs that git runs by itself, whatever it is asked. Source: git-config(1). */
const harmless = ['-c', 'core.fsmonitor=', '-c', 'core.hooksPath=/dev/null'];

/** So many are asked at once; further ones wait. */
const mostAtOnce = 4;
let asked = 0;
const waiting: (() => void)[] = [];

/** What git prints. Rejects if there is no git, if it fails or takes too long. `GIT_DIR` and its like do not count. */
export async function askGit(args: readonly string[], options: GitOptions): Promise<string> {
  // Whoever is done hands the place over.
  if (asked >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  else asked += 1;
  try {
    return await answerOf(args, options);
  } finally {
    const next = waiting.shift();
    if (next === undefined) asked -= 1;
    else next();
  }
}

async function answerOf(args: readonly string[], options: GitOptions): Promise<string> {
  const { host, limitMs = answerMs, untilMs = Infinity } = options;
  const timeout = Math.floor(Math.min(limitMs, untilMs - performance.now()));
  if (timeout <= 0) throw new CaiError('WORKSPACE', 'git was not asked, because that takes too long in all');
  const asking = promisify(execFile)(programOf(host), [...harmless, ...args], {
    env: environmentOf(host),
    timeout,
    killSignal: 'SIGKILL',
  });
  asking.child.stdin?.end();
  return (await asking).stdout;
}

/** Whether git has given no answer in time, by what `askGit` threw. */
export function isLate(reason: unknown): boolean {
  return (reason as { readonly killed?: boolean }).killed === true;
}

/** What is up to that answer must not depend on how fast git is. */
export function lateGit(path: string, limitMs = answerMs): CaiError {
  return new CaiError(
    'WORKSPACE',
    `git did not answer within ${limitMs / 1_000} s about ${quoted(path)}: try again; if that stays so, look for a pipe in the place of one of git's files`,
  );
}

/** A git that may work for long. */
export interface WorkingGit {
  readonly stdin: Writable;
  /** What it prints: it has to be read. */
  readonly stdout: Readable;
  /** Rejects with `CaiError('WORKSPACE')` and its last words if it fails. */
  readonly ended: Promise<void>;
}

/**
 * Starts git as `askGit` does, for as long as it takes, or `limitMs` if that is given. It fetches nothing, and leaves the
 * index alone. `config` is what it is told besides what the repository says: `NAME=value`; `env` is added to its
 * environment.
 */
export function startGit(
  args: readonly string[],
  options: {
    readonly host: Host;
    readonly config?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    readonly limitMs?: number;
  },
): WorkingGit {
  const settings = (options.config ?? []).flatMap((each) => ['-c', each]);
  const alone = { GIT_ALLOW_PROTOCOL: '', GIT_OPTIONAL_LOCKS: '0', GIT_NO_REPLACE_OBJECTS: '1' };
  const git = spawn(programOf(options.host), [...harmless, ...settings, ...args], {
    // A merge strategy or `gpg` is a program that git finds there.
    env: { ...environmentOf(options.host), PATH: safePath(options.host), ...alone, ...options.env },
    timeout: options.limitMs,
    killSignal: 'SIGKILL',
  });
  // Who writes to one that has ended hears why by `ended`.
  git.stdin.on('error', () => undefined);
  let said = '';
  git.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-maxLastWords)));
  const ended = once(git, 'close').then(
    ([status, signal]) => {
      if (status === 0) return;
      if (signal === 'SIGKILL' && options.limitMs !== undefined)
        throw new CaiError(
          'WORKSPACE',
          `git did not end within ${options.limitMs / 1_000} s: look for a pipe in the place of a file, such as .gitignore, with "find -type p"`,
        );
      throw new CaiError('WORKSPACE', `git failed: ${printableLine(said)}`);
    },
    (reason: unknown) => {
      throw new CaiError('WORKSPACE', `git cannot be started: ${messageOf(reason)}`);
    },
  );
  ended.catch(() => undefined);
  return { stdin: git.stdin, stdout: git.stdout, ended };
}

/** So much of what git complains of is told, in characters. */
const maxLastWords = 300;

/** The `git` that PATH means, unless agents can change it. */
function programOf(host: Host): string {
  const program = safeProgram('git', host);
  if (program === undefined)
    throw new CaiError('WORKSPACE', 'no git was found outside of what agents can change');
  return program;
}

function environmentOf({ env }: Host): NodeJS.ProcessEnv {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_')));
  // What it complains of is read by `foreignRepositoryIn`.
  return { ...own, LANGUAGE: 'C' };
}

/** The other user's repository that git refused, by what `askGit` threw. Source: git 2.35.2 to 2.50, setup.c. */
export function foreignRepositoryIn(reason: unknown): string | undefined {
  const { stderr } = reason as { readonly stderr?: unknown };
  const pattern = /^fatal: (?:detected dubious ownership in repository at |unsafe repository \()'(.*)'/m;
  return typeof stderr === 'string' ? pattern.exec(stderr)?.[1] : undefined;
}

/** Longer than any path. */
const maxGitFileBytes = 8_192;

/** A file of git that holds a path; empty if the file does not exist. Fails with `CONFIG` for what is no such file. */
export function readGitFile(file: string, maxBytes = maxGitFileBytes): string {
  return readRegularFile(file, maxBytes)?.toString() ?? '';
}

/** The git folder that a file `.git` names, as an absolute path; `undefined` if it names none. */
export function gitFolderIn(dotGit: string): string | undefined {
  const [, named] = /^gitdir: (.*)/s.exec(readGitFile(dotGit)) ?? [];
  return named === undefined ? undefined : posix.resolve(posix.dirname(dotGit), withoutEnd(named, '\r\n'));
}

/** What this user has told git outside of any repository, as far as a container is to know it. */
export interface UserGit {
  /** Whom commits name as author. What is not set is up to git inside. */
  readonly identity: { readonly name?: string; readonly email?: string };
  /** `safe.directory`: folders of others that git may use, absolute, or `*`. */
  readonly safe: readonly string[];
  readonly isSigning: boolean;
}

/** Never rejects: without a git nothing is set. */
export async function userGit(host: Host): Promise<UserGit> {
  const [name, email, sign, safe] = await Promise.all([
    globalValue('user.name', host),
    globalValue('user.email', host),
    globalValue('commit.gpgsign', host, '--type=bool'),
    globally(['--type=path', '--null', '--get-all', 'safe.directory'], host),
  ]);
  return {
    identity: { ...(name !== undefined && { name }), ...(email !== undefined && { email }) },
    safe: safe.split('\0').filter((each) => each === '*' || posix.isAbsolute(each)),
    isSigning: sign === 'true',
  };
}

/** A value of git's configuration outside of any repository. `undefined`: it is not set, or there is no git. */
export async function globalValue(
  key: string,
  host: Host,
  ...options: readonly string[]
): Promise<string | undefined> {
  return (await globally([...options, '--get', key], host)).replace(/\n$/, '') || undefined;
}

async function globally(args: readonly string[], host: Host): Promise<string> {
  return await askGit(['config', '--global', ...args], { host }).catch(() => '');
}

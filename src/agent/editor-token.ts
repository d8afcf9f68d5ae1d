/** Orders for `cai terminal`: an editor runs it with a token, and the user's own file of that name says what to run. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../system/host';
import { builtin } from '../system/builtin';
import { CaiError, messageOf } from '../errors';
import { ownProgram } from './cai-program';
import { isRunning, ownIdentity } from '../system/process-identity';
import { makeFolder } from '../system/files/make-folder';
import { isMissing, objectIn } from '../system/unless';

/** What `cai terminal` runs in a container. */
export interface TerminalOrder {
  /** `command`: for an agent, good for one use. `login`: a sign-in, good as long as its writer runs. */
  readonly kind: 'command' | 'login';
  /** Name of the agent in whose container it runs. */
  readonly agent: string;
  /** A folder in the workspace, on this machine; `undefined`: the container without one. */
  readonly workspace: string | undefined;
  readonly argv: readonly string[];
  /** Variables for the command alone; of two with the same name the later one counts. */
  readonly env: readonly (readonly [name: string, value: string])[];
  /** Working directory in the container; absent: the root of the workspace. */
  readonly cwd?: string;
  /** Whether `argv` is one line for a shell. */
  readonly shell?: boolean;
  /** For `command`: identity of the process that waits for it; once that has ended, it is not run. */
  readonly wantedBy?: string;
  /**
   * The writer's variables that match `hostVariables`, by `writeToken`. They say where our folders and the engine are:
   * an editor's terminals can have another environment.
   */
  readonly host?: Readonly<Record<string, string>>;
}

/** How long an order for a command is good, in milliseconds: editors run it at once. */
const commandMs = 10 * 60_000;
/** Longest order: the folder may lie in memory. */
const maxOrderBytes = 1024 * 1024;
/** A file that is not whole after this time was never finished, in milliseconds. */
const writingMs = 10_000;
/** 128 bits, in characters that mean nothing to a shell and begin no option. */
const tokenForm = /^[0-9a-f]{32}$/;
/** Names of files: an order, or one that was just taken. An order for a command ends at its file's time of change. */
const fileForm = /^[0-9a-f]{32}\.(?:command|login|taken)$/;

/** Variables of `TerminalOrder.host`. */
export const hostVariables =
  /^(?:HOME|XDG_(?:CONFIG|STATE|DATA|CACHE)_HOME|XDG_RUNTIME_DIR|(?:DOCKER|CAI)_.*)$/;

/** The content of a file, and the time until which it is good; `owner` is the identity of the process that wrote it. */
type StoredOrder = TerminalOrder & { readonly owner: string; readonly untilMs: number };

/**
 * Writes an order and returns its token, of `[0-9a-f]`, good for 10 minutes; a sign-in, as long as this process runs.
 * Removes orders that are over. Fails with `INVALID_PARAMS` for more than 1 MiB, with `CONFIG` where no file can be
 * written.
 */
export function writeToken(host: Host, order: TerminalOrder): string {
  const variables = Object.fromEntries(Object.entries(host.env).filter(([name]) => hostVariables.test(name)));
  const text = JSON.stringify({ ...order, host: variables, owner: ownIdentity() });
  if (Buffer.byteLength(text) > maxOrderBytes)
    throw new CaiError('INVALID_PARAMS', 'a terminal: command, arguments and environment exceed 1 MiB');
  const folder = folderToWrite(host);
  sweep(folder);
  // Loaded when it is wanted: the answer to `initialize` seldom needs one.
  const token = builtin('node:crypto').randomBytes(16).toString('hex');
  const file = join(folder, `${token}.${order.kind}`);
  try {
    fs.writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    const until = (Date.now() + commandMs) / 1_000;
    fs.utimesSync(file, until, until);
  } catch (reason) {
    fs.rmSync(file, { force: true });
    throw new CaiError('CONFIG', `${folder}: no file can be written there: ${messageOf(reason)}`);
  }
  return token;
}

/**
 * The order of a token; one for a command can be taken once. Fails with `USAGE` for a token that is malformed, unknown,
 * used or too old, and for a file that is not whole, not ours, or that others can read.
 */
export function takeToken(host: Host, token: string): TerminalOrder {
  if (!tokenForm.test(token)) throw refuse('this is no token');
  for (const folder of foldersOf(host)) {
    const stored = takeCommand(join(folder, token)) ?? readOrder(join(folder, `${token}.login`));
    if (stored === undefined) continue;
    const { owner, untilMs, ...order } = stored;
    if (order.kind === 'login' ? isRunning(owner) !== true : untilMs < Date.now())
      throw refuse('this token is too old');
    return order;
  }
  throw refuse('this token is unknown, or it was used before');
}

/** Removes a token that nobody is to use any more; none is left either way. */
export function dropToken(host: Host, token: string): void {
  if (!tokenForm.test(token)) return;
  for (const folder of foldersOf(host)) {
    for (const kind of ['command', 'login']) fs.rmSync(join(folder, `${token}.${kind}`), { force: true });
  }
}

/** Removes the orders that are over: commands that nobody has run in time, sign-ins whose process has ended. */
export function sweepTokens(host: Host): void {
  for (const folder of foldersOf(host)) if (fs.existsSync(folder)) sweep(folder);
}

/** The command that an editor is given for a token; no part comes from an agent. */
export function hostCommand(token: string): { readonly command: string; readonly args: readonly string[] } {
  const [command, ...args] = ownProgram(['terminal', token]);
  return { command, args };
}

/** Best first. Whoever runs the command may have another environment than whoever wrote the token. */
function foldersOf(host: Host): string[] {
  const { runtime, state } = host.folders;
  return [runtime, state].flatMap((own) => (own === undefined ? [] : [join(own, 'terminals')]));
}

function folderToWrite(host: Host): string {
  const reasons: string[] = [];
  for (const folder of foldersOf(host)) {
    try {
      makeFolder(folder);
      if (isOurs(fs.lstatSync(folder)) && fs.lstatSync(folder).isDirectory()) return folder;
      reasons.push(`${folder}: not a folder that is yours alone: remove it`);
    } catch (reason) {
      // Often the variable names the runtime folder of a login session, and the folder does not exist.
      reasons.push(messageOf(reason));
    }
  }
  throw new CaiError('CONFIG', `no folder for terminals: ${reasons.join('; ')}`);
}

/** Takes an order for a command by renaming its file, so that a second caller finds nothing. */
function takeCommand(path: string): StoredOrder | undefined {
  const taken = `${path}.taken`;
  const isThere = unlessMissing(() => {
    fs.renameSync(`${path}.command`, taken);
    return true;
  });
  if (isThere === undefined) return undefined;
  try {
    return readOrder(taken);
  } finally {
    fs.rmSync(taken, { force: true });
  }
}

/** The order in a file; undefined for a file without an order. */
function readOrder(path: string): StoredOrder | undefined {
  const flags = fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK;
  const file = unlessMissing(() => fs.openSync(path, flags));
  if (file === undefined) return undefined;
  try {
    const stats = fs.fstatSync(file);
    if (!stats.isFile() || !isOurs(stats) || stats.size > maxOrderBytes)
      throw refuse('its file is not yours alone');
    return { ...parseOrder(fs.readFileSync(file, 'utf8')), untilMs: stats.mtimeMs };
  } finally {
    fs.closeSync(file);
  }
}

/** Fails with `USAGE` for a file that a crash or a full disk has cut short. */
function parseOrder(text: string): StoredOrder {
  const { argv, env, agent, owner, ...others } = objectIn(text) ?? {};
  const isWhole =
    [argv, env].every(Array.isArray) && [agent, owner].every((each) => typeof each === 'string');
  if (!isWhole) throw refuse('its file is damaged');
  return { ...others, argv, env, agent, owner } as StoredOrder;
}

/** Removes orders that are no longer good. Another process may do the same at this time, or may be taking one. */
function sweep(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    if (!fileForm.test(name)) continue;
    const file = join(folder, name);
    try {
      if (name.endsWith('.login') ? !isWantedIn(file) : fs.statSync(file).mtimeMs < Date.now())
        fs.rmSync(file, { force: true });
    } catch {
      // It is gone, or we may neither read nor remove it.
    }
  }
}

/** Whether an order to sign in is good; a file that is not whole may just be being written. */
function isWantedIn(file: string): boolean {
  try {
    const found = readOrder(file);
    return found === undefined || isRunning(found.owner) === true;
  } catch {
    return fs.statSync(file).mtimeMs >= Date.now() - writingMs;
  }
}

/** Whether a file is the user's, and nobody else may read or write it. */
function isOurs({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return uid === process.geteuid?.() && (mode & 0o077) === 0;
}

/** Fails with `USAGE` for any other error of the system. */
function unlessMissing<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (reason) {
    if (isMissing(reason)) return undefined;
    throw refuse(messageOf(reason));
  }
}

function refuse(why: string): CaiError {
  return new CaiError(
    'USAGE',
    `a terminal for an editor: ${why}. Only the editor can run this, with what it was just told: ask the agent again`,
  );
}

/**
 * Orders for `cai terminal`. What an editor runs for us is one command of fixed form with a token; what is to
 * happen in a container because of it stands in a file of that name, which only the user can read.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../system/host';
import { builtin } from '../system/builtin';
import { CaiError, messageOf } from '../errors';
import { ownProgram } from './cai-program';
import { isRunning, ownIdentity } from '../system/process-identity';

/** What runs in a container when an editor uses a token. */
export interface TerminalOrder {
  /** `command`: for an agent, good for one use. `login`: signs in to an agent, good as long as its writer lives. */
  readonly kind: 'command' | 'login';
  /** Name of the agent whose container it is. */
  readonly agent: string;
  /** Root of the workspace on this machine; `undefined`: the container without one. */
  readonly workspace: string | undefined;
  /** Program and arguments. */
  readonly argv: readonly string[];
  /** Variables for the command alone, in the order in which a later one of the same name wins. */
  readonly env: readonly (readonly [name: string, value: string])[];
  /** Folder to start in, as the container names it; absent: the root of the workspace. */
  readonly cwd?: string;
  /** Whether `argv` is one line for a shell. */
  readonly shell?: boolean;
  /** For `command`: identity of the process without which nobody wants it. */
  readonly wantedBy?: string;
  /**
   * The writer's variables that say where our folders and the engine are, and that others must not be set;
   * `writeToken` adds them. An editor's terminals have the editor's environment, not the one that it gave us.
   */
  readonly host?: Readonly<Record<string, string>>;
}

/** What an editor is told to run. */
export interface HostCommand {
  /** The program: the one that runs us. */
  readonly command: string;
  /** Our own script, `terminal`, and the token. */
  readonly args: [string, string, string];
}

/** An editor runs a command as soon as it has it; a sign-in it may only show, for somebody to press later. */
const commandMs = 10 * 60_000;
/** A folder of the login session may lie in memory. */
const maxOrderBytes = 1024 * 1024;
/** How long the writing of a file may take, in milliseconds. */
const writingMs = 10_000;
/** 128 bits. No character of it means anything to a shell, and it is no option. */
const tokenForm = /^[0-9a-f]{32}$/;
/** Names in the folder: an order, or one that was just taken. The time of change is when one of a command ends. */
const fileForm = /^[0-9a-f]{32}\.(?:command|login|taken)$/;

/** Variables of `TerminalOrder.host`. */
export const hostVariables =
  /^(?:HOME|XDG_(?:CONFIG|STATE|DATA|CACHE)_HOME|XDG_RUNTIME_DIR|(?:DOCKER|CAI)_.*)$/;

/** What stands in a file besides the order. */
type StoredOrder = TerminalOrder & {
  /** Identity of who wrote it. */
  readonly owner: string;
};

/**
 * Writes an order down, a command for `lifetimeMs` (default: 10 minutes), a sign-in for as long as this process lives,
 * and removes those that are over. Returns its token, of `[0-9a-f]`. Fails with `INVALID_PARAMS` for an order of more than 1 MiB, with `CONFIG` where no file can be
 * written.
 */
export function writeToken(host: Host, order: TerminalOrder, lifetimeMs?: number): string {
  const variables = Object.fromEntries(Object.entries(host.env).filter(isHostVariable));
  const stored: StoredOrder = { ...order, host: variables, owner: ownIdentity() };
  const text = JSON.stringify(stored);
  if (Buffer.byteLength(text) > maxOrderBytes)
    throw new CaiError('INVALID_PARAMS', 'a terminal: command, arguments and environment exceed 1 MiB');
  const folder = folderToWrite(host);
  sweep(folder);
  // Loaded when it is wanted: the answer to `initialize` seldom needs one.
  const token = builtin('node:crypto').randomBytes(16).toString('hex');
  const file = join(folder, `${token}.${order.kind}`);
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    const until = Date.now() + (lifetimeMs ?? commandMs);
    utimesSync(file, until / 1_000, until / 1_000);
  } catch (reason) {
    rmSync(file, { force: true });
    throw new CaiError('CONFIG', `${folder}: no file can be written there: ${messageOf(reason)}`);
  }
  return token;
}

/**
 * The order of a token. One of kind `command` is taken: whoever asks again, or at the same time, gets nothing.
 * Fails with `USAGE` for a token that is none, unknown, used or too old, and for a file that is not whole, not
 * ours, or that others can read.
 */
export function takeToken(host: Host, token: string): TerminalOrder {
  if (!tokenForm.test(token)) throw refuse('this is no token');
  for (const folder of foldersOf(host)) {
    const stored = takeCommand(join(folder, token)) ?? readOrder(join(folder, `${token}.login`));
    if (stored === undefined) continue;
    const { owner, ...order } = stored.order;
    if (order.kind === 'login' ? !isWanted(owner) : stored.untilMs < Date.now())
      throw refuse('this token is too old');
    return order;
  }
  throw refuse('this token is unknown, or it was used before');
}

/** Removes a token that nobody is to use any more; none is left either way. */
export function dropToken(host: Host, token: string): void {
  if (!tokenForm.test(token)) return;
  for (const folder of foldersOf(host)) {
    for (const kind of ['command', 'login']) rmSync(join(folder, `${token}.${kind}`), { force: true });
  }
}

/** Removes the orders that are over: commands that nobody has run in time, sign-ins whose process has ended. */
export function sweepTokens(host: Host): void {
  for (const folder of foldersOf(host)) if (existsSync(folder)) sweep(folder);
}

/** What an editor runs for a token; none of it comes from an agent. */
export function hostCommand(token: string): HostCommand {
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
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (isOurs(lstatSync(folder)) && lstatSync(folder).isDirectory()) return folder;
      reasons.push(`${folder}: not a folder that is yours alone: remove it`);
    } catch (reason) {
      // Common for the folder of a login session: the variable is there, the folder is not.
      reasons.push(messageOf(reason));
    }
  }
  throw new CaiError('CONFIG', `no folder for terminals: ${reasons.join('; ')}`);
}

/** A taken file has no name that a second caller would look for. */
function takeCommand(path: string): Found | undefined {
  const taken = `${path}.taken`;
  try {
    renameSync(`${path}.command`, taken);
  } catch (reason) {
    if (isMissing(reason)) return undefined;
    throw refuse(messageOf(reason));
  }
  try {
    return readOrder(taken);
  } finally {
    rmSync(taken, { force: true });
  }
}

/** An order, and when it ends. */
interface Found {
  readonly order: StoredOrder;
  readonly untilMs: number;
}

/** The order in a file; undefined if there is none. */
function readOrder(path: string): Found | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (reason) {
    if (isMissing(reason)) return undefined;
    throw refuse(messageOf(reason));
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || !isOurs(stats) || stats.size > maxOrderBytes)
      throw refuse('its file is not yours alone');
    return { order: parseOrder(readFileSync(file, 'utf8')), untilMs: stats.mtimeMs };
  } finally {
    closeSync(file);
  }
}

/** A crash or a full disk can cut a file short. */
function parseOrder(text: string): StoredOrder {
  try {
    const order = JSON.parse(text) as StoredOrder;
    if (order.argv.length >= 0 && order.env.length >= 0 && typeof order.agent === 'string') return order;
  } catch {
    // As below.
  }
  throw refuse('its file is damaged');
}

/** Removes what is over. Another process may do the same, or may be using the file. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!fileForm.test(name)) continue;
    const file = join(folder, name);
    try {
      if (name.endsWith('.login') ? !isWantedIn(file) : statSync(file).mtimeMs < Date.now())
        rmSync(file, { force: true });
    } catch {
      // It is gone, or it is nothing that we could remove or use.
    }
  }
}

/** Whether a sign-in can be used; one that is not whole may just be written. */
function isWantedIn(file: string): boolean {
  try {
    const found = readOrder(file);
    return found === undefined || isWanted(found.order.owner);
  } catch {
    return statSync(file).mtimeMs >= Date.now() - writingMs;
  }
}

/** Whether the process that shows a sign-in runs; those that earlier versions wrote did not tell which that is. */
function isWanted(owner: unknown): boolean {
  return typeof owner === 'string' && isRunning(owner) === true;
}

function isHostVariable(entry: [string, string | undefined]): entry is [string, string] {
  return hostVariables.test(entry[0]) && entry[1] !== undefined;
}

/** Whether nobody else may write or read it. */
function isOurs({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return uid === process.geteuid?.() && (mode & 0o077) === 0;
}

function isMissing(reason: unknown): boolean {
  const { code } = reason as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function refuse(why: string): CaiError {
  return new CaiError(
    'USAGE',
    `a terminal for an editor: ${why}. Only the editor can run this, with what it was just told: ask the agent again`,
  );
}

/** Why a run of `cursor-agent` has failed, as far as what it says tells. */
import { RequestError } from '@agentclientprotocol/sdk';
import { messageOf, rpcCode } from '../errors';
import { printable } from '../system/quoted';

export interface End {
  /** Exit status; null when a signal ended it, or when it could not be started. */
  readonly status: number | null;
  /** The last of what it has said about itself: stderr, and lines that are no JSON. */
  readonly words: string;
  readonly startError?: NodeJS.ErrnoException | undefined;
  /** The reason is that its folder does not exist. */
  readonly isFolderGone?: boolean;
}

/** Longest part of what the program says that an error has, in characters. */
const maxWords = 1_000;

const nobody =
  /not logged in|not authenticated|unauthenticated|authentication required|unauthorized|invalid api key|(cursor-)?agent login|log in to cursor/i;

const transient: readonly (readonly [string, RegExp])[] = [
  ['a time-out', /timed? ?out|ETIMEDOUT|deadline.exceeded/i],
  ['a refused connection', /ECONNREFUSED|connection refused/i],
  ['a connection that was reset', /ECONNRESET|EPIPE|connection (was )?(reset|closed)|socket hang up/i],
  ['a name that cannot be resolved', /ENOTFOUND|EAI_AGAIN/],
  ['too many requests', /\b429\b|too many requests|rate.?limit/i],
];

export function wantsSignIn(words: string): boolean {
  return nobody.test(words);
}

/** The class of a failure that may be over in a moment; undefined for any other. */
export function transientClass({ words }: End): string | undefined {
  return wantsSignIn(words) ? undefined : transient.find(([, pattern]) => pattern.test(words))?.[0];
}

/** Whether the words say that the chat cannot be continued because it is not known. */
export function isChatGone({ words }: End): boolean {
  const gone =
    /(chat|conversation|session|thread)\b.*\b(not found|does not exist|unknown|no longer|expired)/i;
  return !wantsSignIn(words) && gone.test(words);
}

/** How long the service wants to be left alone, in milliseconds; undefined if it does not say. */
export function retryAfterMs(words: string): number | undefined {
  const [, seconds] =
    /retry[-_ ]?after(?:[-_ ]?(?:seconds|secs?|s))?["']?[\s:=]+["']?(\d{1,6})\b/i.exec(words) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

export function signInError(): RequestError {
  return new RequestError(
    rpcCode.authRequired,
    'Cursor: nobody is signed in: run "cursor-agent login" where the agent runs, or set CURSOR_API_KEY',
  );
}

/** That the command line is not there. */
export function cannotStart(program: string, reason: Error): string {
  return `${program} cannot be started: ${messageOf(reason)}: install Cursor's command line, or name it in CURSOR_AGENT_EXECUTABLE`;
}

/** What an editor is told about a run that has failed. `program`: what was started. `tries`: how often. */
export function failureOf(end: End, program: string, tries: number): RequestError {
  const { status, words, startError, isFolderGone } = end;
  if (isFolderGone === true)
    return new RequestError(
      rpcCode.internalError,
      'the folder of this session does not exist any more: make it again, or open a session in another one',
    );
  if (startError !== undefined)
    return new RequestError(rpcCode.internalError, cannotStart(program, startError));
  if (wantsSignIn(words)) return signInError();
  const said = words === '' ? '' : `: ${printable(words).slice(-maxWords).trim()}`;
  const how = status === null ? 'was ended by a signal' : `has ended with status ${status}`;
  const often = tries === 1 ? '' : `, ${tries} times in a row,`;
  return new RequestError(
    rpcCode.internalError,
    `${program}${often} ${how} and has not finished the turn${said}\n${remedyFor(end)}`,
  );
}

function remedyFor(end: End): string {
  if (/trust/i.test(end.words))
    return 'If this folder is to be trusted, start the agent with --trust: cai-cursor --trust';
  if (/model/i.test(end.words))
    return 'Choose another model; "cursor-agent models" lists the models of your account.';
  if (transientClass(end) !== undefined) return 'Send the prompt again in a while.';
  return 'Send the prompt again; if that fails, too, try "cursor-agent -p hello" in the same folder.';
}

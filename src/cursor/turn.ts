/** One turn: runs of `cursor-agent` until one has worked, or has failed in a way that will not get better. */
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { within } from '../system/time-limit';
import { failureOf, signInError, transientClass, wantsSignIn, type End } from './failures';
import type { Program } from './program';
import { Stream, type Result } from './stream';
import type { Todos } from './todos';

/** How long the command is waited for before each further start, in milliseconds. */
const waitsMs = [1_000, 2_000, 4_000];
/** How long it may take to end once it has told the result, in milliseconds: some versions never do. */
const endMs = 2_000;

/** What a turn is made from. */
export interface TurnOptions {
  /** What runs it. */
  readonly program: Program;
  /** Arguments of every start. */
  readonly args: readonly string[];
  /** Its folder. */
  readonly cwd: string;
  readonly prompt: string;
  /** What the session has to do. */
  readonly todos: Todos;
  /** Aborted: the turn is cancelled. */
  readonly signal: AbortSignal;
  /** Tells the editor; resolves once that is written. */
  readonly tell: (updates: readonly SessionUpdate[]) => Promise<void>;
  /** Cursor has named its chat. */
  readonly onChat: (chatId: string) => void;
  /** Says on stderr what the editor is not told. */
  readonly log: (line: string) => void;
}

/** How a turn went. */
export interface Turn {
  /** Cancelled turns have told all that came. */
  readonly isCancelled: boolean;
  /** Undefined for a turn that was cancelled. */
  readonly result: Result | undefined;
  /** How many tools were called. */
  readonly toolCalls: number;
  /** Why it has failed; undefined if it has not. */
  readonly failure: Error | undefined;
}

/** Runs a turn to its end. It does not reject for what the program does. */
export async function runTurn(options: TurnOptions): Promise<Turn> {
  for (let tries = 1; ; tries += 1) {
    const { stream, end } = await runOnce(options);
    const { signal, program, log } = options;
    const waitMs = waitsMs[tries - 1];
    const reason = stream.hasOutput ? undefined : transientClass(end);
    const { result, toolCalls } = stream;
    if (signal.aborted) return { isCancelled: true, toolCalls, result: undefined, failure: undefined };
    if (result !== undefined) return { isCancelled: false, toolCalls, result, failure: errorIn(result) };
    if (reason === undefined || waitMs === undefined) {
      const failure = failureOf(end, program.name, tries);
      return { isCancelled: false, toolCalls, result, failure };
    }
    log(`${program.name}: ${reason}; starting it again in ${waitMs / 1_000} s`);
    const isCancelled = await pausedUntilAbort(waitMs, signal);
    if (isCancelled) return { isCancelled, toolCalls, result, failure: undefined };
  }
}

async function runOnce(options: TurnOptions): Promise<{ stream: Stream; end: End }> {
  const { program, args, cwd, prompt, todos, signal, tell, onChat } = options;
  const stream = new Stream(cwd, todos);
  const run = program.start(args, cwd, prompt);
  const stop = (): void => void run.stop();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    for await (const line of run.lines) {
      const { chatId } = stream;
      const updates = stream.take(line);
      if (stream.chatId !== undefined && stream.chatId !== chatId) onChat(stream.chatId);
      if (updates.length > 0) await tell(updates);
      if (stream.result !== undefined) void within(endMs, run.ended).then(stop);
    }
    const end = await run.ended;
    await tell(stream.close());
    const words = [end.words, stream.words].filter((each) => each !== '').join('\n');
    return { stream, end: { ...end, words } };
  } finally {
    signal.removeEventListener('abort', stop);
    // It still runs if the editor could not be told.
    stop();
  }
}

/** What an editor is told about a result that is an error. */
function errorIn({ isError, text }: Result): Error | undefined {
  if (!isError) return undefined;
  if (wantsSignIn(text)) return signInError();
  return failureOf({ status: 1, words: text }, 'cursor-agent', 1);
}

/** Waits; true if the signal came first. */
async function pausedUntilAbort(ms: number, signal: AbortSignal): Promise<boolean> {
  let wake: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => (wake = resolve));
  signal.addEventListener('abort', wake);
  if (!signal.aborted) await within(ms, aborted);
  signal.removeEventListener('abort', wake);
  return signal.aborted;
}

/** One turn: runs of `cursor-agent` until one has worked, or has failed in a way that will not get better. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { quoted } from '../system/quoted';
import { within } from '../system/time-limit';
import { failureOf, isChatGone, retryAfterMs, transientClass, type End } from './failures';
import type { Program } from './program';
import { Stream, type Result } from './output/stream';
import type { Todos } from './output/todos';

/** How long the command is waited for before each further start, in milliseconds. */
const waitsMs = [1_000, 2_000, 4_000];
/** The longest that the service may ask for: somebody waits for the turn. */
const longestWaitMs = 60_000;
/** How long it may take to end once it has told the result, in milliseconds: some versions never do. */
const endMs = 2_000;

export interface TurnOptions {
  readonly program: Program;
  /** Arguments of every start. */
  readonly args: readonly string[];
  /** Cursor's id of the chat that goes on; undefined: a new one begins. */
  readonly chatId: string | undefined;
  readonly cwd: string;
  readonly prompt: string;
  readonly todos: Todos;
  /** Aborted: the turn is cancelled. */
  readonly signal: AbortSignal;
  /** Tells the editor; resolves once that is written. */
  readonly tell: (updates: readonly SessionUpdate[]) => Promise<void>;
  /** Called with the chat that later turns go on with. */
  readonly onChat: (chatId: string) => void;
  readonly log: (line: string) => void;
}

export interface Turn {
  /** Cancelled turns have told all that came. */
  readonly isCancelled: boolean;
  /** Undefined for a turn that was cancelled. */
  readonly result: Result | undefined;
  readonly toolCalls: number;
  /** Why it has failed; undefined if it has not. */
  readonly failure: Error | undefined;
}

/** Runs a turn to its end. It does not reject for what the program does. */
export async function runTurn(options: TurnOptions): Promise<Turn> {
  const { signal, program, log, chatId } = options;
  let resumed = chatId;
  for (let tries = 1; ; tries += 1) {
    const { stream, end } = await runOnce(options, resumed);
    const { toolCalls, hasOutput } = stream;
    const result = stream.result?.isError === true ? undefined : stream.result;
    const turn = { isCancelled: false, toolCalls, result, failure: undefined };
    if (signal.aborted) return { ...turn, isCancelled: true, result: undefined };
    if (result !== undefined) return turn;
    const failed = { ...turn, failure: failureOf(end, program.name, tries) };
    if (hasOutput) return failed;
    const reason = transientClass(end);
    const waitMs = reason === undefined ? undefined : waitBefore(tries, end);
    if (waitMs !== undefined) {
      log(
        `${program.name}: ${reason!}; starting it again in ${waitMs / 1_000} s (${tries} of ${waitsMs.length})`,
      );
      const hasWaited = await sleep(waitMs, true, { signal }).catch(() => false);
      if (!hasWaited) return { ...turn, isCancelled: true };
    } else if (reason === undefined && resumed !== undefined && isChatGone(end)) {
      // The last way: it lacks what was said before.
      resumed = undefined;
      log(`${program.name}: its chat is gone; starting it once more, in a new chat`);
      await options.tell([newChatNote]);
    } else return failed;
  }
}

/** In the words of the agent, as every editor shows these. */
const newChatNote: SessionUpdate = {
  sessionUpdate: 'agent_message_chunk',
  content: {
    type: 'text',
    text: "cai: Cursor's chat of this session could not be continued. This prompt is sent once more, in a new chat, which does not know what was said before.\n\n",
  },
};

/**
 * Milliseconds before the next start; undefined: the turn is over, as three starts have failed, or the service wants a
 * long rest.
 */
function waitBefore(tries: number, { words }: End): number | undefined {
  const usual = waitsMs[tries - 1];
  const wanted = retryAfterMs(words) ?? 0;
  return usual === undefined || wanted > longestWaitMs ? undefined : Math.max(usual, wanted);
}

async function runOnce(
  options: TurnOptions,
  chatId: string | undefined,
): Promise<{ stream: Stream; end: End }> {
  const { program, args, cwd, prompt, todos, signal, tell, onChat, log } = options;
  const stream = new Stream(cwd, todos);
  let kept = chatId;
  const run = program.start([...(chatId === undefined ? [] : ['--resume', chatId]), ...args], cwd, prompt);
  const stop = (): void => void run.stop();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    for await (const line of run.lines) {
      const updates = stream.take(line);
      // One that fails at once would take the place of the one that knows what was said.
      const isKept = options.chatId === undefined || stream.hasOutput || stream.result?.isError === false;
      if (isKept && stream.chatId !== undefined && stream.chatId !== kept) onChat((kept = stream.chatId));
      if (updates.length > 0) await tell(updates);
      if (stream.result !== undefined) void within(endMs, run.ended).then(stop);
    }
    const end = await run.ended;
    await tell(stream.close());
    if (stream.unknownTypes.length > 0)
      log(
        `${program.name}: lines of types that have no place in ACP are left out: ${quoted(stream.unknownTypes)}`,
      );
    const words = [end.words, stream.words].filter((each) => each !== '').join('\n');
    const { result } = stream;
    if (result?.isError === true) return { stream, end: { status: 1, words: result.text } };
    if (result !== undefined && words !== '') log(`${program.name}: ${words}`);
    return { stream, end: { ...end, words, isFolderGone: end.startError !== undefined && !existsSync(cwd) } };
  } finally {
    signal.removeEventListener('abort', stop);
    // It still runs if the editor could not be told.
    stop();
  }
}

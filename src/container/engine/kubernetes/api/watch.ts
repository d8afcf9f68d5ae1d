/**
 * What happens to objects, as long as somebody wants to know. Source: Kubernetes API concepts, "Efficient detection of
 * changes".
 */
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { Silent } from '../../silence';
import { ApiRefusal, refusalOf } from './api-error';
import { LineSplitter } from '../../../../system/streams/line-splitter';

/** One thing that happened; objects are as the API server sends them. */
export type WatchEvent =
  /** Comes first, and again when something may have been missed: these are all that there are. */
  | { readonly type: 'LISTED'; readonly objects: readonly unknown[] }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: unknown };

/** All objects of a kind, and the version as of which they are all. */
export interface Listed {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
}

interface WatchOptions {
  readonly list: () => Promise<Listed>;
  /** Asks for what happens, with these values in the query. */
  readonly open: (query: Readonly<Record<string, string>>) => Promise<Readable>;
  /** Called in order. What it throws ends the watch. */
  readonly onEvent: (event: WatchEvent) => void;
  readonly signal: AbortSignal;
  /** After so long the server is asked to end each answer, in seconds: one that does not end is dead. */
  readonly answerSeconds?: number;
}

/** Of one event, in characters: an object has at most 1.5 MiB in the store of a cluster. */
const maxLine = 16 * 2 ** 20;

/** How much later than it should an answer may end, in milliseconds. */
const lateMs = 15_000;
/** The waits between attempts, in milliseconds: they double up to the most, unless an answer lasted. */
const minWaitMs = 250;
const maxWaitMs = 5_000;
const lastingMs = 1_000;
/** For so long the server may be away, in milliseconds. */
const awayMs = 90_000;

/**
 * Resolves when `signal` ends it. Rejects as `Requests.whole` does if it cannot begin, if it is refused, or if the server
 * stays away; before that, it goes on by itself where an answer ended.
 */
export async function watch(options: WatchOptions): Promise<void> {
  const { signal } = options;
  const following = new Following(options);
  let heardAt: number | undefined;
  for (let short = 0; !signal.aborted;) {
    const begunAt = performance.now();
    try {
      await following.once(() => (heardAt = performance.now()));
    } catch (reason) {
      if (isAborted(signal)) return;
      const isAway = heardAt === undefined || performance.now() - heardAt > awayMs;
      if (refusalOf(reason) === 410) following.forget();
      else if (isAway || !mayPass(reason, following.hasWatched)) throw reason;
    }
    short = performance.now() - begunAt < lastingMs ? short + 1 : 0;
    // Only an end ends the wait.
    if (short > 0)
      await wait(Math.min(minWaitMs * 2 ** (short - 1), maxWaitMs), undefined, { signal }).catch(() => 0);
  }
}

class Following {
  /** Whether the server has let us watch. */
  hasWatched = false;
  #version: string | undefined;

  constructor(private readonly options: WatchOptions) {}

  /** One answer to its end. `onHeard`: the server has said something. Rejects with `ApiRefusal` also for what it says in it. */
  async once(onHeard: () => void): Promise<void> {
    const { list, open, onEvent, signal, answerSeconds = 60 } = this.options;
    if (this.#version === undefined) {
      const { items, resourceVersion } = await list();
      if (isAborted(signal)) return;
      this.#version = resourceVersion;
      onHeard();
      onEvent({ type: 'LISTED', objects: items });
    }
    const body = await open({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: this.#version,
      timeoutSeconds: String(answerSeconds),
    });
    this.hasWatched = true;
    onHeard();
    const end = (): void => void body.destroy();
    const timer = setTimeout(end, answerSeconds * 1_000 + lateMs).unref();
    signal.addEventListener('abort', end);
    try {
      if (isAborted(signal)) return;
      for await (const line of linesOf(body)) {
        onHeard();
        this.#take(line);
        if (isAborted(signal)) return;
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      end();
    }
  }

  /** The server no longer knows what has happened since then. */
  forget(): void {
    this.#version = undefined;
  }

  #take(line: string): void {
    const { type, object } = JSON.parse(line) as Sent;
    if (type === 'ERROR') throw new ApiRefusal(object.code ?? 500, object);
    this.#version = object.metadata?.resourceVersion ?? this.#version;
    // A bookmark only says how far all is told.
    if (type !== 'BOOKMARK') this.options.onEvent({ type, object });
  }
}

interface Sent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: { readonly code?: number; readonly metadata?: { readonly resourceVersion?: string } };
}

/** What follows the last line end is the piece of a line that was cut. */
async function* linesOf(body: Readable): AsyncGenerator<string> {
  body.setEncoding('utf8');
  const lines = new LineSplitter(maxLine);
  for await (const chunk of body as AsyncIterable<string>)
    yield* lines.take(chunk).filter((line) => line !== '');
}

/**
 * Whether the next attempt may succeed: not after most refusals, and not after an error that is no matter of the
 * connection. An API server that has just started may not know yet who has which rights, though it did before.
 */
function mayPass(reason: unknown, hasWatched: boolean): boolean {
  const status = refusalOf(reason);
  if (status !== undefined)
    return status >= 500 || status === 429 || (hasWatched && [401, 403].includes(status));
  return reason instanceof Silent || /^E[A-Z0-9_]+$/.test((reason as NodeJS.ErrnoException).code ?? '');
}

/** Asked again each time, as it changes meanwhile. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

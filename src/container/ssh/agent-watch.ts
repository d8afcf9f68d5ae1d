/** What a program inside tells of a command that runs in the same connection. Source: src/container/inside/watch. */
import type { RemoteProcess } from './remote-process';
import type { SshConnection } from './ssh';

const watcher = '/run/cai/watch';
/** No line of the watcher is longer. */
const maxLineLength = 200;

/** Exit statuses of the supervisor: the container was made by a version without a watcher; it had no room for it. */
const noWatcherStatus = 127;
const noRoomStatuses: readonly (number | undefined)[] = [125, 126, undefined];
/** Before it is started again, in milliseconds; the command may just have ended, too. */
const againMs = 2_000;
/** The same, when it could not be started at all: what lacks room has to get some first. */
const laterMs = 10_000;
/** A watcher that has run for so long would have seen a command that is stopped, in milliseconds. */
const longEnoughMs = 10_000;
/** So many watchers in succession may be ended before they would have seen anything. */
const maxEnded = 3;

/** Takes what belongs to a word of the watcher; hostile text, of printable ASCII. */
export type Heard = Readonly<Record<string, (rest: string) => void>>;

/** What is watched, and who hears of it. */
export interface Watched {
  /** Was started first on its connection. */
  readonly command: Pick<RemoteProcess, 'hasEnded'>;
  /** What to do for each word; other words mean nothing, nor does a line that is repeated. */
  readonly heard: Heard;
  /** The command cannot be watched: whoever else runs in its container ends each watcher. */
  readonly onUnwatchable: () => void;
}

/**
 * Watches a command until it ends. A watcher that is ended before is started again, unless that happens too often. Never
 * rejects: a container that was made by another version has no watcher, and a connection that is lost is told elsewhere.
 */
export async function watchCommand(
  connection: Pick<SshConnection, 'run' | 'isOver'>,
  { command, heard, onUnwatchable }: Watched,
): Promise<void> {
  const last = new Map<string, string>();
  for (let ended = 0; ended < maxEnded;) {
    const startedAt = performance.now();
    const status = await endOfWatcher(connection, new Lines(heard, last));
    if (status === noWatcherStatus) return;
    const isStarted = !noRoomStatuses.includes(status);
    if (performance.now() - startedAt >= longEnoughMs) ended = 0;
    if (isStarted) ended++;
    await new Promise((resolve) => setTimeout(resolve, isStarted ? againMs : laterMs).unref());
    if (command.hasEnded || connection.isOver) return;
  }
  onUnwatchable();
}

/** Resolves with the exit status of one watcher; `undefined` if it was not started, or the connection is lost. */
async function endOfWatcher(
  connection: Pick<SshConnection, 'run'>,
  lines: Lines,
): Promise<number | undefined> {
  try {
    const { stdin, stdout, stderr, exited } = await connection.run({ argv: [watcher], cwd: '/', env: [] });
    stdin.end();
    stderr.resume();
    stdout.on('data', (chunk: Buffer) => lines.take(chunk.toString('latin1')));
    return (await exited).status;
  } catch {
    return undefined;
  }
}

/** The lines of one watcher. */
class Lines {
  #rest = '';

  /** `last`: what belonged to each word when it was heard last. */
  constructor(
    private readonly heard: Heard,
    private readonly last: Map<string, string>,
  ) {}

  take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!.slice(0, maxLineLength + 1);
    for (const line of lines) this.#hear(line);
  }

  #hear(line: string): void {
    if (line.length > maxLineLength) return;
    const [, word = '', rest = ''] = /^([a-z-]+)(?: ([ -~]*))?$/.exec(line) ?? [];
    if (!Object.hasOwn(this.heard, word) || this.last.get(word) === rest) return;
    this.last.set(word, rest);
    this.heard[word]!(rest);
  }
}

/** What a program inside tells of a command that runs in the same connection. Source: src/container/inside/watch. */
import type { RemoteProcess } from './remote-process';
import type { SshConnection } from './ssh';

const watcher = '/run/cai/watch';
/** No line of our programs is longer. */
const maxLineLength = 200;

/** Exit statuses of the supervisor that had no room for a watcher. */
const noRoomStatuses: readonly (number | undefined)[] = [125, 126, undefined];
/** Before it is started again, in milliseconds; the command may just have ended, too. */
const againMs = 2_000;
/** The same, when it could not be started at all: what lacks room has to get some first. */
const laterMs = 10_000;
/** A watcher that has run for so long would have seen a command that is stopped, in milliseconds. */
const longEnoughMs = 10_000;
/** So many watchers in succession may be ended before they would have seen anything. */
const maxEnded = 3;

interface Watched {
  /** Was started first on its connection. */
  readonly command: Pick<RemoteProcess, 'hasEnded'>;
  /** For each word what takes the rest of its line: hostile text, of printable ASCII. Repeated lines mean nothing. */
  readonly heard: Readonly<Record<string, (rest: string) => void>>;
  /** The command cannot be watched: whoever else runs in its container ends each watcher. */
  readonly onUnwatchable: () => void;
}

/**
 * Watches a command until it ends. A watcher that is ended before is started again, unless that happens too often. Never
 * rejects: a connection that is lost is told elsewhere.
 */
export async function watchCommand(
  connection: Pick<SshConnection, 'run' | 'isOver'>,
  { command, heard, onUnwatchable }: Watched,
): Promise<void> {
  /** What belonged to each word when it was heard last. */
  const last = new Map<string, string>();
  const hear = (line: string): void => {
    const [, word = '', rest = ''] = /^([a-z-]+)(?: ([ -~]*))?$/.exec(line) ?? [];
    if (!Object.hasOwn(heard, word) || last.get(word) === rest) return;
    last.set(word, rest);
    heard[word]!(rest);
  };
  for (let ended = 0; ended < maxEnded;) {
    const startedAt = performance.now();
    // None: it was not started, or the connection is lost.
    const status = await startWatcher(connection, watcher, hear)
      .then(async ({ exited }) => (await exited).status)
      .catch(() => undefined);
    const isStarted = !noRoomStatuses.includes(status);
    if (performance.now() - startedAt >= longEnoughMs) ended = 0;
    if (isStarted) ended++;
    await new Promise((resolve) => setTimeout(resolve, isStarted ? againMs : laterMs).unref());
    if (command.hasEnded || connection.isOver) return;
  }
  onUnwatchable();
}

/**
 * Starts a program in a container that tells something line by line. `hear` gets each line, as Latin-1; none that is
 * longer than any that our programs write. Rejects with `SSH_CONNECT`.
 */
export async function startWatcher(
  connection: Pick<SshConnection, 'run'>,
  program: string,
  hear: (line: string) => void,
): Promise<RemoteProcess> {
  const started = await connection.run({ argv: [program], cwd: '/', env: [] });
  started.stdin.end();
  started.stderr.resume();
  let unfinished = '';
  started.stdout.on('data', (chunk: Buffer) => {
    const lines = (unfinished + chunk.toString('latin1')).split('\n');
    unfinished = lines.pop()!.slice(0, maxLineLength + 1);
    for (const line of lines) if (line.length <= maxLineLength) hear(line);
  });
  return started;
}

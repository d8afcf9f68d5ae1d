/** The commands of a devcontainer.json, which run in a container before any other does. */
import type { Readable } from 'node:stream';
import type { RunningContainer } from '../../container/provide';
import type { RemoteCommand } from '../../container/ssh/remote-command';
import type { SshConnection } from '../../container/ssh/ssh';
import { runHooks } from '../../workspace/devcontainer/hooks';
import { metadataOf } from '../../workspace/devcontainer/metadata';
import type { Host } from '../../system/host';
import { LineSplitter } from '../../system/streams/line-splitter';
import type { Target } from '../containers/target';

/** An agent may have written what runs, in characters. */
const maxLineLength = 2 ** 20;

interface SetUpPlace {
  readonly container: RunningContainer;
  readonly connection: SshConnection;
  /** The command for whose sake this happens: they have its environment. */
  readonly command: Promise<Pick<RemoteCommand, 'env' | 'files'>>;
  readonly host: Host;
}

/** Runs what has not run yet. One that fails is told, and keeps nothing else from running. Rejects with `SSH_CONNECT`. */
export async function setUpContainer(
  { wanted, voice }: Pick<Target, 'wanted' | 'voice'>,
  { container, connection, command, host }: SetUpPlace,
): Promise<void> {
  const { hooks } = metadataOf(container.devcontainer);
  if (hooks.length === 0) return;
  const { name, id, startedAt = 0 } = container;
  await runHooks(hooks, { name, id, startedAt }, host.folders.state, {
    run: async (argv, onLine) => {
      const { env, files } = await command;
      const cwd = wanted.settings.workingFolder;
      const remote = await connection.run({ argv, cwd, env, ...(files && { files }) });
      remote.stdin.end();
      const told = [remote.stdout, remote.stderr].map((output) => readLines(output, onLine));
      const [{ status }] = await Promise.all([remote.exited, ...told]);
      return status;
    },
    begin: (what) => voice.progress.begin(what),
    line: (text) => voice.progress.report({ kind: 'log', text }),
    say: (sentence) => {
      voice.progress.end();
      voice.tell(sentence);
    },
    end: () => voice.progress.end(),
  });
}

async function readLines(output: Readable, onLine: (line: string) => void): Promise<void> {
  const lines = new LineSplitter(maxLineLength);
  for await (const piece of output.setEncoding('utf8'))
    for (const line of lines.take(piece as string)) onLine(line);
  if (lines.rest !== '') onLine(lines.rest);
}

/** `cai stop`: ends containers; the next command starts them again. */
import { freezeLocks, whileThawed } from '../../container/freeze';
import { commandLine, runCommandLine } from '../support/command-line';
import { endContainers } from './end-containers';
import { select, withSelectionOptions } from './selection';
import type { SelectionOptions } from './selection';

interface Options extends SelectionOptions {
  readonly force?: true;
}

/** After this the engine kills what is left. The keeper needs one second. */
const patienceSeconds = 10;

const description = `Stops the containers of a workspace. The next command starts them again; one whose
configuration, image or folders have changed since is made anew, without what was installed in it.`;

/** Resolves with 0 when they have ended, with 1 if the user does not want that after all. */
export async function run(args: readonly string[]): Promise<number> {
  const command = withSelectionOptions(commandLine('stop', description)).option(
    '-f, --force',
    'also if commands run in them, which ends those',
  );
  return await runCommandLine(command, args, () => stop(command.opts<Options>()));
}

async function stop(options: Options): Promise<number> {
  const { stderr, env } = process;
  const { engine, containers, none } = await select(options, env);
  const locks = freezeLocks(env);
  const alive = containers.filter(({ state }) => !['exited', 'created', 'dead'].includes(state));
  if (alive.length === 0) {
    stderr.write(`cai: nothing to stop: ${containers.length === 0 ? none : 'no such container runs'}\n`);
  }
  const hasEnded = await endContainers(engine, alive, {
    isForced: options.force === true,
    done: 'stopped',
    end: ({ id }) => whileThawed(engine, locks, id, () => engine.stopContainer(id, patienceSeconds)),
  });
  return hasEnded ? 0 : 1;
}

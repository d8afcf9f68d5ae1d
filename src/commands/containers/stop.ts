/** `cai stop`: ends containers, which stay as they are. */
import type { Host } from '../../system/host';
import { stopWithServices } from '../../container/services';
import { isUp } from '../../container/user-containers';
import { declare } from '../support/command';
import { tell } from '../support/terminal';
import { endContainers } from './end-containers';
import { select, selectionArguments, selectionOptions, type SelectionOptions } from './selection';

interface Options extends SelectionOptions {
  readonly force?: true;
}

/** After this the engine kills what is left. The keeper needs one second. */
const patienceSeconds = 10;

/** Resolves with 0 when they have ended, with 1 if the user does not want that after all. */
export const run = declare<Options>({
  name: 'stop',
  description: `Stops the containers of a workspace, or those that you name. The next command starts them again. A container
whose configuration, image or folders have changed since is recreated, without what was installed in it.`,
  arguments: selectionArguments,
  options: [...selectionOptions, ['-f, --force', 'even if commands run in them, which this ends']],
  action: stop,
});

async function stop(options: Options, host: Host, names: readonly string[]): Promise<number> {
  const { engine, containers, none } = await select(names, options, host);
  const alive = containers.filter(({ state }) => isUp(state));
  if (alive.length === 0)
    tell(`nothing to stop: ${containers.length === 0 ? none : 'no such container runs'}`);
  const hasEnded = await endContainers(engine, alive, {
    isForced: options.force === true,
    done: 'stopped',
    end: (container) => stopWithServices(engine, container, patienceSeconds),
  });
  return hasEnded ? 0 : 1;
}

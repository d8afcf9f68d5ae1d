/** How `cai stop` and `cai rm` end containers: not those in which something runs, without a word. */
import { countSupervisors, type ContainerProcess } from '../../container/engine/container-processes';
import type { Engine } from '../../container/engine/engine';
import { CaiError } from '../../errors';
import type { OwnContainer } from '../../container/user-containers';
import { printable, printableLine } from '../../system/quoted';
import { confirm, tell } from '../support/terminal';

/**
 * Ends all of them at once by `end`, and tells each as `done`. If commands run in one, a person has to agree, unless
 * `isForced`: resolves with false for a no, rejects with `CaiError('USAGE')` where nobody can be asked.
 */
export async function endContainers(
  engine: Engine,
  containers: readonly OwnContainer[],
  how: { isForced: boolean; done: string; end: (container: OwnContainer) => Promise<void> },
): Promise<boolean> {
  const running = how.isForced ? [] : await Promise.all(containers.map((each) => workIn(engine, each)));
  const work = running.flat().join('\n');
  if (
    work !== '' &&
    !(await confirm(`cai: ${printable(work)}\nEnd them?`, `${work}\nUse --force to end them.`))
  )
    return false;
  const endings = containers.map(async (container) => {
    await how.end(container);
    tell(`${how.done} ${container.name}`);
  });
  await allDone(endings);
  return true;
}

/** Resolves when each of them is done; rejects with the first failure, but only after all have ended. */
export async function allDone(work: readonly Promise<void>[]): Promise<void> {
  for (const each of await Promise.allSettled(work)) if (each.status === 'rejected') throw each.reason;
}

const own = /\/run\/cai\/(?:keeper|supervisor)\b|^sshd: |\/usr\/sbin\/sshd |^porter\b/;
/** So many programs are named, of each so many characters. */
const [maxPrograms, maxCharacters] = [5, 70];

/** A sentence, and a line for each program; nothing if no command runs. */
async function workIn(engine: Engine, { id, name, state }: OwnContainer): Promise<string[]> {
  if (!['running', 'paused'].includes(state)) return [];
  let processes: readonly ContainerProcess[];
  try {
    processes = await engine.processes(id);
  } catch (reason) {
    // An agent can keep a cluster from telling.
    if (!(reason instanceof CaiError) || reason.code !== 'CONTAINER_START') throw reason;
    return [`what runs in the container ${name} is not known: ${reason.message}`];
  }
  const count = countSupervisors(processes);
  if (count === 0) return [];
  const programs = processes.filter(({ command }) => !own.test(command));
  const shown = programs.slice(0, maxPrograms).map(({ command }) => {
    // The agent chooses what its programs are called.
    const line = printableLine(command);
    return `  ${line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters - 3)}...`}`;
  });
  const more = programs.length - shown.length;
  const commands = count === 1 ? '1 command runs' : `${count} commands run`;
  const asProcesses = programs.length > count ? `, as ${programs.length} processes` : '';
  return [
    `${commands} in the container ${name}${asProcesses}:`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

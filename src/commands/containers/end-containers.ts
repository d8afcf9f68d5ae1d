/** How `cai stop` and `cai rm` end containers: not those in which something runs, without a word. */
import type { Engine } from '../../container/engine/engine';
import type { OwnContainer } from '../../container/user-containers';
import { CaiError } from '../../errors';
import { printableLine } from '../../system/quoted';
import { canAsk, confirm, tell } from '../support/terminal';

/** How they are to end. */
export interface Ending {
  /** Whether commands that run in them do not matter. */
  readonly isForced: boolean;
  /** What has been done then: `stopped`. */
  readonly done: string;
  /** Does it to one container. */
  readonly end: (container: OwnContainer) => Promise<void>;
}

/**
 * Ends all of them at once and tells each on stderr; if commands run in one, only after a yes of the person at
 * the terminal. Resolves with false for a no. Rejects with `CaiError('USAGE')` where nobody can be asked, and
 * with the first failure when all have been tried.
 */
export async function endContainers(
  engine: Engine,
  containers: readonly OwnContainer[],
  { isForced, done, end }: Ending,
): Promise<boolean> {
  if (!isForced && !(await mayEnd(engine, containers))) return false;
  const endings = containers.map(async (container) => {
    await end(container);
    tell(`${done} ${container.name}`);
  });
  for (const ending of await Promise.allSettled(endings)) {
    if (ending.status === 'rejected') throw ending.reason;
  }
  return true;
}

async function mayEnd(engine: Engine, containers: readonly OwnContainer[]): Promise<boolean> {
  const work = (await Promise.all(containers.map((container) => workIn(engine, container)))).flat();
  if (work.length === 0) return true;
  if (!canAsk()) throw new CaiError('USAGE', `${work.join('\n')}\nUse --force to end them.`);
  tell(work.join('\n'));
  return await confirm('End them?');
}

/** What every container runs for itself. */
const own = /\/run\/cai\/(?:keeper|supervisor)\b|^sshd: |\/usr\/sbin\/sshd /;
/** So many programs are named, of each so many characters. */
const [maxPrograms, maxCharacters] = [5, 70];

/** A sentence, and a line for each program; nothing if no command runs. */
async function workIn(engine: Engine, { id, name, state }: OwnContainer): Promise<string[]> {
  const count = ['running', 'paused'].includes(state) ? await engine.countCommands(id) : 0;
  if (count === 0) return [];
  const programs = (await engine.processes(id)).filter(({ command }) => !own.test(command));
  const shown = programs.slice(0, maxPrograms).map(({ command }) => `  ${shortened(command)}`);
  const more = programs.length - shown.length;
  const commands = count === 1 ? '1 command runs' : `${count} commands run`;
  const processes = programs.length > count ? `, as ${programs.length} processes` : '';
  return [
    `${commands} in the container ${name}${processes}:`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

/** The agent chooses what its programs are called. */
function shortened(text: string): string {
  const line = printableLine(text);
  return line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters - 3)}...`;
}

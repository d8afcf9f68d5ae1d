/** What the user is told of a limit of a container that is reached, by what the watcher inside says. */
import type { AgentStatus } from '../../rpc/status';

type Warning = AgentStatus & { readonly kind: 'warning' };

/** What the user is told of something that has run out, by the watcher's word for it. */
const shortages = {
  memory: ['has run out of memory, so that programs in it were killed', 'container.memory'],
  processes: [
    'has as many processes as it may have, so that programs in it could start no more',
    'container.pids',
  ],
} as const;

/**
 * For the counts of the watcher inside, from the first one on, of what was before. Who hears it is told of the first
 * time, and then only when it has happened twice as often: a program may try again without end.
 */
export function shortageWarning(what: keyof typeof shortages): (words: string) => Warning | undefined {
  let before: number | undefined;
  let told = 0;
  return (words) => {
    const count = /^[0-9]{1,15}$/.test(words) ? Number(words) : 0;
    before ??= count;
    if (count - before < Math.max(1, 2 * told)) return undefined;
    told = count - before;
    const [how, key] = shortages[what];
    return {
      kind: 'warning',
      title: `The agent's container ${how}.`,
      description: `If the work needs more, raise \`${key}\` in the configuration.`,
    };
  };
}

/**
 * For what the watcher inside says, the stage that is reached in per cent, and the budget that the container was given, in
 * bytes: nothing else about it is to be believed from inside. `undefined`: there is nothing to tell.
 */
export function diskWarning(stage: string, bytes: number | undefined): Warning | undefined {
  if (!['80', '100'].includes(stage) || bytes === undefined) return undefined;
  const mebibytes = bytes / 2 ** 20;
  const budget = mebibytes < 1024 ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
  const [what, until] =
    stage === '80'
      ? [`used 80 % of the ${budget}`, 'When that is used up']
      : [`used up the ${budget}`, 'Until it has less'];
  return {
    kind: 'warning',
    title: `The agent's container has ${what} of disk that it may have.`,
    description: `${until}, any process that writes there is ended. Remove what is not needed, or raise \`container.disk\` in the configuration.`,
  };
}

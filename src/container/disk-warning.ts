/** What the user is told of a container's disk budget. */
import type { AgentStatus } from '../agent/status';

/**
 * For the words of the watcher inside, which begin with the stage that is reached, in per cent, and the budget that the
 * container was given, in bytes: nothing else about it is to be believed from inside. `undefined`: there is nothing to
 * tell.
 */
export function diskWarning(
  words: string,
  bytes: number | undefined,
): (AgentStatus & { readonly kind: 'warning' }) | undefined {
  const [, stage] = /^(80|100)(?: |$)/.exec(words) ?? [];
  if (stage === undefined || bytes === undefined) return undefined;
  const mebibytes = bytes / 2 ** 20;
  const budget = mebibytes < 1024 ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
  const remedy = 'Remove what is not needed, or raise `container.disk` in the configuration.';
  return stage === '80'
    ? {
        kind: 'warning',
        title: `The agent's container has used 80 % of the ${budget} of disk that it may have.`,
        description: `When that is used up, whatever writes in it is ended. ${remedy}`,
      }
    : {
        kind: 'warning',
        title: `The agent's container has used up the ${budget} of disk that it may have.`,
        description: `Until it has less, whatever writes in it is ended. ${remedy}`,
      };
}

/** What the user is told of a container's disk budget. */
import type { AgentStatus } from '../../agent/status';
import { textInside } from './inside-files';
import type { SshConnection } from './ssh';

/** With which the keeper ends the container for the sake of its budget: ENOSPC. Source: src/container/inside/keeper. */
export const diskFullStatus = 28;

/** What to do about a budget that is used up. */
export const diskRemedy =
  "remove what is not needed, or raise container.disk in the configuration; --fresh makes the container anew, without what lies outside the workspace and the agent's data";

/** Whether the container's budget is used up, as far as that can be found out. */
export async function isDiskUsedUp(connection: Pick<SshConnection, 'run'>): Promise<boolean> {
  return (await textInside(connection, ['/run/cai/disk-use'])).trim() === '100';
}

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

/** Why a command in a container was killed: neither the kernel nor the keeper says a word where it ran. */
import { diskRemedy, isDiskUsedUp, memoryKills } from '../../container/ssh/inside';
import type { SshConnection } from '../../container/ssh/ssh';

/** Status of a command that was killed: 128 and the number of SIGKILL. */
export const killedStatus = 137;

/** Says on stderr what is known. `diskBytes`: the container's budget, if it has one. */
export async function explainKill(
  connection: Pick<SshConnection, 'run'>,
  diskBytes: number | undefined,
): Promise<void> {
  if (diskBytes !== undefined && (await isDiskUsedUp(connection))) {
    process.stderr.write(
      `cai: the command was killed, because the container has used up its disk budget and the command went on writing: ${diskRemedy}\n`,
    );
    return;
  }
  const count = await memoryKills(connection);
  if (count > 0)
    process.stderr.write(
      `cai: the command was killed; for want of memory the system has killed ${count} of this container's processes so far: raise container.memory in the configuration\n`,
    );
}

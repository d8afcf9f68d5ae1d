import { limitedText } from './limited-text';
import type { SshConnection } from './ssh';

/** Of the second version of control groups and of the first. Source: Linux, cgroup-v2.rst and memory.rst. */
const counters = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];

/**
 * How many processes the kernel has killed in the container for want of memory since it was started; 0 also
 * if that cannot be found out.
 */
export async function memoryKills(connection: Pick<SshConnection, 'run'>): Promise<number> {
  try {
    const command = await connection.run({ argv: ['/bin/cat', ...counters], cwd: '/', env: [] });
    // One of the files is not there.
    command.stderr.resume();
    const [, count] = /^oom_kill ([0-9]+)$/m.exec(await limitedText(command.stdout)) ?? [];
    return Number(count ?? 0);
  } catch {
    // Nobody knows without a connection, or from a container that does not just answer.
    return 0;
  }
}

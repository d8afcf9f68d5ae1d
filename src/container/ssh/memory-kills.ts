import { textInside } from './inside-files';
import type { SshConnection } from './ssh';

/** Of the second version of control groups and of the first. Source: Linux, cgroup-v2.rst and memory.rst. */
const counters = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];

/**
 * How many processes the kernel has killed in the container for want of memory since it was started; 0 also
 * if that cannot be found out.
 */
export async function memoryKills(connection: Pick<SshConnection, 'run'>): Promise<number> {
  const [, count] = /^oom_kill ([0-9]+)$/m.exec(await textInside(connection, counters)) ?? [];
  return Number(count ?? 0);
}

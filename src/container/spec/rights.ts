/** What a container may do and use. */
import type { ContainerRights } from '../engine/container-info';
import type { Circumstances, Settings } from './spec';

/** Root on a rootless engine is the user of the host, and sshd needs these to let it in. */
const rootCapabilities = ['SETGID', 'SETUID', 'SYS_CHROOT'];

/** No agent needs more, and the machine keeps half. */
const mostMemoryBytes = 8 * 2 ** 30;

/** What it may do and use. */
export function rightsOf(settings: Settings, { user, engine }: Circumstances): ContainerRights {
  return {
    capabilities: user.uid === 0 ? rootCapabilities : [],
    isConfined: true,
    hasNetwork: settings.hasNetwork,
    seccomp: engine.seccomp,
    cgroups: 'private',
    memoryBytes: engine.can.memory ? memoryOf(settings, engine) : 0,
    pids: engine.can.pids ? settings.pids : 0,
    publishedOn: [],
  };
}

function memoryOf(
  { memoryBytes, memoryAtMostBytes = mostMemoryBytes }: Settings,
  engine: Circumstances['engine'],
): number {
  return memoryBytes ?? Math.min(mostMemoryBytes, Math.floor(engine.memoryBytes / 2), memoryAtMostBytes);
}

/** What engines give by themselves, which browsers and databases find too little. */
const leastSharedMemoryBytes = 64 * 2 ** 20;

/** Size of `/dev/shm`, in bytes. What lies there counts as memory of the container. */
export function sharedMemoryOf(settings: Settings, { engine }: Pick<Circumstances, 'engine'>): number {
  const quarter = Math.floor(memoryOf(settings, engine) / 4);
  return settings.shmBytes ?? Math.max(leastSharedMemoryBytes, quarter);
}

/** What an engine tells of the processes of a container. */

/** A process in a container. Ids are the engine's view of them: all of one machine, or all of the container. */
export interface ContainerProcess {
  /** Its id. */
  readonly pid: number;
  /** Id of its parent, which for the first process is not among those of the container. */
  readonly parent: number;
  /** Command line: the process itself decides what it says. */
  readonly command: string;
}

/** The columns that are asked for, and read below. */
export const processColumns = 'pid,ppid,args';

/** The answer of ContainerTop; empty for none. Source: Docker Engine API, ContainerTop. */
export function processesOf(answer: unknown): ContainerProcess[] {
  const { Processes } = (answer ?? {}) as { readonly Processes?: readonly (readonly string[])[] | null };
  return (Processes ?? []).map(([pid, parent, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }));
}

/** From the answer of ContainerStats; `undefined`: nobody counts. Source: Docker Engine API, ContainerStats. */
export function processCountOf(answer: unknown): number | undefined {
  // podman leaves the limit away.
  return (answer as { readonly pids_stats?: { readonly current?: number } }).pids_stats?.current;
}

/**
 * How many commands of `cai` run, of all processes of a container. What an agent starts can call itself as it likes,
 * but one of our supervisors is always above it; above those are only sshd's processes, and the keeper.
 */
export function countSupervisors(processes: readonly ContainerProcess[]): number {
  const byPid = new Map(processes.map((each) => [each.pid, each]));
  const isOfSshd = (pid: number): boolean => {
    const found = byPid.get(pid);
    if (found === undefined || !isSshd(found)) return false;
    const parent = byPid.get(found.parent);
    if (parent === undefined) return false;
    return (isKeeper(parent) && !byPid.has(parent.parent)) || isOfSshd(parent.pid);
  };
  return processes.filter((each) => isSupervisor(each) && isOfSshd(each.parent)).length;
}

/** The login shell that becomes the supervisor has its path among its arguments, too. */
const isSupervisor = ({ command }: ContainerProcess) =>
  /^(?:\S*\/)?perl \/run\/cai\/supervisor\b/.test(command);

const isKeeper = ({ command }: ContainerProcess) => /^(?:\S*\/)?perl \/run\/cai\/keeper\b/.test(command);

/** The listener, and what it starts for a connection. */
const isSshd = ({ command }: ContainerProcess) => /^(?:sshd[a-z-]*: |\/usr\/sbin\/sshd )/.test(command);

/** The processes of a container, and which of them are commands of `cai`. */

/** A process in a container. Ids are the engine's view of them: all of one machine, or all of the container. */
export interface ContainerProcess {
  readonly pid: number;
  /** Id of its parent, which for the first process is not among those of the container. */
  readonly parent: number;
  /** Command line: the process itself decides what it says. */
  readonly command: string;
}

/** How many commands of `cai` run in a container. */
export async function countCommands(
  engine: { processes(id: string): Promise<readonly ContainerProcess[]> },
  id: string,
): Promise<number> {
  return countSupervisors(await engine.processes(id));
}

/** The login shell that becomes the supervisor has its path among its arguments, too. */
const supervisor = /^(?:\S*\/)?perl \/run\/cai\/supervisor\b/;
const keeper = /^(?:\S*\/)?perl \/run\/cai\/keeper\b/;
/** What is started for a connection. */
const sshd = /^(?:sshd[a-z-]*: |\/usr\/sbin\/sshd )/;

/**
 * How many commands of `cai` run, of all processes of a container. What an agent starts can call itself as it likes,
 * but one of our supervisors is always above it; above those are only sshd's processes, and the keeper with its listener,
 * unless the engine has started sshd.
 */
export function countSupervisors(processes: readonly ContainerProcess[]): number {
  const byPid = new Map(processes.map((each) => [each.pid, each]));
  const isOfKeeper = (pid: number): boolean => {
    const found = byPid.get(pid);
    if (found === undefined || !keeper.test(found.command)) return false;
    return !byPid.has(found.parent) || isOfKeeper(found.parent);
  };
  const isOfSshd = (pid: number): boolean => {
    const found = byPid.get(pid);
    if (found === undefined || !sshd.test(found.command)) return false;
    return !byPid.has(found.parent) || isOfKeeper(found.parent) || isOfSshd(found.parent);
  };
  return processes.filter(({ command, parent }) => supervisor.test(command) && isOfSshd(parent)).length;
}

/** Whether a container is still what its labels say it was made as. */
import { CaiError } from '../errors';
import type { ContainerInfo, ContainerRights } from './engine/container-info';
import { label, mountText } from './spec/spec';
import type { Recorded, Settings } from './spec/spec';

/**
 * The error `FOREIGN_CONTAINER`, unless the container is ours, for this workspace and agent, and its real mounts, user
 * and rights are those that its labels recorded when it was made.
 */
export function tamperingOf(
  info: ContainerInfo,
  { workspace = '', agent }: Pick<Settings, 'workspace' | 'agent'>,
): CaiError | undefined {
  const { name, labels } = info;
  if (labels[label.managed] !== 'true')
    return refusal(name, 'was not made by cai', `rename or remove it: docker rm ${name}`);
  if (labels[label.workspace] !== workspace || labels[label.agent] !== agent)
    return refusal(name, 'was made for another workspace or agent', `remove it: docker rm -f ${name}`);
  const recorded = readRecord(labels[label.spec]);
  if (recorded === undefined) return refusal(name, 'has no readable record of how it was made', useFresh);
  const actual = actualOf(info);
  for (const key of Object.keys(actual) as (keyof Recorded)[]) {
    const [expected, found] = [recorded[key], actual[key]].map((value) => JSON.stringify(value));
    if (expected !== found && !(expected === undefined && later.has(key)))
      return refusal(name, `is not as it was made: ${key} should be ${expected}, and is ${found}`, useFresh);
  }
  return undefined;
}

/** What earlier versions of `cai` did not record: their containers are replaced when nothing runs in them. */
const later = new Set<keyof Recorded>(['seccomp', 'cgroups']);

const useFresh = 'use --fresh to make it anew; what the agent keeps in its data volume stays';

function refusal(name: string, what: string, remedy: string): CaiError {
  return new CaiError('FOREIGN_CONTAINER', `the container ${name} ${what}: ${remedy}`);
}

function readRecord(text: string | undefined): Partial<Recorded> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What the engine tells, in the words of the record. */
function actualOf(info: ContainerInfo): Recorded {
  const { rights } = info;
  return {
    image: info.imageId,
    user: info.user,
    mounts: info.mounts.map(mountText).sort(),
    capabilities: [...rights.capAdd].sort(),
    isConfined: isConfined(rights),
    seccomp: rights.seccomp,
    cgroups: rights.cgroupMode,
    memoryBytes: rights.memoryBytes,
    pids: rights.pidsLimit,
    publishedOn: [...new Set(rights.ports.map(({ hostIp }) => hostIp))],
  };
}

/** No way to more rights than those capabilities, and nothing shared with the host or with others. */
function isConfined(rights: ContainerRights): boolean {
  const { pidMode, ipcMode, utsMode, usernsMode, networkMode, networks } = rights;
  return (
    rights.capDrop.includes('ALL') &&
    rights.securityOpt.join() === 'no-new-privileges' &&
    !rights.isPrivileged &&
    rights.devices.length + rights.groups.length + networks.length === 0 &&
    [pidMode, ipcMode, utsMode, usernsMode].every((mode) => mode === 'private') &&
    networkMode === 'bridge'
  );
}

/** Whether a container is still what its labels say it was made as. */
import { CaiError } from '../errors';
import type { ContainerInfo } from './engine/container-info';
import { label, type Recorded } from './spec/labels';
import { mountText } from './spec/mounts/mounts';
import type { Settings } from './spec/spec';
import { quoted } from '../system/quoted';
import { objectIn } from '../system/unless';

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
  const recorded: Partial<Recorded> | undefined = objectIn(labels[label.spec]);
  if (recorded === undefined) return refusal(name, 'has no readable record of how it was made', useFresh);
  const { imageId: image, user, rights } = info;
  const actual: Recorded = { image, user, mounts: info.mounts.map(mountText).sort(), ...rights };
  for (const key of Object.keys(actual) as (keyof Recorded)[]) {
    const [expected, found] = [recorded[key], actual[key]].map((value) => JSON.stringify(value));
    const { strangers = [] } = info;
    if (expected !== found && key === 'isConfined' && strangers.length > 0)
      return refusal(
        name,
        `shares its pod with ${strangers.map(quoted).join(', ')}, which cai has not made`,
        'if your cluster adds that to pods, name it in kubernetes.injected of your config.toml; otherwise use --fresh',
      );
    if (expected !== found)
      return refusal(name, `is not as it was made: ${key} should be ${expected}, and is ${found}`, useFresh);
  }
  return undefined;
}

const useFresh = 'use --fresh to recreate it; what the agent keeps in its data volume stays';

function refusal(name: string, what: string, remedy: string): CaiError {
  return new CaiError('FOREIGN_CONTAINER', `the container ${name} ${what}: ${remedy}`);
}

/** What is waited for after a pod was made: that it runs, or that it never will. */
import { CaiError } from '../../../errors';
import { printableLine } from '../../../system/quoted';
import { NoWall } from '../engine';
import { mainContainer, type ContainerStatus, type Pod } from './pod';
import { containerInfoOf } from './pod-info';
import { reachedStatus, unwalled } from './pod-network';

/** Reasons with which a container waits that does not get better by itself. Source: Kubernetes, kubelet. */
const hopeless = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

/** One pod's. */
export class PodStart {
  /** `uid`: it is no other one of that name. */
  constructor(
    private readonly name: string,
    private readonly uid: string | undefined,
  ) {}

  /** True: it runs. Throws `CaiError` where it never will; `undefined` where nobody knows yet. */
  look(pod: Pod | undefined): true | undefined {
    if (pod === undefined || (this.uid !== undefined && pod.metadata.uid !== this.uid))
      throw new CaiError('CONTAINER_NOT_FOUND', `the pod ${this.name} was removed`);
    const { status = {} } = pod;
    const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const each of all) this.#check(each);
    const unscheduled = status.conditions?.find(
      ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
    );
    if (unscheduled !== undefined)
      throw this.#failure(`no node takes it: ${unscheduled.message ?? 'Unschedulable'}`);
    if (status.phase === 'Failed') throw this.#failure(status.message ?? status.reason ?? 'it has failed');
    const main = status.containerStatuses?.find(({ name }) => name === mainContainer);
    const hasRun = main?.state?.terminated !== undefined;
    return containerInfoOf(pod).isRunning || hasRun ? true : undefined;
  }

  #check({ name, state }: ContainerStatus): void {
    const { waiting, terminated } = state ?? {};
    if (waiting?.reason !== undefined && hopeless.has(waiting.reason))
      throw this.#failure(`${waiting.reason}: ${waiting.message ?? 'without a message'}`);
    if (name !== mainContainer && terminated !== undefined && terminated.exitCode !== 0) {
      const { exitCode, message = '' } = terminated;
      const said = printableLine(message.trim());
      if (exitCode === reachedStatus)
        throw new NoWall(`cannot start the pod ${this.name}: ${unwalled(said)}`);
      throw this.#failure(`its files could not be made: status ${exitCode}${said && `: ${said}`}`);
    }
    if (terminated?.reason === 'StartError' || terminated?.reason === 'ContainerCannotRun')
      throw this.#failure(terminated.message ?? terminated.reason);
  }

  #failure(why: string): CaiError {
    return new CaiError('CONTAINER_START', `cannot start the pod ${this.name}: ${why}`);
  }
}

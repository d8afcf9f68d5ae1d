/** What is waited for after a pod was made: that it runs, or that it never will. */
import { CaiError } from '../../../../errors';
import { printableLine } from '../../../../system/quoted';
import { NoWall } from '../../engine';
import { mainContainer, type ContainerStatus, type Pod } from './pod';
import { endOf } from './pod-info';
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

/** How long a pod may wait for a node, which a cluster may have to make room on first. */
const nodeMs = 60_000;
/** How long all of it may take, in milliseconds: a large image has to be fetched. */
export const startMs = 15 * 60_000;

/** The start of one pod. */
export class PodStart {
  /** Why no node takes it, as the scheduler says. */
  #unscheduled: string | undefined;

  /** `name` is for messages. */
  constructor(private readonly name: string) {}

  /** Ends `wait`, which gets a signal for that, with a `CaiError` if it takes too long. */
  async within<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const giveUp = new AbortController();
    const nodeTimer = setTimeout(() => {
      if (this.#unscheduled !== undefined)
        giveUp.abort(this.#failure(`no node takes it: ${this.#unscheduled}`));
    }, nodeMs);
    const timer = setTimeout(() => {
      const minutes = startMs / 60_000;
      giveUp.abort(this.#failure(`it does not run after ${minutes} minutes: see "kubectl describe pod"`));
    }, startMs);
    try {
      return await wait(giveUp.signal);
    } finally {
      clearTimeout(nodeTimer);
      clearTimeout(timer);
    }
  }

  /** True: it runs, or has ended. Throws `CaiError` where it never will; `undefined` where nobody knows yet. */
  look(pod: Pod | undefined): true | undefined {
    if (pod === undefined) throw new CaiError('CONTAINER_NOT_FOUND', `${this.#cannot}: no such container`);
    const { status = {} } = pod;
    for (const each of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
      this.#check(each);
    const placed = status.conditions?.find(({ type }) => type === 'PodScheduled');
    this.#unscheduled = placed?.reason === 'Unschedulable' ? (placed.message ?? placed.reason) : undefined;
    const main = status.containerStatuses?.find(({ name }) => name === mainContainer);
    if (main?.state?.running !== undefined || main?.state?.terminated !== undefined) return true;
    if (endOf(pod) !== undefined) throw this.#failure(status.message ?? status.reason ?? 'it has failed');
    return undefined;
  }

  get #cannot(): string {
    return `cannot start the container ${this.name}`;
  }

  #check({ name, state }: ContainerStatus): void {
    const { waiting, terminated } = state ?? {};
    if (waiting?.reason !== undefined && hopeless.has(waiting.reason))
      throw this.#failure(`${waiting.reason}: ${waiting.message ?? 'without a message'}`);
    if (name !== mainContainer && terminated !== undefined && terminated.exitCode !== 0) {
      const { exitCode, message = '' } = terminated;
      const said = printableLine(message.trim());
      if (exitCode === reachedStatus) throw new NoWall(`${this.#cannot}: ${unwalled(said)}`);
      throw this.#failure(`its files could not be made: status ${exitCode}${said && `: ${said}`}`);
    }
    if (terminated?.reason === 'StartError' || terminated?.reason === 'ContainerCannotRun')
      throw this.#failure(terminated.message ?? terminated.reason);
  }

  #failure(why: string): CaiError {
    return new CaiError('CONTAINER_START', `${this.#cannot}: ${why}`);
  }
}

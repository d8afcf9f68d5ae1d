/** What is waited for after a pod was made: that it runs, or that it never will. */
import { CaiError, type FailureCode } from '../../../../errors';
import { printableLine, quoted } from '../../../../system/quoted';
import { NoWall } from '../../engine';
import { firstContainer, mainContainer, type ContainerStatus, type Pod } from './pod';
import type { Pods } from '../pods';
import { endOf, partsOf } from './pod-info';
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

/** What to do, by what the scheduler or a node says. Source: Kubernetes, kube-scheduler and kubelet. */
const remedies: readonly (readonly [sentence: RegExp, remedy: string])[] = [
  [
    /^(?:ErrImage|ImagePull|InvalidImageName)/,
    'see that nodes reach that registry, too, and name their login as kubernetes.pull_secrets in your config.toml if it is not public',
  ],
  [
    /persistentvolumeclaim "[^"]*" not found/i,
    'make that claim, or name another in [[kubernetes.volumes]] of your config.toml',
  ],
  [
    /unbound immediate PersistentVolumeClaims/i,
    'see "kubectl describe pvc", name a class that there is as kubernetes.storage_class in your config.toml, and remove the claim with "cai rm --volumes"',
  ],
  [
    /node affinity|node selector/i,
    'see "kubectl get nodes --show-labels", and correct kubernetes.node_selector in your config.toml',
  ],
  [/\btaint/, 'name that taint in kubernetes.tolerations of your config.toml'],
  [
    /Insufficient |Too many pods/,
    'remove containers that you do not need ("cai ps --all", "cai rm"), or have the administrator add nodes',
  ],
  [
    /hostPath type check failed/,
    'that folder is not on this node: correct [[kubernetes.volumes]] in your config.toml, or use a claim in place of folders of nodes',
  ],
];

/** How long a pod that has a node may wait for that to begin and to give it its volumes, in milliseconds. */
const placeMs = 60_000;
/** How often it is said that a pod waits for a node, in milliseconds. */
const wordMs = 30_000;
/** How long all of it may take, in milliseconds, besides the wait for a node that the user allows: images are large. */
export const startMs = 15 * 60_000;

/** What the scheduler says that no further node would change. Source: Kubernetes, kube-scheduler. */
const ofVolumes = /persistentvolumeclaim/i;

const noNode = (unplaced: string): string => `no node takes it: ${unplaced}`;

interface StartOptions {
  /** How long a cluster may take to find or make a node, in milliseconds; `undefined`: as long as all may take. */
  readonly scheduleMs: number | undefined;
  /** As `Engine.onWait`. */
  readonly onWait: (why: string | undefined) => void;
}

export class PodStart {
  #pod: Pod | undefined;

  #isWaiting = false;

  /** `id` is the pod's; `asked` finds out why its node cannot begin with it, and whether the node is reached. */
  constructor(
    private readonly id: string,
    private readonly asked: Pick<Pods, 'placeFailure' | 'nodeFailure'>,
    private readonly options: StartOptions,
  ) {}

  /** Ends `wait`, which gets a signal for that, with `NO_PLACE` if it takes too long. */
  async within<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const giveUp = new AbortController();
    const fail = (why: string): void => giveUp.abort(this.#failure(why, 'NO_PLACE'));
    const { scheduleMs = startMs, onWait } = this.options;
    let [waitedMs, askedAtMs] = [0, 0];
    let placeTimer: NodeJS.Timeout;
    const misplaced = async (): Promise<string | undefined> => {
      const unplaced = this.#unplaced();
      if (unplaced !== undefined) {
        const limitMs = ofVolumes.test(unplaced) ? placeMs : scheduleMs;
        if (waitedMs >= limitMs) return noNode(unplaced);
        this.#isWaiting = true;
        onWait(`waiting for a node: ${unplaced.replace(/\.$/, '')}`);
      } else if (waitedMs - askedAtMs >= placeMs) {
        askedAtMs = waitedMs;
        return await this.#misplaced();
      }
      return undefined;
    };
    const lookLater = (): void => {
      const pauseMs = scheduleMs > waitedMs ? Math.min(wordMs, scheduleMs - waitedMs) : wordMs;
      placeTimer = setTimeout(() => {
        waitedMs += pauseMs;
        misplaced().then((why) => {
          if (why !== undefined) fail(why);
          else if (!giveUp.signal.aborted) lookLater();
        }, giveUp.abort.bind(giveUp));
      }, pauseMs);
    };
    lookLater();
    const allMs = startMs + (this.options.scheduleMs ?? 0);
    const timer = setTimeout(() => {
      const unplaced = this.#unplaced();
      const slow = `it does not run after ${Math.round(allMs / 60_000)} minutes: see "kubectl get events"`;
      fail(unplaced === undefined ? slow : noNode(unplaced));
    }, allMs);
    try {
      return await wait(giveUp.signal);
    } finally {
      giveUp.abort();
      clearTimeout(placeTimer!);
      clearTimeout(timer);
      this.#placed();
    }
  }

  /** True: it runs, or has ended. Throws `CaiError` where it never will; `undefined` where nobody knows yet. */
  look(pod: Pod | undefined): true | undefined {
    if (pod === undefined)
      throw new CaiError('CONTAINER_NOT_FOUND', `${this.#cannot}: somebody has removed it: try again`);
    const { status = {} } = pod;
    const main = status.containerStatuses?.find(({ name }) => name === mainContainer);
    // The agent does not wait for others beside it, which the cluster may have added.
    for (const each of [...(status.initContainerStatuses ?? []), ...(main === undefined ? [] : [main])])
      this.#check(each);
    this.#pod = pod;
    if (this.#unplaced() === undefined) this.#placed();
    if (main?.state?.running !== undefined || main?.state?.terminated !== undefined) return true;
    if (endOf(pod) !== undefined) throw this.#failure(status.message ?? status.reason ?? 'it has failed');
    return undefined;
  }

  get #cannot(): string {
    return `cannot start the container ${partsOf(this.id).name}`;
  }

  /** Why no node takes it, in the words of the scheduler. */
  #unplaced(): string | undefined {
    const placed = this.#pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    return placed?.reason === 'Unschedulable' ? (placed.message ?? placed.reason) : undefined;
  }

  #placed(): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.options.onWait(undefined);
  }

  async #misplaced(): Promise<string | undefined> {
    const { spec, status } = this.#pod ?? {};
    // A node that has too much to do begins later.
    if (spec?.nodeName !== undefined && status?.startTime === undefined)
      return await this.asked.nodeFailure(this.id, spec.nodeName);
    const why = await this.asked.placeFailure(this.id);
    return why && `its node cannot begin with it: ${why}`;
  }

  #check({ name, state }: ContainerStatus): void {
    const { waiting, terminated } = state ?? {};
    if (waiting?.reason !== undefined && hopeless.has(waiting.reason))
      throw this.#failure(`${waiting.reason}: ${waiting.message ?? 'without a message'}`);
    if (name !== mainContainer && terminated !== undefined && terminated.exitCode !== 0) {
      const { exitCode, message = '' } = terminated;
      const said = printableLine(message.trim());
      if (exitCode === reachedStatus) throw new NoWall(`${this.#cannot}: ${unwalled(said)}`);
      const what =
        name === firstContainer ? 'its files could not be made' : `${quoted(name)} has failed in it`;
      throw this.#failure(`${what}: status ${exitCode}${said && `: ${said}`}`);
    }
    if (terminated?.reason === 'StartError' || terminated?.reason === 'ContainerCannotRun')
      throw this.#failure(terminated.message ?? terminated.reason);
  }

  #failure(why: string, code: FailureCode = 'CONTAINER_START'): CaiError {
    const [, remedy] = remedies.find(([sentence]) => sentence.test(why)) ?? [];
    const said = printableLine(why.trim()).replace(/\.$/, '');
    return new CaiError(code, `${this.#cannot}: ${said}${remedy === undefined ? '' : `: ${remedy}`}`);
  }
}

/** The pods of a namespace, by the ids and names of their containers. Methods reject as `KubernetesApi` does. */
import { messageOf } from '../../../errors';
import type { Labels } from '../engine';
import { withQuery } from './api/api';
import { NodeSilent, nodeAwayText, refusalOf, unless } from './api/api-error';
import type { Namespace } from './namespace';
import { objectName } from './pod/object-name';
import { mainContainer, type Pod } from './pod/pod';
import type { podBody } from './pod/pod-body';
import { endOf, idOf, isLost, partsOf } from './pod/pod-info';

/** For how long what an ended pod has printed can be of interest, in milliseconds. */
const endedMs = 10 * 60_000;

/** For how long the end of a pod is waited for, in milliseconds, and how often: a node that is gone counts as lost by then. */
const endMs = 30_000;
const maxEnds = 3;

/** What is told of a pod by its node and the cluster. Source: Kubernetes API, core/v1, `Event`. */
interface PodEvent {
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string;
}

/** How long a node may take to say that it has not begun with a pod, in milliseconds. */
const nodeAnswerMs = 10_000;

/** Reasons of events by which a node tells that a pod cannot begin. Source: Kubernetes, kubelet/events/event.go. */
const placeFailures = new Set(['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox']);

/** So many failures say that it stays so: of what has just been made, or on a busy node, the first attempts fail, too. */
const minPlaceFailures = 4;

const logBytes = 64 * 1024;

export class Pods {
  constructor(
    private readonly namespace: Namespace,
    /** Names or images of containers that the cluster adds to pods. */
    private readonly injected: readonly string[] = [],
  ) {}

  /** Our pods that may have these labels; `query` narrows that. */
  async list(labels: Labels, query: Readonly<Record<string, string>> = {}): Promise<readonly Pod[]> {
    const path = withQuery(this.namespace.selected('pods', labels), query);
    return (await this.namespace.api.list(path)).items as readonly Pod[];
  }

  /** `undefined`: there is none, or it is another one of that name. */
  async find(idOrName: string): Promise<Pod | undefined> {
    const { name, uid } = partsOf(idOrName);
    const pod = (await this.namespace.api.get(this.#path(name)).catch(unless(404))) as Pod | undefined;
    return uid === undefined || pod?.metadata.uid === uid ? pod : undefined;
  }

  /** Resolves with its id; with `undefined` if there is one of that name. */
  async make({ pod, secret }: ReturnType<typeof podBody>): Promise<string | undefined> {
    const { api } = this.namespace;
    const made = await (api.create(this.#path(), pod) as Promise<Pod>).catch(unless(409));
    if (made === undefined) return undefined;
    // It goes with the pod, which waits for it.
    const { name, uid } = made.metadata;
    const metadata = { ...secret.metadata, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] };
    await api
      .create(this.namespace.path('secrets'), { ...secret, metadata })
      .catch(async (reason: unknown) => {
        await this.remove(idOf(made), 0);
        throw reason;
      });
    return idOf(made);
  }

  /** Does nothing if it is not there. Another one of that name stays. It may still be ending when this resolves. */
  async remove(id: string, seconds: number): Promise<void> {
    const { name, uid } = partsOf(id);
    const options = { gracePeriodSeconds: seconds, ...(uid !== undefined && { uid }) };
    await this.namespace.api.remove(this.#path(name), options).catch(unless(404, 409));
  }

  /** As `remove`, and resolves when it is gone. Nobody waits for a node that is lost, or has not begun with it. */
  async end(id: string, seconds: number): Promise<void> {
    for (let ends = 0; ends < maxEnds; ends++) {
      const pod = await this.find(id);
      if (pod === undefined) return;
      await this.remove(id, isLost(pod) || pod.status?.startTime === undefined ? 0 : seconds);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), endMs + seconds * 1_000);
      const gone = this.follow(id, (found) => (found === undefined ? true : undefined), late.signal);
      const isGone = await gone
        .catch((reason: unknown) => {
          if (!late.signal.aborted) throw reason;
          return false;
        })
        .finally(() => clearTimeout(timer));
      if (isGone) return;
    }
    throw new NodeSilent(maxEnds * (endMs / 1_000 + seconds));
  }

  /**
   * Why a pod gets no volumes or no place on its node, in the words of that node; `undefined`: it has both, or we may not
   * know.
   */
  async placeFailure(id: string): Promise<string | undefined> {
    const path = this.namespace.path('events');
    const events = withQuery(path, { fieldSelector: `involvedObject.uid=${partsOf(id).uid ?? ''}` });
    const items = (await this.namespace.api.list(events).catch(unless(403)))?.items as
      | readonly PodEvent[]
      | undefined;
    // Its images are looked for when it has its volumes.
    if (items === undefined || items.some(({ reason }) => reason === 'Pulling' || reason === 'Pulled'))
      return undefined;
    const failures = items.filter(({ reason = '' }) => placeFailures.has(reason));
    const times = failures.reduce((sum, { count = 1 }) => sum + count, 0);
    if (times < minPlaceFailures) return undefined;
    // Others may be over: a node can look for the secret of a pod before it is there.
    const again = failures.filter(({ count = 1 }) => count > 1);
    const newest = again.reduce<PodEvent | undefined>(
      (last, each) => ((each.lastTimestamp ?? '') >= (last?.lastTimestamp ?? '') ? each : last),
      undefined,
    );
    return (newest ?? failures.at(-1))?.message;
  }

  /** Says that this node of a pod is not reached; `undefined`: it answers, though it may not have begun with the pod. */
  async nodeFailure(id: string, node: string): Promise<string | undefined> {
    // The API server has the node tell it.
    const path = `${this.#path(partsOf(id).name)}/log?container=${mainContainer}&tailLines=1`;
    const late = AbortSignal.timeout(nodeAnswerMs);
    try {
      await this.namespace.api.text(path, late);
    } catch (reason) {
      const said = late.aborted ? `no answer for ${nodeAnswerMs / 1_000} s` : messageOf(reason);
      if ((refusalOf(reason) ?? 500) >= 500)
        return nodeAwayText(`its node ${node}`, said, this.namespace.api.cluster);
    }
    return undefined;
  }

  /** Nothing else removes those that have ended by themselves. Nobody asks what one was for that had a time limit. */
  async removeEnded(labels: Labels): Promise<void> {
    // Those that run may be thousands. With a container that runs on beside that of the agent, a pod still counts as running.
    const fieldSelector = 'status.phase!=Pending,status.phase!=Running';
    const query = this.injected.length === 0 ? { fieldSelector } : {};
    const ended = (await this.list(labels, query)).filter((pod) => {
      const end = endOf(pod);
      const { finishedAt = pod.metadata.creationTimestamp ?? '' } = end ?? {};
      const isOld = Date.now() - Date.parse(finishedAt) > endedMs;
      return end !== undefined && (isOld || pod.spec.activeDeadlineSeconds !== undefined);
    });
    await Promise.all(ended.map((pod) => this.remove(idOf(pod), 0)));
  }

  /**
   * Looks at a pod whenever it changes, until `look` tells something; `undefined`: it is not there, or it is another one of
   * that name. Rejects with what `look` throws, or with the reason of `signal`.
   */
  async follow<T>(
    id: string,
    look: (pod: Pod | undefined) => T | undefined,
    signal?: AbortSignal,
  ): Promise<T> {
    const { name, uid } = partsOf(id);
    const path = withQuery(this.#path(), { fieldSelector: `metadata.name=${objectName(name)}` });
    const done = new AbortController();
    let told: T | undefined;
    await this.namespace.api.watch(
      path,
      (event) => {
        const pod = (event.type === 'LISTED' ? event.objects[0] : event.object) as Pod | undefined;
        const isIt = event.type !== 'DELETED' && (uid === undefined || pod?.metadata.uid === uid);
        told = look(isIt ? pod : undefined);
        if (told !== undefined) done.abort();
      },
      signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]),
    );
    if (told === undefined) throw signal!.reason;
    return told;
  }

  async log(id: string, lines: number): Promise<string> {
    return await this.namespace.api.text(
      `${this.#path(partsOf(id).name)}/log?container=${mainContainer}&tailLines=${lines}&limitBytes=${logBytes}`,
    );
  }

  #path(name?: string): string {
    return this.namespace.path('pods', name === undefined ? undefined : objectName(name));
  }
}

/** Volumes as claims: the cluster finds the room for them, and keeps it when a pod ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../../config/config';
import { CaiError } from '../../../errors';
import { hasAll, type Labels, type ListedVolume } from '../engine';
import { withQuery } from './api/api';
import { unless } from './api/api-error';
import { annotationsOf, labelsIn, pairsOf, selectableOf } from './pod/labels';
import type { Namespace } from './namespace';
import { nameOfObject, objectName } from './pod/object-name';
import type { Pod } from './pod/pod';

const kind = 'persistentvolumeclaims';
/** How long one that is being removed is waited for, and the pause between two looks, in milliseconds. */
const [goneMs, pauseMs] = [60_000, 200];

/** The volume claims of one namespace. Methods do what those of `Engine` do. */
export class Claims {
  /** `wanted`: how large each is, of which class, and what else is to be said of it. */
  constructor(
    private readonly namespace: Namespace,
    private readonly wanted: Pick<Config['kubernetes'], 'storageBytes' | 'storageClass' | 'labels'>,
  ) {}

  async list(labels: Labels): Promise<readonly ListedVolume[]> {
    const { api } = this.namespace;
    const path = this.namespace.selected(kind, labels);
    return await this.namespace.ask('list the volumes', async () =>
      ((await api.list(path)).items as readonly Pick<Pod, 'metadata'>[])
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => ({ name: nameOfObject(metadata.name), labels: labelsIn(metadata) }))
        .filter(hasAll(labels)),
    );
  }

  async create(name: string, labels: Labels): Promise<void> {
    const { storageBytes, storageClass, labels: more } = this.wanted;
    const selectable = { ...pairsOf(more), ...selectableOf(labels) };
    const body = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: objectName(name), labels: selectable, annotations: annotationsOf(labels) },
      spec: {
        accessModes: ['ReadWriteOnce'],
        ...(storageClass !== undefined && { storageClassName: storageClass }),
        resources: { requests: { storage: String(storageBytes) } },
      },
    };
    await this.namespace.ask(`create the volume ${name}`, async () => {
      const end = Date.now() + goneMs;
      while (!(await this.#isMade(body))) {
        if (Date.now() > end)
          throw new CaiError('CONTAINER_START', `the cluster does not finish removing the volume ${name}`);
        await sleep(pauseMs);
      }
    });
  }

  /** `false`: one of that name is being removed, or was until now. The cluster keeps one for a moment after its last pod. */
  async #isMade(body: { readonly metadata: { readonly name: string } }): Promise<boolean> {
    const { api } = this.namespace;
    const created = await api.create(this.namespace.path(kind), body).catch(unless(409));
    if (created !== undefined) return true;
    const only = { fieldSelector: `metadata.name=${body.metadata.name}` };
    const { items } = await api.list(withQuery(this.namespace.path(kind), only));
    return (items as readonly Pick<Pod, 'metadata'>[]).some(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  }

  /** Kubernetes would take away one in use as soon as nobody uses it. */
  async remove(name: string): Promise<void> {
    const { api } = this.namespace;
    await this.namespace.ask(`remove the volume ${name}`, async () => {
      const { items } = await api.list(this.namespace.selected('pods', {}));
      const user = (items as readonly Pod[]).find((pod) => uses(pod, objectName(name)));
      if (user !== undefined) {
        const what = `cannot remove the volume ${name}: the container ${nameOfObject(user.metadata.name)} has it`;
        throw new CaiError('CONTAINER_START', what);
      }
      await api.remove(this.namespace.path(kind, objectName(name))).catch(unless(404));
    });
  }
}

function uses({ spec, status }: Pod, claim: string): boolean {
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const claims = (spec.volumes ?? []).map(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName);
  return !isOver && claims.includes(claim);
}

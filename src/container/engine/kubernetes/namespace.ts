/** Where everything is made: one namespace of a cluster. */
import type { Labels } from '../engine';
import { withQuery, type KubernetesApi } from './api/api';
import { kubernetesError } from './api/api-error';
import { selectableOf } from './pod/labels';

export class Namespace {
  constructor(readonly api: KubernetesApi) {}

  /** Path of a kind of objects, or of the one that has this name there. */
  path(kind: string, object?: string, group = '/api/v1'): string {
    const all = `${group}/namespaces/${encodeURIComponent(this.api.cluster.namespace)}/${kind}`;
    return object === undefined ? all : `${all}/${encodeURIComponent(object)}`;
  }

  /** Path of our objects that may have these labels. */
  selected(kind: string, labels: Labels): string {
    const wanted = Object.entries(selectableOf(labels)).map(([key, value]) => `${key}=${value}`);
    return withQuery(this.path(kind), wanted.length === 0 ? {} : { labelSelector: wanted.join() });
  }

  /** Rejects with `CaiError`: `what` was tried, as in "cannot ...". */
  async ask<T>(what: string, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (reason) {
      throw kubernetesError(reason, { cluster: this.api.cluster, what, code: 'CONTAINER_START' });
    }
  }
}

/** The images of a cluster: each node has its own, which nobody lists, so a name is taken as it is. */
import { CaiError } from '../../../errors';
import type { ImageStore } from '../engine';
import type { ImageInfo } from '../engine-info';

/** One cluster's. */
export class KubernetesImages implements ImageStore {
  /** As of `ImageStore`. */
  find(ref: string): Promise<ImageInfo> {
    return Promise.resolve({ id: ref, tags: [ref], labels: {}, env: [] });
  }

  /** As of `ImageStore`. */
  remove(): Promise<void> {
    return Promise.resolve();
  }

  /** As of `ImageStore`. */
  build(): Promise<void> {
    return Promise.reject(new CaiError('IMAGE', 'Kubernetes builds no images'));
  }

  /** As of `ImageStore`. */
  pull(): Promise<void> {
    return Promise.resolve();
  }
}

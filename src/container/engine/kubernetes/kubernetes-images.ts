/** The images of a cluster: those of registries, from which each node takes what it needs. */
import { CaiError } from '../../../errors';
import type { Registry } from '../../registry/registry';
import type { ImageStore } from '../engine';
import type { ImageInfo } from '../engine-info';

/** One cluster's. */
export class KubernetesImages implements ImageStore {
  /** Nothing is asked yet. */
  constructor(private readonly registry: Pick<Registry, 'find'>) {}

  /** As of `ImageStore`: by its digest, so that every node has the same. */
  async find(ref: string): Promise<ImageInfo | undefined> {
    const found = await this.registry.find(ref);
    return (
      found && { id: found.id, tags: ref === found.id ? [] : [ref], labels: found.labels, env: found.env }
    );
  }

  /** As of `ImageStore`: nodes clear away what they do not use, and what a registry has is not ours. */
  remove(): Promise<void> {
    return Promise.resolve();
  }

  /** As of `ImageStore`. */
  build(): Promise<never> {
    return Promise.reject(new CaiError('IMAGE', 'Kubernetes builds no images'));
  }

  /** As of `ImageStore`: nodes fetch it themselves. */
  async pull(ref: string): Promise<void> {
    const found = await this.registry.find(ref);
    if (found === undefined) throw new CaiError('IMAGE', `there is no image ${ref} in the registry`);
  }

  /** As of `ImageStore`. */
  push(ref: string): Promise<never> {
    return Promise.reject(new CaiError('IMAGE', `cannot push the image ${ref}: Kubernetes pushes no images`));
  }
}

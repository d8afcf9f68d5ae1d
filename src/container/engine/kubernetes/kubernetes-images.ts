/** The images of a cluster are in registries, from which each node takes the images that it needs. */
import { CaiError } from '../../../errors';
import type { Registry } from '../../registry/registry';
import type { ImageStore } from '../image-store';
import type { ImageInfo } from '../engine-info';

export class KubernetesImages implements ImageStore {
  readonly #found = new Map<string, ImageInfo>();

  constructor(private readonly registry: Pick<Registry, 'find'>) {}

  /** By its digest, so that every node has the same. What has a digest is asked for once. */
  async find(ref: string): Promise<ImageInfo | undefined> {
    const known = this.#found.get(ref);
    if (known !== undefined) return known;
    const found = await this.registry.find(ref);
    if (found === undefined) return undefined;
    const image = { ...found, tags: [] };
    this.#found.set(image.id, image);
    return ref === image.id ? image : { ...image, tags: [ref] };
  }

  /** Nodes clear away what they do not use, and what a registry has is not ours. */
  remove(): Promise<void> {
    return Promise.resolve();
  }

  build(): Promise<never> {
    return Promise.reject(new CaiError('IMAGE', 'Kubernetes builds no images'));
  }

  /** Nodes fetch it themselves. */
  async pull(ref: string): Promise<void> {
    const found = await this.registry.find(ref);
    if (found === undefined) throw new CaiError('IMAGE', `there is no image ${ref} in the registry`);
  }

  push(ref: string): Promise<never> {
    return Promise.reject(new CaiError('IMAGE', `cannot push the image ${ref}: Kubernetes pushes no images`));
  }
}

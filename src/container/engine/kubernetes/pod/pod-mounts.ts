/** What of a container's mounts a pod has as volumes. */
import type { Config } from '../../../../config/config';
import type { ContainerMount } from '../../container-info';
import { nameOfObject, objectName } from './object-name';
import type { Pod, PodVolume, VolumeMount } from './pod';
import { sharedPlace, sourceOf } from './shared-folders';

type Shared = Config['kubernetes']['volumes'];

/** How the names of the volumes for mounts begin: those that are a container's own, and folders of this machine. */
const prefix = { own: 'own', shared: 'shared' } as const;

/** `claimed`: names of those volumes that are a container's own. Throws as `sharedPlace`. */
export function podMounts(
  mounts: readonly ContainerMount[],
  shared: Shared,
): {
  readonly volumes: readonly PodVolume[];
  readonly mounts: readonly VolumeMount[];
  readonly claimed: ReadonlySet<string>;
} {
  const volumes = new Map<string, PodVolume>();
  const claimed = new Set<string>();
  const made = mounts.map(({ type, source, target, isReadOnly }): VolumeMount => {
    const isOwn = type === 'volume';
    const { volume, subPath } = isOwn
      ? { volume: { persistentVolumeClaim: { claimName: objectName(source) } } }
      : { subPath: undefined, ...sharedPlace(source, shared) };
    const key = JSON.stringify(volume);
    const name = volumes.get(key)?.name ?? `${isOwn ? prefix.own : prefix.shared}${volumes.size}`;
    volumes.set(key, { ...volume, name });
    if (isOwn) claimed.add(name);
    return { name, mountPath: target, ...(subPath && { subPath }), ...(isReadOnly && { readOnly: true }) };
  });
  return { volumes: [...volumes.values()], mounts: made, claimed };
}

/** The mounts of a pod, but for our own files. */
export function mountsIn({ spec }: Pod, own: readonly VolumeMount[], shared: Shared): ContainerMount[] {
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  const mounts = own.flatMap(({ name, mountPath, subPath, readOnly = false }) => {
    const volume = volumes.get(name);
    if (volume === undefined) return [];
    const where = { target: mountPath, isReadOnly: readOnly };
    if (name.startsWith(prefix.own)) {
      const claim = volume.persistentVolumeClaim?.claimName ?? '';
      return [{ type: 'volume', source: nameOfObject(claim), ...where }];
    }
    if (!name.startsWith(prefix.shared)) return [];
    return [{ type: 'bind', source: sourceOf({ volume, ...(subPath && { subPath }) }, shared), ...where }];
  });
  return mounts.sort((one, other) => (one.target < other.target ? -1 : 1));
}

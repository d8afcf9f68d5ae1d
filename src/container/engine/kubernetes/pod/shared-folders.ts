/** Which folders of this machine pods find in a volume, as the user's configuration says. */
import { posix } from 'node:path';
import type { Config } from '../../../../config/config';
import { CaiError } from '../../../../errors';
import { quoted } from '../../../../system/quoted';
import type { PodVolume } from './pod';
import { innermost, isInside } from '../../../../system/paths/is-inside';

type Shared = Config['kubernetes']['volumes'];

/** Where a pod finds a file or folder of this machine. */
interface SharedPlace {
  /** The volume, without a name. */
  readonly volume: Omit<PodVolume, 'name'>;
  /** In it; absent: all of it. */
  readonly subPath?: string;
}

/** Of several folders that hold it, the innermost counts. Throws `CaiError('WORKSPACE')` for what is in none. */
export function sharedPlace(source: string, shared: Shared): SharedPlace {
  const best = innermost(source, shared, ({ folder }) => folder);
  if (best === undefined) {
    const what = `${quoted(source)} is in no folder that pods can mount`;
    const remedy =
      'name the folder and its volume in [[kubernetes.volumes]] of your config.toml, or, for a workspace, have it copied with copy = "git" in [kubernetes]';
    throw new CaiError('WORKSPACE', `${what}: ${remedy}`);
  }
  const { claim, path } = best.from;
  const below = posix.relative(best.folder, source);
  if (claim === undefined)
    return { volume: { hostPath: { path, type: 'Directory' } }, ...(below !== '' && { subPath: below }) };
  const subPath = posix.join(path, below).replace(/^\.$/, '');
  return {
    volume: { persistentVolumeClaim: { claimName: claim } },
    ...(subPath !== '' && { subPath }),
  };
}

/** What of this machine a pod has there; what no folder of this machine stands for is told in the cluster's words. */
export function sourceOf({ volume, subPath = '' }: SharedPlace, shared: Shared): string {
  const claim = volume.persistentVolumeClaim?.claimName;
  const [best] = shared
    .filter(({ from }) => from.claim === claim && isInside(posix.join('/', subPath), inVolume(from)))
    .filter(({ from }) => claim !== undefined || from.path === volume.hostPath?.path)
    .sort((one, other) => other.from.path.length - one.from.path.length);
  if (best === undefined) return posix.join(claim ?? volume.hostPath?.path ?? '', subPath);
  return posix.join(best.folder, posix.relative(inVolume(best.from), posix.join('/', subPath)));
}

/** The root of what is shared, seen from the root of the volume. */
function inVolume({ claim, path }: Shared[number]['from']): string {
  return claim === undefined ? '/' : posix.join('/', path);
}

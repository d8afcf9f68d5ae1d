/** What `cai prune` and `cai uninstall` remove from an engine. */
import type { Engine } from '../../container/engine/engine';
import type { DiskUse } from '../../container/engine/engine-info';
import { shortId } from '../../container/image/image-tag';
import { unusedImages } from '../../container/image/unused-images';
import { removeWithServices } from '../../container/services';
import {
  orphanedServices,
  ownContainers,
  ownVolumes,
  volumesUsed,
  type OwnVolume,
} from '../../container/user-containers';
import { messageOf } from '../../errors';
import { tell } from '../support/terminal';

export interface Removable {
  readonly kind: string;
  readonly name: string;
  readonly remove: () => void | Promise<void>;
}

interface Leftover extends Removable {
  readonly because: string;
  /** What its end gives back; undefined: the engine does not tell. */
  readonly bytes: number | undefined;
}

/** What is looked for. */
interface Wish {
  /** Why nothing of a workspace is needed any more; `undefined`: it may be needed. */
  readonly why: (root: string | undefined) => string | undefined;
  /** Also containers that run. */
  readonly endsRunning: boolean;
}

/** Containers, services and volumes, in the order in which they have to go. */
export async function leftoversIn(
  engine: Engine,
  uid: number,
  use: DiskUse | undefined,
  { why, endsRunning }: Wish,
): Promise<Leftover[]> {
  const containers = await ownContainers(engine, uid);
  const going = containers.filter(
    ({ workspace, state }) => (endsRunning || state !== 'running') && why(workspace) !== undefined,
  );
  const staying = containers.filter((each) => !going.includes(each));
  const needed = new Set(staying.flatMap(volumesUsed));
  const orphans = await orphanedServices(engine, uid, containers);
  const volumes = (await ownVolumes(engine, uid)).filter(
    ({ name, workspace }) => why(workspace) !== undefined && !needed.has(name),
  );
  return [
    ...going.map((container) => ({
      kind: 'container',
      name: container.name,
      because: why(container.workspace) ?? '',
      bytes: use?.containers.get(container.id),
      remove: () => removeWithServices(engine, container),
    })),
    ...orphans.map(({ id, name }) => ({
      kind: 'container',
      name,
      because: 'the container that it served is gone',
      bytes: use?.containers.get(id),
      remove: () => engine.removeContainer(id),
    })),
    ...volumes.map((volume) => ({
      kind: 'volume',
      name: volume.name,
      because: `${why(volume.workspace) ?? ''}: ${contentOf(volume)}`,
      bytes: use?.volumes.get(volume.name),
      remove: () => engine.removeVolume(volume.name),
    })),
  ];
}

function contentOf({ kind, service, agent }: OwnVolume): string {
  if (kind === 'copy') return 'its copy';
  return kind === 'folder' ? 'a folder of it' : `the data of ${service ?? agent}`;
}

/** Images that no container has. */
export function imagesIn(
  { images }: Engine,
  use: DiskUse | undefined,
  which: Parameters<typeof unusedImages>[1],
): Leftover[] {
  return unusedImages(use?.images ?? [], which).map(({ image, because }) => ({
    kind: 'image',
    name: image.tags[0] ?? shortId(image.id),
    because,
    bytes: image.bytes - image.sharedBytes,
    remove: async () => {
      for (const name of image.tags.length === 0 ? [image.id] : image.tags) await images.remove(name);
    },
  }));
}

/** Tells what cannot be removed, and goes on, unless that is `isFatal`; returns what is gone. */
export async function removeAll<T extends Removable>(
  all: readonly T[],
  isFatal: (reason: unknown) => boolean = () => false,
): Promise<T[]> {
  const gone: T[] = [];
  for (const each of all) {
    try {
      await each.remove();
      gone.push(each);
    } catch (reason) {
      if (isFatal(reason)) throw reason;
      tell(`the ${each.kind} ${each.name} stays: ${messageOf(reason)}`);
    }
  }
  return gone;
}

/** `cai prune`: removes containers, volumes and images that are not used any more. */
import { lstatSync } from 'node:fs';
import type { Host } from '../../system/host';
import type { Engine } from '../../container/engine/engine';
import type { DiskUse } from '../../container/engine/engine-info';
import { unusedImages } from '../../container/image/unused-images';
import { shortId } from '../../container/image/image-tag';
import { removeWithServices } from '../../container/services';
import { isCopyVolume, isFolderVolume } from '../../container/spec/spec';
import { orphanedServices, ownContainers, ownVolumes, volumesUsed } from '../../container/user-containers';
import { CaiError, errorCodeOf } from '../../errors';
import { common, declare } from '../support/command';
import { bytesText, confirm, table, tell } from '../support/terminal';
import { connectEngine } from './selection';

interface Options {
  readonly all?: true;
  readonly yes?: true;
  readonly dryRun?: true;
  readonly context?: string;
}

interface Leftover {
  readonly kind: 'container' | 'volume' | 'image';
  readonly name: string;
  readonly because: string;
  /** What its end gives back; undefined: the engine does not tell. */
  readonly bytes: number | undefined;
  readonly remove: () => Promise<void>;
}

/** Resolves with 0 when nothing of it is there any more, or nobody wants to remove it; with 1 if some of it stays. */
export const run = declare<Options>({
  name: 'prune',
  description: `Removes what is not used any more: containers and volumes of workspaces whose folder is gone, images that
newer ones have replaced, and what builds have left. It shows them and asks before.`,
  options: [
    [
      '-a, --all',
      'also the images of agents that no container has: they are built again when they are needed',
    ],
    ['-n, --dry-run', 'only show them'],
    ['-y, --yes', 'remove them without asking'],
    common.context,
  ],
  footer: `
A workspace on a disk that is not mounted looks as if it were gone: check the list, or its agents' data goes, too.`,
  action: prune,
});

async function prune({ all, yes, dryRun, context }: Options, host: Host): Promise<number> {
  const engine = await connectEngine(host, context);
  const leftovers = await leftoversOf(engine, host.user.uid, all === true);
  if (leftovers.length === 0) {
    tell('nothing to remove');
    return 0;
  }
  const rows = leftovers.map(({ kind, name, bytes, because }) => [kind, name, bytesText(bytes), because]);
  process.stdout.write(table([['KIND', 'NAME', 'SIZE', 'WHY'], ...rows], ['NAME', 'WHY']));
  if (dryRun === true) return 0;
  if (
    yes !== true &&
    !(await confirm('Remove these?', 'Use --yes to remove these, or --dry-run to see them.'))
  )
    return 1;
  return await removeAll(leftovers);
}

/** In the order in which they have to go. */
async function leftoversOf(engine: Engine, uid: number, withAgents: boolean): Promise<Leftover[]> {
  const use = await engine.diskUse?.();
  const containers = await ownContainers(engine, uid);
  // Another machine's engine may have containers of workspaces that are on a third one.
  const isLost = (workspace: string | undefined) => engine.isElsewhere !== true && isGone(workspace);
  const going = containers.filter(({ workspace, state }) => state !== 'running' && isLost(workspace));
  const staying = containers.filter((each) => !going.includes(each));
  const needed = new Set(staying.flatMap(volumesUsed));
  const orphans = await orphanedServices(engine, uid, containers);
  const volumes = (await ownVolumes(engine, uid)).filter(
    ({ name, workspace }) => isLost(workspace) && !needed.has(name),
  );
  return [
    ...going.map((container): Leftover => ({
      ...{ kind: 'container', name: container.name, because: `${container.workspace} is gone` },
      bytes: use?.containers.get(container.id),
      remove: () => removeWithServices(engine, container),
    })),
    ...orphans.map(({ id, name }): Leftover => ({
      ...{
        kind: 'container',
        name,
        because: 'the container that it served is gone',
        bytes: use?.containers.get(id),
      },
      remove: () => engine.removeContainer(id),
    })),
    ...volumes.map(({ name, workspace, agent, service }): Leftover => {
      const ofAgent = isFolderVolume(name) ? 'a folder of it' : `the data of ${service ?? agent}`;
      const what = isCopyVolume(name) ? 'its copy' : ofAgent;
      return {
        ...{ kind: 'volume', name, because: `${workspace} is gone: ${what}`, bytes: use?.volumes.get(name) },
        remove: () => engine.removeVolume(name),
      };
    }),
    ...imagesOf(engine, use, { withAgents, isGone: isLost }),
  ];
}

function imagesOf(
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

/** Only what is certainly not there: a folder that cannot be looked at may be there. */
function isGone(root: string | undefined): boolean {
  if (root === undefined) return false;
  try {
    lstatSync(root);
    return false;
  } catch (reason) {
    const code = errorCodeOf(reason);
    return code === 'ENOENT' || code === 'ENOTDIR';
  }
}

/** Goes on after what cannot be removed. */
async function removeAll(leftovers: readonly Leftover[]): Promise<number> {
  let bytes = 0;
  let status = 0;
  for (const { kind, name, remove, bytes: own = 0 } of leftovers) {
    try {
      await remove();
      bytes += own;
    } catch (reason) {
      if (!(reason instanceof CaiError) || ['NO_ENGINE', 'NOT_READY'].includes(reason.code)) throw reason;
      tell(`the ${kind} ${name} stays: ${reason.message}`);
      status = 1;
    }
  }
  tell(`removed${bytes === 0 ? '' : `, which gives back ${bytesText(bytes)}`}`);
  return status;
}

/** `cai prune`: removes containers, volumes and images that are not used any more. */
import { lstatSync } from 'node:fs';
import { Option } from 'commander';
import type { Host } from '../../system/host';
import type { Engine } from '../../container/engine/engine';
import type { DiskUse } from '../../container/engine/engine-info';
import { unusedImages } from '../../container/image/unused-images';
import { shortId } from '../../container/image/image-tag';
import { removeWithServices } from '../../container/services';
import { isCopyVolume, isFolderVolume } from '../../container/spec/spec';
import { orphanedServices, ownContainers, ownVolumes, volumesUsed } from '../../container/user-containers';
import { duration } from '../../config/config-kinds';
import { CaiError, errorCodeOf } from '../../errors';
import { quoted } from '../../system/quoted';
import { recordedUse } from '../../workspace/records';
import { common, declare } from '../support/command';
import { bytesText, confirm, table, tell } from '../support/terminal';
import { removeEach, type Part } from './end-containers';
import { connectEngine } from './selection';

interface Options {
  readonly all?: true;
  readonly yes?: true;
  readonly dryRun?: true;
  /** In milliseconds. */
  readonly unused?: number;
  readonly context?: string;
}

interface Leftover extends Part {
  readonly because: string;
  /** What its end gives back; undefined: the engine does not tell. */
  readonly bytes: number | undefined;
}

const dayMs = 24 * 60 * 60 * 1_000;

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
    new Option(
      '--unused <duration>',
      'also volumes, and containers that do not run, of workspaces in which you have run nothing for so long, such as 90d',
    ).argParser(parseDuration),
    ['-n, --dry-run', 'only show them'],
    ['-y, --yes', 'remove them without asking'],
    common.context,
  ],
  footer: `
A workspace on a disk that is not mounted looks as if it were gone: check the list, or its agents' data goes, too.`,
  action: prune,
});

function parseDuration(text: string): number {
  const ms = duration().read(text);
  if (ms !== undefined && ms >= dayMs) return ms;
  throw new CaiError('USAGE', `--unused: ${quoted(text)} is not a duration of at least a day, such as 90d`);
}

async function prune(options: Options, host: Host): Promise<number> {
  const { yes, dryRun, context } = options;
  const engine = await connectEngine(host, context);
  const leftovers = await leftoversOf(engine, host.user.uid, wishOf(engine, host, options));
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
  const gone = await removeEach(leftovers, isEnd);
  const bytes = gone.reduce((sum, { bytes: own = 0 }) => sum + own, 0);
  tell(`removed${bytes === 0 ? '' : `, which gives back ${bytesText(bytes)}`}`);
  return gone.length === leftovers.length ? 0 : 1;
}

/** What is looked for. */
interface Wish {
  /** Also images of agents that no container has. */
  readonly withAgents: boolean;
  readonly isGone: (root: string | undefined) => boolean;
  /** Why nothing of a workspace is needed any more; `undefined`: it may be needed. */
  readonly why: (root: string | undefined) => string | undefined;
}

function wishOf(engine: Engine, { folders }: Host, { all, unused }: Options): Wish {
  // Another machine's engine may have containers of workspaces that are on a third one.
  const isGone = (root: string | undefined) => engine.isElsewhere !== true && isNowhere(root);
  const why = (root: string | undefined) => {
    if (isGone(root)) return `${root} is gone`;
    const usedAt = root === undefined ? undefined : recordedUse(folders.state, root);
    if (unused === undefined || usedAt === undefined || Date.now() - usedAt < unused) return undefined;
    return `${root} was last used on ${new Date(usedAt).toISOString().slice(0, 10)}`;
  };
  return { withAgents: all === true, isGone, why };
}

/** In the order in which they have to go. */
async function leftoversOf(engine: Engine, uid: number, wish: Wish): Promise<Leftover[]> {
  const { why } = wish;
  const use = await engine.diskUse?.();
  const containers = await ownContainers(engine, uid);
  const going = containers.filter(
    ({ workspace, state }) => state !== 'running' && why(workspace) !== undefined,
  );
  const staying = containers.filter((each) => !going.includes(each));
  const needed = new Set(staying.flatMap(volumesUsed));
  const orphans = await orphanedServices(engine, uid, containers);
  const volumes = (await ownVolumes(engine, uid)).filter(
    ({ name, workspace }) => why(workspace) !== undefined && !needed.has(name),
  );
  return [
    ...going.map((container): Leftover => ({
      ...{ kind: 'container', name: container.name, because: why(container.workspace) ?? '' },
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
        ...{
          kind: 'volume',
          name,
          because: `${why(workspace) ?? ''}: ${what}`,
          bytes: use?.volumes.get(name),
        },
        remove: () => engine.removeVolume(name),
      };
    }),
    ...imagesOf(engine, use, wish),
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
function isNowhere(root: string | undefined): boolean {
  if (root === undefined) return false;
  try {
    lstatSync(root);
    return false;
  } catch (reason) {
    const code = errorCodeOf(reason);
    return code === 'ENOENT' || code === 'ENOTDIR';
  }
}

/** Where the engine does not answer, nothing else can be removed either. */
const isEnd = (reason: unknown): boolean =>
  !(reason instanceof CaiError) || ['NO_ENGINE', 'NOT_READY'].includes(reason.code);

/** Whether a container that is there does, or another is to be made in its place. */
import { quoted } from '../system/quoted';
import type { ContainerInfo } from './engine/container-info';
import { countSupervisors } from './engine/container-processes';
import type { Engine } from './engine/engine';
import type { ImageInfo } from './engine/engine-info';
import { lostNotice, otherwiseProtected, protectionChange } from './spec/protection-state';
import { replacedRoot, rootReplaced } from './spec/replaced-root';
import { configHash, label } from './spec/spec';
import type { Settings } from './spec/spec';

/** What is wanted. */
export interface Reuse {
  /** What the container is to be. */
  readonly settings: Settings;
  /** Its image, as far as it is there. */
  readonly imageIfThere: () => Promise<ImageInfo | undefined>;
  /** Takes a sentence for the user. */
  readonly tell: (notice: string) => void;
}

/**
 * What to do with a container of ours that could be used. `need image`: to replace it, if it is not busy once
 * the image is there. Rejects with `CaiError('REPLACED')` for one that is busy in folders that are others now.
 */
export async function verdictOn(
  engine: Engine,
  info: ContainerInfo,
  request: Reuse,
  image: ImageInfo | undefined,
): Promise<'use' | 'need image' | 'replace'> {
  const replaced = replacedRoot(info.labels[label.roots], request.settings.binds);
  const [made, wanted] = [info.labels[label.protection] ?? '', request.settings.protection];
  const protection = protectionChange(made, wanted);
  const isOther = await isOutdated(info, request);
  if (replaced === undefined && protection === 'none' && !isOther) return 'use';
  if (await isBusy(engine, info)) {
    if (replaced !== undefined) throw rootReplaced(info.name, replaced, request.settings.workspace);
    if (protection === 'other') throw otherwiseProtected(info.name, wanted !== undefined);
    if (protection === 'lost') request.tell(lostNotice(info.name, made, wanted ?? []));
    // What came into being in a turn is told where the turn ends.
    if (isOther)
      request.tell(
        `the configuration or the image has changed since the container ${info.name} was made, and commands run in it: --fresh ends them and makes it anew`,
      );
    return 'use';
  }
  if (image === undefined) return 'need image';
  const why =
    replaced === undefined
      ? reasonOf(isOther, protection, wanted !== undefined)
      : `${quoted(replaced)} is another folder now than the one that it has`;
  request.tell(`the container ${info.name} is made anew, because ${why}`);
  return 'replace';
}

function reasonOf(
  isOther: boolean,
  protection: ReturnType<typeof protectionChange>,
  isWanted: boolean,
): string {
  if (isOther) return 'its configuration or image has changed';
  if (protection !== 'other') return 'what is protected in its workspace has changed';
  return isWanted ? 'its workspace is to be protected again' : 'all of its workspace is to be writable';
}

async function isOutdated(info: ContainerInfo, request: Reuse): Promise<boolean> {
  if (info.labels[label.configHash] !== configHash(request.settings)) return true;
  const image = await request.imageIfThere();
  return image !== undefined && image.id !== info.imageId;
}

async function isBusy(engine: Engine, info: ContainerInfo): Promise<boolean> {
  return info.isRunning && (await countCommands(engine, info.id)) > 0;
}

/** How many commands of `cai` run in a container. */
export async function countCommands(engine: Engine, id: string): Promise<number> {
  return countSupervisors(await engine.processes(id));
}

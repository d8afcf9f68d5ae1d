/** Files and folders that the configuration names, where agents could put something else in their place. */
import type { Host } from '../system/host';
import { CaiError } from '../errors';
import { AgentFolders } from '../system/paths/agent-folders';
import { placeOfValue } from './effective-config';
import { commandWord, quoted } from '../system/quoted';
import { reading } from '../system/unless';

/** A path of the configuration, its key as in the docs (`mounts[].path`), and the workspace that it is for. */
interface ChosenPath {
  readonly key: string;
  readonly path: string;
  readonly root: string | undefined;
}

/**
 * Fails with `CaiError('CONFIG')` for a mount that lies in a folder that an agent can write, or is reached through
 * one: a link there would have any other folder of this machine mounted. Such a folder itself can be mounted.
 */
export function checkMountPath(host: Host, chosen: ChosenPath, folders: AgentFolders): void {
  const folder = folders.above(chosen.path);
  if (folder === undefined) return;
  const place = placeOfValue(host, chosen.root, chosen.key, chosen.path);
  const name = quoted(folder);
  throw new CaiError(
    'CONFIG',
    `${place} names ${chosen.path}, which cannot be mounted, because the way there leads through ${name}, where an agent could put a link to any other folder: mount ${name} itself, or move what is to be mounted; ${orForget(folder)}`,
  );
}

/** Fails with `CaiError('CONFIG')` for a file that lies in a folder that an agent can write, or is reached through one. */
export function checkFilePath(host: Host, chosen: ChosenPath, folders: AgentFolders): void {
  const folder = folders.onWayTo(chosen.path);
  if (folder === undefined) return;
  const place = placeOfValue(host, chosen.root, chosen.key, chosen.path);
  throw new CaiError(
    'CONFIG',
    `${place} names ${chosen.path}, which is not read, because the way there leads through ${quoted(folder)}, where an agent could put any other file in its place: move it elsewhere; ${orForget(folder)}`,
  );
}

/**
 * Fails with `CaiError('CONFIG')` for a file that is to be changed where an agent works: it could have us write into any
 * other file, by a link. `instead`: what to do.
 */
export function checkWrittenPath(host: Host, file: string, instead: string): void {
  const folder = reading(file, () => new AgentFolders(host.folders.state).onWayTo(file));
  if (folder === undefined) return;
  throw new CaiError(
    'CONFIG',
    `${file} is not changed, because the way there leads through ${quoted(folder)}, where an agent could put a link to any other file: ${instead}; ${orForget(folder)}`,
  );
}

/** The end of a message about a folder where an agent has worked: what to do if none does any more. */
export function orForget(folder: string): string {
  return `if no agent works there any more, run: cai trust --forget ${commandWord(folder)}`;
}

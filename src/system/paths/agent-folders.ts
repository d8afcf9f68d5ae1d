/**
 * Every folder of this machine that any agent of this user was ever given to write in. What a path leads to that
 * touches one of them is up to that agent.
 */
import { createHash, randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import { identitySeen } from './pinned-folder';
import { PathResolver } from '../real-path';
import { stateRemedy } from '../state-folder';
import { unlessFails } from '../unless';
import { makeFolder } from '../files/make-folder';

/** Tells of paths whether agents decide what they lead to. */
export class AgentFolders {
  readonly #records: string;
  readonly #more: ReadonlyMap<string, string>;

  /** All that are recorded, and `more`: folders that an agent is about to get. */
  constructor(state: string, more: readonly string[] = []) {
    this.#records = folderOf(state);
    this.#more = new Map(
      more.flatMap((folder) => [folder, identitySeen(folder)].map((key) => [key, folder])),
    );
  }

  /**
   * The first of the folders that the way to `path` touches: its spelling, each link that is followed, and where it
   * ends. `undefined`: no agent can put anything else there, now or later. Folders are known by name and by identity,
   * because one that was moved is still in its container, and case can be ignored. Throws the system's error where the
   * way cannot be followed.
   */
  onWayTo(path: string): string | undefined {
    return this.#first(placesOn(path));
  }

  /** As `onWayTo`, but not for the path itself: its agent changes its content, and cannot put anything in its place. */
  above(path: string): string | undefined {
    return this.#first(placesOn(path).slice(0, -1));
  }

  #first(places: readonly string[]): string | undefined {
    for (const place of places) {
      const found = this.#known(place) ?? this.#known(identitySeen(place));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #known(key: string): string | undefined {
    return key === '' ? undefined : (this.#more.get(key) ?? targetOf(fileOf(this.#records, key)));
  }
}

/** From now on agents can write in these (real paths). Fails with `CaiError('CONFIG')` where that cannot be recorded. */
export function rememberAgentFolders(state: string, folders: readonly string[]): void {
  recording(state, () => {
    const records = folderOf(state);
    makeFolder(records);
    for (const folder of folders)
      for (const key of [folder, identitySeen(folder)])
        if (key !== '' && targetOf(fileOf(records, key)) !== folder) write(records, key, folder);
  });
}

/** From now on `folder` is as if no agent had ever had it; whether one had. Fails with `CaiError('CONFIG')`. */
export function forgetAgentFolder(state: string, folder: string): boolean {
  const records = folderOf(state);
  const names = fs.existsSync(records) ? fs.readdirSync(records) : [];
  // One that was moved is recorded under what it is, too.
  const found = names.map((name) => join(records, name)).filter((file) => targetOf(file) === folder);
  recording(state, () => found.forEach((file) => fs.rmSync(file, { force: true })));
  return found.length > 0;
}

/**
 * Where the records are: links, which are made whole and read in one step, for each path and each identity, so that a
 * look-up takes as long with thousands as with one.
 */
function folderOf(state: string): string {
  return join(state, 'agent-folders');
}

function targetOf(record: string): string | undefined {
  // Most often there is no such folder, and an error takes longer than all else.
  return unlessFails(() => fs.lstatSync(record, { throwIfNoEntry: false }) && fs.readlinkSync(record));
}

function write(records: string, key: string, path: string): void {
  const draft = join(records, randomUUID());
  fs.symlinkSync(path, draft);
  fs.renameSync(draft, fileOf(records, key));
}

function fileOf(records: string, key: string): string {
  return `${records}/${createHash('sha256').update(key).digest('hex')}`;
}

function recording(state: string, record: () => void): void {
  try {
    record();
  } catch (reason) {
    throw new CaiError(
      'CONFIG',
      `which folders agents can write cannot be recorded: ${messageOf(reason)}: ${stateRemedy(state)}`,
    );
  }
}

function placesOn(path: string): string[] {
  const places: string[] = [];
  new PathResolver().resolve(path, (place) => places.push(place));
  return places;
}

/**
 * Looks, while sessions are open, for new and changed files that a program on the user's machine would execute. Files
 * that no agent can have written are not told: they are the user's own changes.
 */
import { stat, statfs } from 'node:fs/promises';
import * as baselines from '../protect/baseline';
import {
  contentOf,
  costOf,
  identityOf,
  isUsualCommonFolder,
  placesIn,
  unitsIn,
  type ProtectedPlace,
} from '../protect/inventory';
import { isInside } from '../../system/paths/is-inside';

/** Local file systems (statfs(2)): ext2 to ext4, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS, bcachefs. */
const localTypes = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e,
]);

/** One look reads at most so many bytes: an agent chooses how much there is. */
const maxReadBytes = 8 * 1_024 * 1_024;

/** Names of what the user is told of. */
export interface News {
  /** Files that are new or changed and were not told. */
  readonly changed: readonly string[];
  /** What was too much to look at, or not readable: told each time, because nobody knows what has changed there. */
  readonly crowds: readonly string[];
}

interface Watched {
  /** Taken at the first look; counts where none is recorded. */
  readonly baseline: baselines.Baseline;
  /** What the user was told, as `readTold`; counts where nothing can be recorded. */
  told: Map<string, string>;
  /** By path, the state found last, and the marks (`marksOf`) that the place had then. */
  readonly known: Map<string, { readonly marks: string; readonly state: string }>;
}

export class Watch {
  readonly #folders = new Map<string, Watched>();
  #isLocal = false;
  #isProbing = false;

  /** Looks at the root for the first time: files that are there and have no baseline count as known. */
  constructor(
    private readonly state: string,
    private readonly root: string,
  ) {
    statfs(root).then(
      ({ type }) => (this.#isLocal = localTypes.has(type)),
      () => undefined,
    );
    this.open(root);
  }

  /** Looks at a folder in the workspace (real path) from now on, too. */
  open(folder: string): void {
    this.#watched(folder);
  }

  /**
   * Calls `tell` with what is new in these folders and those beside the workspace, unless nothing is: at once where the
   * file system is local, else after it has answered, so that a network that is gone keeps nobody waiting. `failed` is
   * told why that could not be done. `taking` runs what everything else waits for, unless nobody would hear of it: then it
   * is news at the next look.
   */
  look(
    folders: readonly string[],
    tell: (news: News) => void,
    failed: (reason: unknown) => void,
    taking = (look: () => void): void => look(),
  ): void {
    const lookNow = (): void =>
      taking(() => {
        try {
          const all = [...folders, ...baselines.besidesOf(this.state, this.root)];
          const news = all.map((folder) => this.#newsIn(folder));
          const changed = news.flatMap((each) => each.changed);
          const crowds = news.flatMap((each) => each.crowds);
          if (changed.length + crowds.length > 0) tell({ changed, crowds });
        } catch (reason) {
          failed(reason);
        }
      });
    if (this.#isLocal) {
      lookNow();
    } else if (!this.#isProbing) {
      this.#isProbing = true;
      stat(this.root)
        .then(lookNow, () => undefined)
        .finally(() => (this.#isProbing = false));
    }
  }

  #newsIn(folder: string): News {
    const watched = this.#watched(folder);
    const { known } = watched;
    const baseline = baselines.readBaseline(this.state, folder) ?? watched.baseline;
    // Other processes tell as well, and `cai review --restore` has things told again.
    const told = baselines.readTold(this.state, folder) ?? watched.told;
    watched.told = told;
    const places = placesIn(folder, unitsIn(folder, baseline));
    const isKept = this.#keptIn(folder, baseline);
    const paths = new Set(places.map(({ path }) => path));
    // What comes back is told again.
    const gone = [...told.keys()].filter((path) => !paths.has(path));
    for (const path of gone) told.delete(path);
    for (const path of known.keys()) if (!paths.has(path)) known.delete(path);
    let room = maxReadBytes;
    const news = places.filter((place) => {
      const { path } = place;
      if (place.kind === 'crowd' || isKept(place)) return false;
      const marks = marksOf(place);
      let state = known.get(path)?.marks === marks ? known.get(path)!.state : undefined;
      if (state === undefined) {
        room -= costOf(place.stats?.size ?? 0);
        // A file that is not read, because it would be too much, counts as changed.
        state = room < 0 ? marks : contentOf(folder, place).state;
        known.set(path, { marks, state });
      }
      if (state === baseline.states.get(path) || isUsualCommonFolder(path, state)) return false;
      // A file that was deleted and made again is told again.
      const said = `${state} ${place.stats === undefined ? '' : place.stats.birthtimeMs}`;
      if (said === told.get(path)) return false;
      told.set(path, said);
      return true;
    });
    if (news.length + gone.length > 0) baselines.writeTold(this.state, folder, told);
    const namesOf = (some: readonly ProtectedPlace[]): string[] =>
      some.map(({ path }) => baselines.nameOf(this.root, folder, path)).sort();
    return { changed: namesOf(news), crowds: namesOf(places.filter(({ kind }) => kind === 'crowd')) };
  }

  /** Whether no agent can have written a place: a read-only mount stays with the very file it was made over. */
  #keptIn(folder: string, { kept }: baselines.Baseline): (place: ProtectedPlace) => boolean {
    // Containers for a folder around this one do not protect what lies deep in theirs.
    if (kept.size === 0 || baselines.outerBaselines(this.state, folder).length > 0) return () => false;
    const same = new Set(
      [...kept].filter(([unit, was]) => identityOf(folder, unit) === was).map(([unit]) => unit),
    );
    return ({ unit, stats }) => same.has(unit) && (stats === undefined || stats.nlink === 1);
  }

  #watched(folder: string): Watched {
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    if (folder !== this.root && isInside(folder, this.root))
      baselines.recordBaseline(this.state, folder, { root: this.root });
    // Without a recorded baseline, all that is there now counts as known.
    const baseline =
      baselines.readBaseline(this.state, folder) ??
      baselines.takeBaseline(this.state, folder, { root: this.root })[0];
    const watched: Watched = { baseline, told: new Map(), known: new Map() };
    this.#folders.set(folder, watched);
    return watched;
  }
}

/** A text that changes whenever a place does: the system sets the time of the last change, and no program can. */
function marksOf({ kind, stats }: ProtectedPlace): string {
  if (stats === undefined) return kind;
  const { mode, size, ino, ctimeMs } = stats;
  return [kind, mode, size, ino, ctimeMs].join(' ');
}

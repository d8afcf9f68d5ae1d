/**
 * Follows, while sessions are open in a workspace, what comes into being there that a program on the user's machine
 * would execute. Of what no agent can have written nothing is told: the user changes it.
 */
import { stat, statfs } from 'node:fs/promises';
import { isInside } from '../paths/path-map';
import {
  outerBaselines,
  readBaseline,
  readTold,
  recordBaseline,
  takeBaseline,
  writeTold,
} from '../protect/baseline';
import type { Baseline } from '../protect/baseline';
import { besidesOf, nameOf } from '../protect/outer-folders';
import { contentOf, identityOf, placesIn, unitsIn } from '../protect/inventory';
import type { Place } from '../protect/inventory';

/**
 * File systems on which a look keeps nobody waiting, by the number that Linux gives them (statfs(2)): ext2 to ext4,
 * XFS, Btrfs, tmpfs, overlay, ZFS, F2FS, bcachefs.
 */
const localTypes = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e,
]);

/** Read in one look at most, in bytes: an agent chooses how much there is to read. */
const maxReadBytes = 8 * 1_024 * 1_024;

/** One folder that is looked at. */
interface Watched {
  /** As it was when it was first looked at, for where nothing is written down. */
  readonly baseline: Baseline;
  /** As it was written down, for where it cannot be. */
  told: Map<string, string>;
  /** What was found in a place, and the marks that it had then. */
  readonly known: Map<string, { readonly marks: string; readonly state: string }>;
}

/** One workspace. */
export class Watch {
  readonly #folders = new Map<string, Watched>();
  #isLocal = false;
  #isProbing = false;

  /** The root is looked at for the first time now. */
  constructor(
    private readonly env: NodeJS.ProcessEnv,
    private readonly root: string,
  ) {
    statfs(root).then(
      ({ type }) => (this.#isLocal = localTypes.has(type)),
      () => undefined,
    );
    this.open(root);
  }

  /** From now on a folder in the workspace (real path) is looked at as well, if it was not before. */
  open(folder: string): void {
    this.#watched(folder);
  }

  /**
   * Calls back with what is new in these folders and those beside the root, as names for people; not at all if that is
   * nothing. At once where the file system is known to answer; else only if it does, so that one on a network that has
   * gone keeps nobody waiting.
   */
  look(folders: readonly string[], tell: (paths: readonly string[]) => void): void {
    const lookNow = (): void => {
      const news = [...folders, ...besidesOf(this.env, this.root)].flatMap((folder) => this.#newsIn(folder));
      if (news.length > 0) tell(news);
    };
    if (this.#isLocal) {
      lookNow();
    } else if (!this.#isProbing) {
      this.#isProbing = true;
      stat(this.root)
        .then(lookNow, () => undefined)
        .finally(() => (this.#isProbing = false));
    }
  }

  /** What has come into being or was changed in a folder, and was not told. */
  #newsIn(folder: string): string[] {
    const watched = this.#watched(folder);
    const { known } = watched;
    const baseline = readBaseline(this.env, folder) ?? watched.baseline;
    // Other processes tell as well, and what is put aside is forgotten.
    const told = readTold(this.env, folder) ?? watched.told;
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
      if (isKept(place)) return false;
      const marks = marksOf(place);
      let state = known.get(path)?.marks === marks ? known.get(path)!.state : undefined;
      if (state === undefined) {
        room -= place.stats?.size ?? 0;
        // What is not read for being too much counts as changed.
        state = room < 0 ? marks : contentOf(folder, place).state;
        known.set(path, { marks, state });
      }
      if (state === baseline.states.get(path)) return false;
      // What was taken away and made again meanwhile is told again.
      const said = `${state} ${place.stats === undefined ? '' : place.stats.birthtimeMs}`;
      if (said === told.get(path)) return false;
      told.set(path, said);
      return true;
    });
    if (news.length + gone.length > 0) writeTold(this.env, folder, told);
    return news.map(({ path }) => nameOf(this.root, folder, path)).sort();
  }

  /** Tells of a place whether no agent can have written it: a mount goes with what it was made over. */
  #keptIn(folder: string, { kept }: Baseline): (place: Place) => boolean {
    // Containers for a folder around this one do not protect what lies deep in theirs.
    if (kept.size === 0 || outerBaselines(this.env, folder).length > 0) return () => false;
    const same = new Set(
      [...kept].filter(([unit, was]) => identityOf(folder, unit) === was).map(([unit]) => unit),
    );
    return ({ unit, stats }) => same.has(unit) && (stats === undefined || stats.nlink === 1);
  }

  #watched(folder: string): Watched {
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    if (folder !== this.root && isInside(folder, this.root))
      recordBaseline(this.env, folder, { root: this.root });
    // Without what was written down, all that is there now counts as having been there.
    const baseline = readBaseline(this.env, folder) ?? takeBaseline(this.env, folder, { root: this.root })[0];
    const watched: Watched = { baseline, told: new Map(), known: new Map() };
    this.#folders.set(folder, watched);
    return watched;
  }
}

/** What changes whenever a place does. The system sets the time of the last change, and no program can. */
function marksOf({ kind, stats }: Place): string {
  if (stats === undefined) return kind;
  const { mode, size, ino, ctimeMs } = stats;
  return [kind, mode, size, ino, ctimeMs].join(' ');
}

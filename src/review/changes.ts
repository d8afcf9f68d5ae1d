/** What of all that would be executed in a workspace is not as it was written down. */
import { realOrSame } from '../system/real-path';
import {
  folderNow,
  innerBaselines,
  readBaseline,
  readTold,
  writeBaseline,
  writeTold,
} from '../protect/baseline';
import type { Baseline } from '../protect/baseline';
import { besidesOf, nameOf } from '../protect/outer-folders';
import { contentOf, placesIn, unitsIn } from '../protect/inventory';
import type { Content } from '../protect/inventory';

/** A difference from what was written down. */
export interface Change {
  /** `unknown`: nothing was written down, so that it may be as it always was. */
  readonly kind: 'new' | 'changed' | 'gone' | 'unknown';
  /** Real path of the folder that was looked at: the root, one in which a session was opened, or one beside it. */
  readonly folder: string;
  /** Below that folder. */
  readonly path: string;
  /** For people: below the root, or the whole path. */
  readonly name: string;
  /** The state that was written down. */
  readonly before: string | undefined;
  /** What is there; undefined: nothing. */
  readonly now: Content | undefined;
  /** The protected path that it is or lies in was there when the folder was written down. */
  readonly isInKnown: boolean;
}

/** All changes in the workspace with that root, sorted by folders and names. */
export function changesIn(env: NodeJS.ProcessEnv, root: string): Change[] {
  return [
    ...changesOf(root, root, readBaseline(env, root)),
    ...innerBaselines(env, root).flatMap((baseline) => changesOf(root, baseline.folder, baseline)),
    ...besidesOf(env, root).flatMap((folder) => changesOf(root, folder, readBaseline(env, folder))),
  ];
}

/**
 * From now on these changes are what is written down, as they are here, whatever has become of the files since. Fails
 * with `CaiError('CONFIG')`.
 */
export function accept(env: NodeJS.ProcessEnv, root: string, changes: readonly Change[]): void {
  for (const folder of new Set(changes.map((change) => change.folder))) {
    const own = changes.filter((change) => change.folder === folder);
    const known = readBaseline(env, folder) ?? nothingKnown(folder, root);
    const states = new Map(known.states);
    const told = readTold(env, folder) ?? new Map<string, string>();
    for (const { path, now } of own) {
      if (now === undefined) states.delete(path);
      else states.set(path, now.state);
      if (now !== undefined) told.set(path, now.state);
    }
    const isAccepted = (unit: string): boolean => own.some(({ path }) => `${path}/`.startsWith(`${unit}/`));
    const units = unitsIn(folder, known)
      .map(({ path }) => path)
      .filter(isAccepted);
    const contents = own.flatMap(({ now }) => now ?? []);
    writeBaseline(env, { ...known, units: new Set([...known.units, ...units]), states }, contents);
    writeTold(env, folder, told);
  }
}

function nothingKnown(folder: string, root: string): Baseline {
  return {
    folder,
    was: folderNow(folder),
    root,
    at: Date.now(),
    units: new Set(),
    states: new Map(),
    kept: new Map(),
  };
}

/** Of these the user is told again if they come back. */
export function forgetTold(env: NodeJS.ProcessEnv, changes: readonly Change[]): void {
  for (const folder of new Set(changes.map((change) => change.folder))) {
    const told = readTold(env, folder);
    if (told === undefined) continue;
    for (const change of changes) if (change.folder === folder) told.delete(change.path);
    writeTold(env, folder, told);
  }
}

function changesOf(root: string, folder: string, baseline: Baseline | undefined): Change[] {
  // A link in the place of a folder leads to what is not meant.
  const places = realOrSame(folder) === folder ? placesIn(folder, unitsIn(folder, baseline)) : [];
  const isInKnown = (unit: string): boolean => baseline?.units.has(unit) === true;
  const there = places.flatMap((place): Change[] => {
    const { path, unit } = place;
    const now = contentOf(folder, place);
    const before = baseline?.states.get(path);
    if (now.state === before) return [];
    const kind = baseline === undefined ? 'unknown' : before === undefined ? 'new' : 'changed';
    return [
      { kind, folder, path, name: nameOf(root, folder, path), before, now, isInKnown: isInKnown(unit) },
    ];
  });
  const paths = new Set(places.map(({ path }) => path));
  const gone = [...(baseline?.states ?? [])].filter(([path]) => !paths.has(path));
  return [
    ...there,
    ...gone.map(([path, before]): Change => {
      const name = nameOf(root, folder, path);
      return { kind: 'gone', folder, path, name, before, now: undefined, isInKnown: true };
    }),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The differences between a workspace and its baselines. */
import { realOrSame } from '../../system/real-path';
import {
  besidesOf,
  copyOf,
  folderNow,
  innerBaselines,
  nameOf,
  readBaseline,
  readTold,
  writeBaseline,
  writeTold,
  type Baseline,
} from '../protect/baseline';
import {
  contentsOf,
  fileIn,
  isUsualCommonFolder,
  placesIn,
  unitsIn,
  type Content,
} from '../protect/inventory';
import { differsInUpstreams } from './upstreams';

/** A file that is not as its baseline has it. */
export interface Change {
  /** `unknown`: there is no baseline, so that the file may be as it always was. */
  readonly kind: 'new' | 'changed' | 'gone' | 'unknown';
  /** Real path of the folder whose baseline it is: the root, one in which a session was opened, or one outside. */
  readonly folder: string;
  /** Below that folder. */
  readonly path: string;
  /** For people: the path below the root, or the whole path. */
  readonly name: string;
  /** The state in the baseline; `undefined`: there was nothing. */
  readonly before: string | undefined;
  /** The present content; `undefined`: nothing is there. */
  readonly now: Content | undefined;
  /** Whether the protected path that the file is or lies in existed when the baseline was taken. */
  readonly isInKnown: boolean;
}

/** All changes in the workspace with that root, sorted by folders and names. */
export function changesIn(state: string, root: string): Change[] {
  return [
    ...changesOf(state, root, root, readBaseline(state, root)),
    ...innerBaselines(state, root).flatMap((baseline) => changesOf(state, root, baseline.folder, baseline)),
    ...besidesOf(state, root).flatMap((folder) =>
      changesOf(state, root, folder, readBaseline(state, folder)),
    ),
  ];
}

/** Takes changes over into the baselines, whatever has become of the files since. Fails with `CaiError('CONFIG')`. */
export function accept(state: string, root: string, changes: readonly Change[]): void {
  for (const folder of new Set(changes.map((change) => change.folder))) {
    const own = changes.filter((change) => change.folder === folder);
    const known = readBaseline(state, folder) ?? nothingKnown(folder, root);
    const states = new Map(known.states);
    const told = readTold(state, folder) ?? new Map<string, string>();
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
    writeBaseline(state, { ...known, units: new Set([...known.units, ...units]), states }, contents);
    writeTold(state, folder, told);
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

/** Forgets that the user was told of these changes: if they come back, they are told again. */
export function forgetTold(state: string, changes: readonly Change[]): void {
  for (const folder of new Set(changes.map((change) => change.folder))) {
    const told = readTold(state, folder);
    if (told === undefined) continue;
    for (const change of changes) if (change.folder === folder) told.delete(change.path);
    writeTold(state, folder, told);
  }
}

/** Whether nothing but upstreams of branches is different in git's configuration. */
function isUpstreamOf(
  path: string,
  now: Content,
  before: string | undefined,
  copy: (digest: string) => Buffer | undefined,
): boolean {
  if (before === undefined || !/(?:^|\/)\.git\/config$/.test(path)) return false;
  const [was, is] = [fileIn(before), fileIn(now.state)];
  if (was === undefined || was.mode !== is?.mode || now.bytes === undefined) return false;
  const bytes = copy(was.digest);
  return bytes !== undefined && differsInUpstreams(bytes.toString('latin1'), now.bytes.toString('latin1'));
}

function changesOf(state: string, root: string, folder: string, baseline: Baseline | undefined): Change[] {
  // A link that has taken the place of the folder leads elsewhere, and is not followed.
  const places = realOrSame(folder) === folder ? placesIn(folder, unitsIn(folder, baseline)) : [];
  const isInKnown = (unit: string): boolean => baseline?.units.has(unit) === true;
  const contents = contentsOf(folder, places);
  const there = places.flatMap(({ path, unit }, index): Change[] => {
    const now = contents[index]!;
    const before = baseline?.states.get(path);
    if (now.state === before || isUsualCommonFolder(path, now.state)) return [];
    if (isUpstreamOf(path, now, before, (digest) => copyOf(state, folder, digest))) return [];
    const kind = baseline === undefined ? 'unknown' : before === undefined ? 'new' : 'changed';
    return [
      { kind, folder, path, name: nameOf(root, folder, path), before, now, isInKnown: isInKnown(unit) },
    ];
  });
  const paths = new Set(places.map(({ path }) => path));
  const gone = [...(baseline?.states ?? [])].filter(
    ([path, before]) => !paths.has(path) && !isUsualCommonFolder(path, before),
  );
  return [
    ...there,
    ...gone.map(([path, before]): Change => {
      const name = nameOf(root, folder, path);
      return { kind: 'gone', folder, path, name, before, now: undefined, isInKnown: true };
    }),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
}

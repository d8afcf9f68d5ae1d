/**
 * The baseline of a folder: the states of all files in it that a program of this machine would execute, with copies,
 * before an agent worked there or when the user last accepted changes. No agent can write where it is kept.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError } from '../../errors';
import { inOneLook } from '../../system/paths/look-inside';
import { identityNow } from '../../system/paths/pinned-folder';
import { ancestry } from '../../system/real-path';
import { replaceFile } from '../../system/files/replace-file';
import {
  contentsOf,
  digestOf,
  identityOf,
  canBeKept,
  placesIn,
  placesOf,
  unitsIn,
  type Content,
  type Scope,
} from './inventory';
import { objectOf, unlessFails, writing } from '../../system/unless';
import { isInside } from '../../system/paths/is-inside';

/** What `cai review` compares a folder with. */
export interface Baseline extends Scope {
  readonly folder: string;
  /** Identity of the folder that had that path when the baseline was taken, from `folderNow`. */
  readonly was: string;
  /** Root of the workspace that the folder lies in, or is. */
  readonly root: string;
  /** When the baseline was taken, in milliseconds since the epoch. */
  readonly at: number;
  /** The protected paths that existed, including empty folders. */
  readonly units: ReadonlySet<string>;
  /** The state (`Content.state`) of each file, by its path below the folder. */
  readonly states: ReadonlyMap<string, string>;
  /** By paths that were read-only from the start, their `identityOf`: while it is the same, no agent wrote there. */
  readonly kept: ReadonlyMap<string, string>;
}

/** How a folder is used, which decides what goes into its baseline. */
interface FolderRole extends Scope {
  /** Root of the workspace that the folder lies in. Default: the folder itself. */
  readonly root?: string;
  /** Absolute paths that agents cannot write from now on, nor anything below them. Default: none. */
  readonly readOnly?: readonly string[];
}

/** Copies of one folder's files take at most so many bytes. */
const maxCopiedBytes = 8 * 1_024 * 1_024;

/** Which folder has a path now; empty if none has. Does not name the device, whose number changes with a boot. */
export function folderNow(folder: string): string {
  return identityNow(folder).replace(/^\d+:/, '');
}

/**
 * Takes the baseline of a folder, unless there is one of the same folder. If an outer folder has one, agents could
 * write here since then, and files changed since are left out: no agent can set the time of a change. An existing
 * baseline gets the new patterns, and loses what is no longer read-only. Where nothing can be written, work goes on.
 */
export function recordBaseline(state: string, folder: string, role: FolderRole = {}): void {
  try {
    const known = readBaseline(state, folder);
    if (known?.was === folderNow(folder)) {
      recordRole(state, known, role);
      return;
    }
    const [baseline, contents] = takeBaseline(state, folder, role);
    writeBaseline(state, { ...baseline, kept: keptIn(state, baseline, role) }, contents);
  } catch (reason) {
    if (!(reason instanceof CaiError)) throw reason;
  }
}

function recordRole(state: string, known: Baseline, role: FolderRole): void {
  const { patterns = known.patterns ?? [], unasked = known.unasked ?? [] } = role;
  const kept = new Map([...known.kept].filter(([unit]) => isReadOnly(known.folder, unit, role)));
  const isSame =
    JSON.stringify([patterns, unasked]) === JSON.stringify([known.patterns ?? [], known.unasked ?? []]);
  if (!isSame || kept.size < known.kept.size) writeBaseline(state, { ...known, patterns, unasked, kept }, []);
}

function isReadOnly(folder: string, unit: string, { readOnly = [] }: FolderRole): boolean {
  const place = posix.join(folder, unit);
  return readOnly.some((each) => isInside(place, each));
}

/** The baseline that a folder would get now, with nothing in `kept`, and the contents of its files. */
export function takeBaseline(
  state: string,
  folder: string,
  { root = folder, isGit = false, patterns = [], unasked = [] }: FolderRole,
): [Baseline, readonly Content[]] {
  // Times of files have fractions of a millisecond.
  const at = Date.now() + 1;
  // What agents do in a git folder is reviewed with the repository that uses it.
  const outer = isGit ? [] : outerBaselines(state, folder).map((each) => each.at);
  const since = Math.min(at, ...outer);
  const units = unitsIn(folder, { isGit, patterns, unasked });
  // A crowd is as unknown later as it is now.
  const places = placesIn(folder, units).filter(
    ({ kind, stats }) => kind !== 'crowd' && (outer.length === 0 || (stats?.ctimeMs ?? at) <= since),
  );
  const contents = contentsOf(folder, places);
  const states = new Map(places.map(({ path }, index) => [path, contents[index]!.state]));
  const kept = new Map<string, string>();
  const was = folderNow(folder);
  const paths = new Set(units.map(({ path }) => path));
  const scope = { isGit, patterns, unasked };
  return [{ folder, was, root, at: since, units: paths, states, kept, ...scope }, contents];
}

/** The baselines of the folders that a folder lies in, the nearest first. */
export function outerBaselines(state: string, folder: string): Baseline[] {
  return ancestry(folder)
    .slice(1)
    .flatMap((each) => readBaseline(state, each) ?? []);
}

/** Without files that have a second name, and without links: they can be written whatever is mounted over them. */
function keptIn(state: string, baseline: Baseline, role: FolderRole): Map<string, string> {
  const { folder } = baseline;
  if (outerBaselines(state, folder).length > 0) return new Map();
  const units = inOneLook(() =>
    unitsIn(folder, baseline).filter(
      (unit) =>
        canBeKept(unit) &&
        isReadOnly(folder, unit.path, role) &&
        placesOf(folder, unit).every(({ stats }) => stats?.nlink === 1),
    ),
  );
  return new Map(units.map(({ path }) => [path, identityOf(folder, path)]));
}

/** The baseline of a folder; `undefined` if the folder has no baseline, or a damaged one. */
export function readBaseline(state: string, folder: string): Baseline | undefined {
  const found = read(fileOf(state, folder));
  return found?.folder === folder ? found : undefined;
}

/** The baselines of folders below the root of a workspace in which sessions were opened, sorted by path. */
export function innerBaselines(state: string, root: string): Baseline[] {
  return recordFolders(state)
    .flatMap(({ baseline }) => baseline ?? [])
    .filter((each) => each.root === root && each.folder !== root)
    .sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** Writes a baseline in place of an earlier one, and copies of `contents`. Fails with `CaiError('CONFIG')`. */
export function writeBaseline(state: string, baseline: Baseline, contents: readonly Content[]): void {
  const { units, states, kept, ...rest } = baseline;
  const copies = posix.join(folderFor(state, baseline.folder), 'copies');
  writing(copies, () => {
    let room = maxCopiedBytes;
    for (const { bytes } of contents) {
      if (bytes === undefined || bytes.length > room) continue;
      room -= bytes.length;
      replaceFile(posix.join(copies, digestOf(bytes)), bytes);
    }
    const maps = { states: Object.fromEntries(states), kept: Object.fromEntries(kept) };
    const text = JSON.stringify({ ...rest, units: [...units], ...maps });
    replaceFile(fileOf(state, baseline.folder), `${text}\n`);
  });
}

/** The bytes of the copy with that digest; `undefined` if none was kept, or it is damaged. */
export function copyOf(state: string, folder: string, digest: string): Buffer | undefined {
  const bytes = unlessFails(() => readFileSync(posix.join(folderFor(state, folder), 'copies', digest)));
  return bytes !== undefined && digestOf(bytes) === digest ? bytes : undefined;
}

/** What the user was told about files of a folder: by path, the state told; `undefined` if nothing is recorded. */
export function readTold(state: string, folder: string): Map<string, string> | undefined {
  const told = readJson(posix.join(folderFor(state, folder), 'told.json'));
  return told === undefined ? undefined : new Map(texts(told));
}

/** Records what the user was told. Where that cannot be written, the next process tells it again. */
export function writeTold(state: string, folder: string, told: ReadonlyMap<string, string>): void {
  tryToWrite(posix.join(folderFor(state, folder), 'told.json'), Object.fromEntries(told));
}

/**
 * Records the folders beside a workspace that its container can write from now on, `[[mounts]]` and the git folder of a
 * linked worktree (real paths), with a baseline of each. Where nothing can be written, work goes on.
 */
export function recordBeside(
  state: string,
  root: string,
  folders: readonly (Scope & { readonly folder: string })[],
  readOnly: readonly string[],
): void {
  for (const { folder, ...scope } of folders) recordBaseline(state, folder, { ...scope, readOnly });
  const now = folders.map(({ folder }) => folder).sort();
  if (JSON.stringify(besidesOf(state, root)) !== JSON.stringify(now))
    tryToWrite(besidesFile(state, root), now);
}

/** The folders that were recorded for the workspace with that root; real paths, sorted. */
export function besidesOf(state: string, root: string): string[] {
  const folders = readJson(besidesFile(state, root));
  return Array.isArray(folders) ? folders.filter((each) => typeof each === 'string') : [];
}

/** A path in a folder, for people: below the root, or as a whole if it lies outside. */
export function nameOf(root: string, folder: string, path: string): string {
  return posix.join(isInside(folder, root) ? posix.relative(root, folder) : folder, path);
}

export function folderFor(state: string, folder: string): string {
  return posix.join(placeOf(state), digestOf(folder));
}

/** The folders of ours with all records about a folder each, and its baseline, if it has one. */
export function recordFolders(state: string) {
  const place = placeOf(state);
  const names = unlessFails(() => readdirSync(place)) ?? [];
  return names.map((name) => {
    const records = posix.join(place, name);
    return { records, baseline: read(posix.join(records, fileName)) };
  });
}

const fileName = 'baseline.json';

function fileOf(state: string, folder: string): string {
  return posix.join(folderFor(state, folder), fileName);
}

function besidesFile(state: string, root: string): string {
  return posix.join(folderFor(state, root), 'beside.json');
}

function placeOf(state: string): string {
  return posix.join(state, 'review');
}

function read(file: string): Baseline | undefined {
  const { folder, was = '', root, at, units, states, kept, isGit, ...lists } = objectOf(readJson(file));
  const { patterns = [], unasked = [] } = lists;
  if (typeof folder !== 'string' || typeof root !== 'string' || typeof at !== 'number') return undefined;
  if (![units, patterns, unasked].every(Array.isArray) || typeof states !== 'object') return undefined;
  const maps = { states: new Map(texts(states)), kept: new Map(texts(kept)) };
  const scope = { isGit: isGit === true, patterns: patterns as string[], unasked: unasked as string[] };
  return { folder, was: String(was), root, at, units: new Set(units as string[]), ...maps, ...scope };
}

/** `undefined` where there is no such file, or a damaged one. */
function readJson(file: string): unknown {
  return unlessFails<unknown>(() => JSON.parse(readFileSync(file, 'utf8')));
}

function tryToWrite(file: string, value: object): void {
  unlessFails(() => replaceFile(file, `${JSON.stringify(value)}\n`));
}

function texts(record: unknown): [string, string][] {
  return Object.entries(objectOf(record)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
}

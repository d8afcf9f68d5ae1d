/**
 * What was there before an agent worked in a folder, or when the user last accepted it: the states of all that would
 * be executed, with copies of the files. In our state folder, a folder for each, which no agent can write.
 */
import { lstatSync, readFileSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../errors';
import { ownFolders } from '../system/cai-folders';
import { isInside } from '../paths/path-map';
import { ancestry } from '../system/real-path';
import { replaceFile } from '../system/replace-file';
import { contentOf, digestOf, identityOf, canBeKept, placesIn, placesOf, unitsIn } from './inventory';
import type { Content, Scope } from './inventory';

/** What is compared with. */
export interface Baseline extends Scope {
  /** Real path of the folder. */
  readonly folder: string;
  /** What had that path, as `folderNow` says it. */
  readonly was: string;
  /** Root of the workspace that it lies in, or is. */
  readonly root: string;
  /** When it was taken, in milliseconds since the epoch. */
  readonly at: number;
  /** The protected paths that were there, empty folders as well. */
  readonly units: ReadonlySet<string>;
  /** By paths below the folder. */
  readonly states: ReadonlyMap<string, string>;
  /** The protected paths that no agent could ever write as long as they are the same, by what they were then. */
  readonly kept: ReadonlyMap<string, string>;
}

/** What a folder is for whoever has it written down. */
export interface FolderRole extends Scope {
  /** Root of the workspace that it lies in. Default: itself. */
  readonly root?: string;
  /** What agents cannot write from now on, with all that lies in it: absolute paths. Default: nothing. */
  readonly readOnly?: readonly string[];
}

/** Of one folder no more than this is kept as copies, in bytes. */
const maxCopiedBytes = 8 * 1_024 * 1_024;

/** What has a path now, whatever the number of its device after a boot; empty if nothing does. */
export function folderNow(folder: string): string {
  const stats = lstatSync(folder, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.ino}:${stats.birthtimeNs}`;
}

/**
 * Writes down what is in a folder, unless that was done before, and it is the same folder still. What was changed since
 * an agent could first write there, because the folder lies in another that was written down earlier, is left out: the
 * system sets the time of a file's last change, and no agent can. Without a place for records, work goes on. What is
 * not read-only later does not count as kept any more.
 */
export function recordBaseline(env: NodeJS.ProcessEnv, folder: string, role: FolderRole = {}): void {
  try {
    const known = readBaseline(env, folder);
    if (known?.was === folderNow(folder)) {
      recordRole(env, known, role);
      return;
    }
    const [baseline, contents] = takeBaseline(env, folder, role);
    writeBaseline(env, { ...baseline, kept: keptIn(env, baseline, role) }, contents);
  } catch (reason) {
    if (!(reason instanceof CaiError)) throw reason;
  }
}

function recordRole(env: NodeJS.ProcessEnv, known: Baseline, role: FolderRole): void {
  const { patterns = known.patterns ?? [] } = role;
  const kept = new Map([...known.kept].filter(([unit]) => isReadOnly(known.folder, unit, role)));
  const isSame = JSON.stringify(patterns) === JSON.stringify(known.patterns ?? []);
  if (!isSame || kept.size < known.kept.size) writeBaseline(env, { ...known, patterns, kept }, []);
}

function isReadOnly(folder: string, unit: string, { readOnly = [] }: FolderRole): boolean {
  const place = posix.join(folder, unit);
  return readOnly.some((each) => isInside(place, each));
}

/** What `recordBaseline` would write down now, and the contents of all places. */
export function takeBaseline(
  env: NodeJS.ProcessEnv,
  folder: string,
  { root = folder, isGit = false, patterns = [] }: FolderRole,
): [Baseline, readonly Content[]] {
  // Times of files have fractions of a millisecond.
  const at = Date.now() + 1;
  // What agents do in a repository is told and reviewed there.
  const outer = isGit ? [] : outerBaselines(env, folder).map((each) => each.at);
  const since = Math.min(at, ...outer);
  const units = unitsIn(folder, { isGit, patterns });
  const places = placesIn(folder, units).filter(
    ({ stats }) => outer.length === 0 || (stats?.ctimeMs ?? at) <= since,
  );
  const contents = places.map((place) => contentOf(folder, place));
  const states = new Map(places.map(({ path }, index) => [path, contents[index]!.state]));
  const kept = new Map<string, string>();
  const was = folderNow(folder);
  const paths = new Set(units.map(({ path }) => path));
  return [{ folder, was, root, at: since, units: paths, states, kept, isGit, patterns }, contents];
}

/** What was written down of the folders that a folder lies in. */
export function outerBaselines(env: NodeJS.ProcessEnv, folder: string): Baseline[] {
  return ancestry(folder)
    .slice(1)
    .flatMap((each) => readBaseline(env, each) ?? []);
}

/** A file with another name somewhere, or a link, can be written whatever is mounted over it. */
function keptIn(env: NodeJS.ProcessEnv, baseline: Baseline, role: FolderRole): Map<string, string> {
  const { folder } = baseline;
  if (outerBaselines(env, folder).length > 0) return new Map();
  const units = unitsIn(folder, baseline).filter(
    (unit) =>
      canBeKept(unit) &&
      isReadOnly(folder, unit.path, role) &&
      placesOf(folder, unit).every(({ stats }) => stats?.nlink === 1),
  );
  return new Map(units.map(({ path }) => [path, identityOf(folder, path)]));
}

/** `undefined` if there is none, also for one that is damaged. */
export function readBaseline(env: NodeJS.ProcessEnv, folder: string): Baseline | undefined {
  const found = read(fileOf(env, folder));
  return found?.folder === folder ? found : undefined;
}

/** The baselines of the folders below the root of a workspace in which sessions were opened. */
export function innerBaselines(env: NodeJS.ProcessEnv, root: string): Baseline[] {
  const place = placeOf(env);
  try {
    return readdirSync(place)
      .flatMap((name) => read(posix.join(place, name, fileName)) ?? [])
      .filter((each) => each.root === root && each.folder !== root)
      .sort((a, b) => (a.folder < b.folder ? -1 : 1));
  } catch {
    // Nothing was written down yet.
    return [];
  }
}

/** Takes the place of what was written down. Fails with `CaiError('CONFIG')`. */
export function writeBaseline(
  env: NodeJS.ProcessEnv,
  baseline: Baseline,
  contents: readonly Content[],
): void {
  const { units, states, kept, ...rest } = baseline;
  const copies = posix.join(folderFor(env, baseline.folder), 'copies');
  writing(copies, () => {
    let room = maxCopiedBytes;
    for (const { bytes } of contents) {
      if (bytes === undefined || bytes.length > room) continue;
      room -= bytes.length;
      replaceFile(posix.join(copies, digestOf(bytes)), bytes);
    }
    const maps = { states: Object.fromEntries(states), kept: Object.fromEntries(kept) };
    const text = JSON.stringify({ ...rest, units: [...units], ...maps });
    replaceFile(fileOf(env, baseline.folder), `${text}\n`);
  });
}

/** Bytes of a file as they were written down; undefined where no copy was kept, or it is damaged. */
export function copyOf(env: NodeJS.ProcessEnv, folder: string, digest: string): Buffer | undefined {
  try {
    const bytes = readFileSync(posix.join(folderFor(env, folder), 'copies', digest));
    return digestOf(bytes) === digest ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** What the user was told of a folder: the state of each path then; undefined if nothing was written down of it. */
export function readTold(env: NodeJS.ProcessEnv, folder: string): Map<string, string> | undefined {
  try {
    const told: unknown = JSON.parse(readFileSync(posix.join(folderFor(env, folder), 'told.json'), 'utf8'));
    return new Map(texts(told));
  } catch {
    return undefined;
  }
}

/** Writes that down; where it cannot be, the user is told again by the next process. */
export function writeTold(env: NodeJS.ProcessEnv, folder: string, told: ReadonlyMap<string, string>): void {
  const text = JSON.stringify(Object.fromEntries(told));
  try {
    replaceFile(posix.join(folderFor(env, folder), 'told.json'), `${text}\n`);
  } catch {
    // As in `recordBaseline`.
  }
}

/** Our own folder for what is about a folder. */
export function folderFor(env: NodeJS.ProcessEnv, folder: string): string {
  return posix.join(placeOf(env), digestOf(folder));
}

/** What `write` does to a folder of ours, failing with `CaiError('CONFIG')`. */
export function writing<T>(place: string, write: () => T): T {
  try {
    return write();
  } catch (reason) {
    throw new CaiError('CONFIG', `${place} cannot be written: ${messageOf(reason)}`);
  }
}

const fileName = 'baseline.json';

function fileOf(env: NodeJS.ProcessEnv, folder: string): string {
  return posix.join(folderFor(env, folder), fileName);
}

function placeOf(env: NodeJS.ProcessEnv): string {
  return posix.join(ownFolders(env).state, 'review');
}

function read(file: string): Baseline | undefined {
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    const { folder, was = '', root, at, units, states, kept, isGit, patterns = [] } = record;
    if (typeof folder !== 'string' || typeof root !== 'string' || typeof at !== 'number') return undefined;
    if (!Array.isArray(units) || !Array.isArray(patterns) || typeof states !== 'object') return undefined;
    const maps = { states: new Map(texts(states)), kept: new Map(texts(kept)) };
    const scope = { isGit: isGit === true, patterns: patterns as string[] };
    return { folder, was: String(was), root, at, units: new Set(units as string[]), ...maps, ...scope };
  } catch {
    return undefined;
  }
}

function texts(record: unknown): [string, string][] {
  return Object.entries(record ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
}

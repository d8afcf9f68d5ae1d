/** Where a path leads on this machine, link by link. */
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { access, readlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { errorCodeOf } from '../errors';
import { unlessFails } from './unless';

export interface ResolvedPath {
  /** The path without links. Segments that do not exist are kept as they are. */
  readonly real: string;
  /** Where each link lies that was followed, itself without links above it; in the order of their use. */
  readonly links: readonly string[];
}

/** Longer strings name no file (PATH_MAX of Linux), and normalising them could take minutes. */
export const maxPathLength = 4_096;

/**
 * Whether a string can be the absolute path of a file here and for whoever reads it after us: NUL ends it
 * for some, and half of a surrogate pair stands for its own byte for others.
 */
export function isFilePath(path: string): boolean {
  return path.startsWith('/') && path.length <= maxPathLength && !/\0|\p{Surrogate}/u.test(path);
}

/** As many links as Linux follows in one path. */
const maxLinks = 40;

/**
 * Follows every link of an absolute path, as opening it would. Unlike `realpath` it also follows a link
 * whose target is missing, because creating a file through that link creates the target. Rejects with
 * the system's error where a folder cannot be searched, and with `ELOOP` after 40 links. `visit` is told of
 * every place on the way, without links above it.
 */
export async function resolvePath(path: string, visit?: (place: string) => void): Promise<ResolvedPath> {
  const way = wayOf(path, visit);
  let step = way.next();
  while (step.done !== true) step = way.next(await readlink(step.value).catch(noLink));
  return step.value;
}

/**
 * The same of several paths in turn, without waiting and many times as fast. On a network that has gone all of the
 * process would hang: only for what the user alone names, where we read and write anyway.
 */
export class PathResolver {
  /** Where the links lead that were looked at. */
  readonly #known = new Map<string, string | undefined>();

  /** What a path stands for; throws as `resolvePath` rejects. `visit`: as there. */
  resolve(path: string, visit?: (place: string) => void): ResolvedPath {
    if (isReal(path)) {
      for (const place of ancestry(path).reverse()) {
        this.#known.set(place, undefined);
        visit?.(place);
      }
      return { real: path, links: [] };
    }
    const way = wayOf(path, visit);
    let step = way.next();
    while (step.done !== true) step = way.next(this.#targetOf(step.value));
    return step.value;
  }

  #targetOf(place: string): string | undefined {
    if (!this.#known.has(place)) this.#known.set(place, linkTargetNow(place));
    return this.#known.get(place);
  }
}

/** Asks of each place on a way where the link there leads; `undefined`: it is no link. */
function* wayOf(
  path: string,
  visit?: (place: string) => void,
): Generator<string, ResolvedPath, string | undefined> {
  const links: string[] = [];
  const rest = segmentsOf(path).reverse();
  let real = '/';
  for (let segment = rest.pop(); segment !== undefined; segment = rest.pop()) {
    const place = posix.join(real, segment);
    visit?.(place);
    const target = segment === '..' ? undefined : yield place;
    if (target === undefined) {
      real = place;
      continue;
    }
    links.push(place);
    if (links.length > maxLinks) throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
    if (target.startsWith('/')) real = '/';
    rest.push(...segmentsOf(target).reverse());
  }
  return { real, links };
}

/** A path without links, or itself where nothing is there that could be looked at. */
export function realOrSame(path: string): string {
  return unlessFails(() => realpathSync.native(path)) ?? path;
}

/** Whether something is there, links followed, that we may know of. */
export function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** An absolute, normalised path and all folders above it, nearest first. */
export function ancestry(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === path ? [path] : [path, ...ancestry(parent)];
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '' && segment !== '.');
}

/** Whether something is there, and no link on the way. */
function isReal(path: string): boolean {
  // An error for each that is missing would take longer than all else.
  return existsSync(path) && unlessFails(() => realpathSync.native(path)) === path;
}

function linkTargetNow(place: string): string | undefined {
  try {
    const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? readlinkSync(place) : undefined;
  } catch (reason) {
    noLink(reason);
    return undefined;
  }
}

/** For the error of a place that is not a link, or where nothing is; throws any other. */
function noLink(reason: unknown): undefined {
  const code = errorCodeOf(reason);
  if (code !== 'EINVAL' && code !== 'ENOENT' && code !== 'ENOTDIR') throw reason;
}

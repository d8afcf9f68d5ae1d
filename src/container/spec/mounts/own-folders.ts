/** Folders of the workspace in whose place containers have volumes: `container.own`. */
import { constants, fstatSync, lchownSync, mkdirSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, errorCodeOf, messageOf } from '../../../errors';
import { withFile } from '../../../system/files/open-file';
import { isInside } from '../../../system/paths/is-inside';
import { formOf } from '../../../system/paths/look-inside';
import { quoted } from '../../../system/quoted';
import { unlessFails } from '../../../system/unless';
import { protectedPatterns } from '../../../workspace/protect/protected-paths';
import { hasOpenFiles, placeOf } from '../../../system/files/descriptor';
import type { Bind } from '../spec';

/**
 * Paths below the workspace, without those that lie in another of them. Throws `CaiError('CONFIG')` for one that has to be
 * protected on this machine, has something in it that has to be, or lies in such a folder. `protection`: what is.
 */
export function ownFolders(
  wanted: readonly string[],
  { root, patterns, protection }: { root: string; patterns: readonly string[]; protection: readonly Bind[] },
): string[] {
  const outer = wanted.filter(
    (path) => !wanted.some((other) => other !== path && isInside(`/${path}`, `/${other}`)),
  );
  for (const path of outer) {
    const place = posix.join(root, path);
    const isMounted = protection.some(
      ({ source, isReadOnly }) => isInside(source, place) || (isReadOnly && isInside(place, source)),
    );
    if (isMounted || ['.git', ...protectedPatterns, ...patterns].some((pattern) => meets(path, pattern)))
      throw unusable(path, 'agents are kept from writing there or in a folder in it');
  }
  return outer;
}

/** Whether a path could be what the pattern means, or one of the two lie in the other. */
function meets(path: string, pattern: string): boolean {
  // A file system may take names in any case.
  const forms = pattern.toLowerCase().split('/').map(formOf);
  const names = path.toLowerCase().split('/');
  return forms.slice(0, names.length).every((fits, index) => fits(names[index] ?? ''));
}

/**
 * Makes the folders on which volumes are mounted, where they are not there: an engine would make them as root. No link is
 * followed. Throws `CaiError('CONFIG')` for anything else that is there.
 */
export function makeOwnFolders(root: string, paths: readonly string[]): void {
  for (const path of paths)
    try {
      makeFolders(root, path.split('/'));
    } catch (reason) {
      const code = errorCodeOf(reason);
      const isOther = code === 'ENOTDIR' || code === 'ELOOP';
      throw unusable(
        path,
        isOther ? 'it is there, and it or a folder on the way is no folder' : messageOf(reason),
      );
    }
}

function makeFolders(folder: string, [name, ...rest]: readonly string[]): void {
  withFile(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW, (file) => {
    if (name === undefined) return;
    makeFolders(makeInside(folder, file, name), rest);
  });
}

/** Makes a folder in an open one, for the same owner, unless something has that name; returns where it is. */
export function makeInside(folder: string, open: number, name: string): string {
  const inside = hasOpenFiles() ? placeOf(open, name) : posix.join(folder, name);
  try {
    mkdirSync(inside);
    const { uid, gid } = fstatSync(open);
    unlessFails(() => lchownSync(inside, uid, gid));
  } catch (reason) {
    if (errorCodeOf(reason) !== 'EEXIST') throw reason;
  }
  return inside;
}

function unusable(path: string, why: string): CaiError {
  return new CaiError(
    'CONFIG',
    `"container.own" names ${quoted(path)}, which cannot be a volume, because ${why}: name another folder`,
  );
}

/** Whether `path` is `folder` or lies below it, by whole segments. Both absolute and normalised. */
export function isInside(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

/** Of those whose folder holds a path, that with the innermost one; `undefined`: none holds it. */
export function innermost<T>(path: string, all: readonly T[], folderOf: (each: T) => string): T | undefined {
  return all
    .filter((each) => isInside(path, folderOf(each)))
    .sort((one, other) => folderOf(other).length - folderOf(one).length)[0];
}

/** Whether `path` is `folder` or lies below it, by whole segments. Both absolute and normalised. */
export function isInside(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

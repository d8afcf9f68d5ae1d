/** Where the devcontainer.json of a workspace is. Source: Development Containers, "devcontainer.json". */
import { posix } from 'node:path';
import { lookAt, namesIn } from '../../system/paths/look-inside';

const folder = '.devcontainer';
const fileName = 'devcontainer.json';

/**
 * The file of the workspace at `root`; with `name` that of the folder of this name in `.devcontainer`. `undefined`: it
 * has no such file. What is found may be anything, also a link.
 */
export function findDevcontainer(root: string, name: string | undefined): string | undefined {
  return (name === undefined ? usualFiles(root) : [namedFile(root, name)]).find(isThere);
}

/** Every file of the workspace that could be it; the usual ones also if they are not there. */
export function devcontainerFiles(root: string): string[] {
  return [...usualFiles(root), ...devcontainerNames(root).map((name) => namedFile(root, name))];
}

/** The names among which the user can choose, sorted; none of very many: an agent may have made them. */
export function devcontainerNames(root: string): string[] {
  const names = namesIn(root, folder) ?? [];
  return names.filter((name) => isThere(namedFile(root, name))).sort();
}

function usualFiles(root: string): string[] {
  return [`${folder}/${fileName}`, `.${fileName}`].map((place) => posix.join(root, place));
}

function namedFile(root: string, name: string): string {
  return posix.join(root, folder, name, fileName);
}

function isThere(file: string): boolean {
  return lookAt('/', file) !== undefined;
}

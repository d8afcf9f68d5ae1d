/** Folders beside a workspace that its container can write: `[[mounts]]`, and the git folder of a linked worktree. */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { isInside } from '../paths/path-map';
import { replaceFile } from '../system/replace-file';
import { folderFor, recordBaseline } from './baseline';
import type { Scope } from './inventory';

/** A folder outside of the workspace. */
export interface BesideFolder extends Scope {
  /** Real path. */
  readonly folder: string;
}

/**
 * Records the folders that the container can write from now on, with a baseline of each. Work goes on where it fails.
 */
export function recordBeside(
  state: string,
  root: string,
  folders: readonly BesideFolder[],
  readOnly: readonly string[],
): void {
  for (const { folder, ...scope } of folders) recordBaseline(state, folder, { ...scope, readOnly });
  const known = besidesOf(state, root);
  const now = folders.map(({ folder }) => folder).sort();
  if (JSON.stringify(known) === JSON.stringify(now)) return;
  try {
    replaceFile(fileOf(state, root), `${JSON.stringify(now)}\n`);
  } catch {
    // As in `recordBaseline`.
  }
}

/** The folders that were recorded for the workspace with that root; real paths, sorted. */
export function besidesOf(state: string, root: string): string[] {
  try {
    const folders: unknown = JSON.parse(readFileSync(fileOf(state, root), 'utf8'));
    return Array.isArray(folders) ? folders.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}

/** A path in a folder, for people: below the root, or as a whole if it lies outside. */
export function nameOf(root: string, folder: string, path: string): string {
  return posix.join(isInside(folder, root) ? posix.relative(root, folder) : folder, path);
}

function fileOf(state: string, root: string): string {
  return posix.join(folderFor(state, root), 'beside.json');
}

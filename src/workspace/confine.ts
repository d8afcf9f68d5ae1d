/** The border around the files that an agent may reach through the editor. */
import { posix } from 'node:path';
import { CaiError } from '../errors';
import { isInside } from './path-map';
import { isFilePath, isThere, resolvePath } from './real-path';

/**
 * `path`, lexically normalised, if it and what it really leads to lie in one of `roots` (a file need not
 * exist yet). Roots count in the spelling given and as real paths. Rejects with `CaiError('OUTSIDE')`
 * otherwise, also for a relative path and wherever the look-up fails.
 *
 * A window remains: between this check and the moment the editor opens the file, something that can write
 * inside a root (the agent in its container) can put a link in its place. Nothing on this side can close
 * it, because the editor opens by name; `[acp] fs = "off"` does.
 */
export async function confine(path: string, roots: readonly string[]): Promise<string> {
  if (!isFilePath(path)) throw outside(path);
  const spelled = posix.resolve(path);
  const [target, ...folders] = await Promise.all([realPathOf(spelled), ...roots.map(folderOf)]);
  const existing = folders.filter((folder) => folder !== undefined);
  const isSpelledInside = existing.some(
    (root) => isInside(spelled, root.spelled) || isInside(spelled, root.real),
  );
  if (!isSpelledInside || target === undefined || !existing.some(({ real }) => isInside(target, real))) {
    throw outside(path);
  }
  return spelled;
}

/** A root in both spellings; `undefined`: there is none. */
async function folderOf(root: string): Promise<{ spelled: string; real: string } | undefined> {
  const real = await realPathOf(root);
  if (real === undefined || !(await isThere(real))) return undefined;
  return { spelled: posix.resolve(root), real };
}

/** `undefined` where it cannot be known, or is not the same for every process. */
async function realPathOf(path: string): Promise<string | undefined> {
  try {
    const { real, links } = await resolvePath(path);
    // What is linked below `/proc` leads us to our own folders, and the editor to its own.
    return links.some((link) => isInside(link, '/proc')) ? undefined : real;
  } catch {
    // A loop, or a folder that we may not search: the answer is no.
    return undefined;
  }
}

function outside(path: string): CaiError {
  const why = path.startsWith('/')
    ? "is outside the session's folders: start a session in its folder, or add that folder to this one"
    : 'is not an absolute path, as which a file has to be named';
  return new CaiError('OUTSIDE', `${JSON.stringify(path.slice(0, 1_000))} ${why}`);
}

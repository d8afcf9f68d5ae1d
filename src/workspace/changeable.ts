/** Whether somebody who writes in some folders decides what a path leads to. */
import { lstat } from 'node:fs/promises';
import { resolvePath } from './real-path';

/**
 * The first of `folders` that the way to `path` touches: the path as it is spelled, each link that is followed,
 * and where it ends. `undefined` if none does: whoever can write in the folders alone then cannot put anything
 * else there, neither now nor later. They are known by what they are, not by name: a file system that ignores
 * case has many names for each. Rejects with the system's error where the way cannot be followed.
 */
export async function changeableThrough(
  path: string,
  folders: readonly string[],
): Promise<string | undefined> {
  const places: string[] = [];
  await resolvePath(path, (place) => places.push(place));
  const touched = new Set(await Promise.all(places.map(identityOf)));
  for (const folder of folders) {
    const identity = await identityOf(folder);
    if (identity !== undefined && touched.has(identity)) return folder;
  }
  return undefined;
}

/** `undefined`: nothing is there. */
async function identityOf(place: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await lstat(place, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** The border around the files that an agent may reach through the editor. */
import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError, errorCodeOf } from '../../errors';
import { checkPinned, type PinnedFolder } from './pinned-folder';
import { quoted } from '../quoted';
import { isFilePath } from '../real-path';
import { isInside } from './is-inside';

/**
 * `path`, lexically normalised, if the editor may read or write a file there: it lies in one of `pins`, in either
 * spelling, and that still is the folder that was pinned; below that folder there is no link in the path; what is
 * there is a regular file of at most `maxBytes`. The file, and the last folders of the path, need not exist. Rejects
 * otherwise: with `CaiError('REPLACED')` for a folder that was replaced, else with `CaiError('OUTSIDE')`.
 *
 * It looks at names and at what they stand for, and takes no time that grows with a file. What it finds holds as long
 * as nobody changes the folders.
 */
export async function confine(
  path: string,
  pins: readonly PinnedFolder[],
  maxBytes: number,
): Promise<string> {
  if (!isFilePath(path)) throw refuse(path, 'is not an absolute path, as which a file has to be named');
  const spelled = posix.resolve(path);
  const place = placeOf(spelled, pins);
  if (place === undefined) throw refuse(path, outside);
  const { pin, names } = place;
  await checkPinned(pin);
  if (names.length === 0) throw refuse(spelled, 'is a folder: name a file in it');
  let { real } = pin;
  for (const [index, name] of names.entries()) {
    real = posix.join(real, name);
    const what = await lookAt(real, spelled);
    // What is missing is made by the editor, in a folder that no link leads to.
    if (what === undefined) break;
    const why = index === names.length - 1 ? whyNoFile(what, real, maxBytes) : whyNoFolder(what, real);
    if (why !== undefined) throw refuse(spelled, why);
  }
  return spelled;
}

const outside =
  "is outside the session's folders: start a session in its folder, or add that folder to this one";

/** The innermost folder that has the path, and the names on the way from there. */
function placeOf(
  spelled: string,
  pins: readonly PinnedFolder[],
): { readonly pin: PinnedFolder; readonly names: readonly string[] } | undefined {
  return pins
    .flatMap((pin) => [pin.spelled, pin.real].map((base) => ({ pin, base })))
    .filter(({ base }) => isInside(spelled, base))
    .map(({ pin, base }) => ({ pin, names: posix.relative(base, spelled).split('/').filter(Boolean) }))
    .sort((one, other) => one.names.length - other.names.length)[0];
}

/** `undefined`: nothing is there. */
async function lookAt(real: string, spelled: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(real, { bigint: true });
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return undefined;
    throw refuse(spelled, `cannot be looked at (${String(errorCodeOf(reason))})`);
  }
}

function whyNoFolder(what: BigIntStats, real: string): string | undefined {
  if (what.isSymbolicLink())
    return `leads through the link ${quoted(real)}: name the file itself, or use the disk instead of the editor`;
  return what.isDirectory() ? undefined : `needs a folder at ${quoted(real)}, which is not one`;
}

function whyNoFile(what: BigIntStats, real: string, maxBytes: number): string | undefined {
  if (what.isSymbolicLink()) return whyNoFolder(what, real);
  if (what.isDirectory()) return 'is a folder: name a file in it';
  if (!what.isFile()) return 'is no regular file: use the disk instead of the editor';
  return what.size > maxBytes
    ? `is larger than ${maxBytes} bytes: use the disk instead of the editor`
    : undefined;
}

function refuse(path: string, why: string): CaiError {
  return new CaiError('OUTSIDE', `${quoted(path.slice(0, 1_000))} ${why}`);
}

/** The border around the files that an agent may reach through the editor. */
import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError } from '../errors';
import { isInside } from './path-map';
import { checkPinned, identityIn } from './pinned-folder';
import type { PinnedFolder } from './pinned-folder';
import { quoted } from '../system/quoted';
import { errorCodeOf, isFilePath } from '../system/real-path';

/** A file whose text cannot come in a line of the editor, unless the user has allowed longer ones. */
const defaultMaxBytes = 64 * 2 ** 20;

/**
 * `path`, lexically normalised, if the editor may read or write a file there: it lies in one of `pins`, in either
 * spelling, and that still is the folder that was pinned; below that folder there is no link in the path; what is
 * there is a regular file of at most `maxBytes`. The file, and the last folders of the path, need not exist. Rejects
 * otherwise: with `CaiError('REPLACED')` for a folder that was replaced, else with `CaiError('OUTSIDE')`.
 *
 * It looks at names and at what they stand for, and takes no time that grows with a file. What it finds holds as long
 * as nobody changes the folders: the caller sees to that until the editor has done its part.
 */
export async function confine(
  path: string,
  pins: readonly PinnedFolder[],
  how: 'read' | 'write',
  maxBytes = defaultMaxBytes,
): Promise<string> {
  if (!isFilePath(path)) throw refuse(path, 'is not an absolute path, as which a file has to be named');
  const spelled = posix.resolve(path);
  const place = placeOf(spelled, pins);
  if (place === undefined) throw refuse(path, outside);
  await checkPinned(place.pin);
  await new Walk(spelled, pins, how, maxBytes).from(place);
  return spelled;
}

const outside =
  "is outside the session's folders: start a session in its folder, or add that folder to this one";

/** A pinned folder, and the names on the way from there. */
interface Place {
  readonly pin: PinnedFolder;
  readonly names: readonly string[];
}

/** By the innermost folder that has the path. */
function placeOf(spelled: string, pins: readonly PinnedFolder[]): Place | undefined {
  return pins
    .filter(({ identity }) => identity !== '')
    .flatMap((pin) => [pin.spelled, pin.real].map((base) => ({ pin, base })))
    .filter(({ base }) => isInside(spelled, base))
    .map(({ pin, base }) => ({ pin, names: posix.relative(base, spelled).split('/').filter(Boolean) }))
    .sort((one, other) => one.names.length - other.names.length)[0];
}

/**
 * By its name, what cannot be written whatever its case, which some file systems ignore; a folder by what it is, too.
 */
function isOf({ real, identity, isReadOnly }: PinnedFolder, place: string, what: BigIntStats): boolean {
  const isNamed = isReadOnly ? real.toLowerCase() === place.toLowerCase() : real === place;
  return isNamed || identity === identityIn(what);
}

/** The way from a pinned folder to a file, name by name. */
class Walk {
  /** What can be written here is said by the last pinned folder on the way. */
  #isReadOnly = false;

  constructor(
    private readonly spelled: string,
    private readonly pins: readonly PinnedFolder[],
    private readonly how: 'read' | 'write',
    private readonly maxBytes: number,
  ) {}

  async from({ pin, names }: Place): Promise<void> {
    this.#isReadOnly = pin.isReadOnly;
    if (names.length === 0) throw this.#refuse('is a folder: name a file in it');
    let real = pin.real;
    for (const [index, name] of names.entries()) {
      real = posix.join(real, name);
      const what = await this.#lookAt(real);
      // What is missing is made by the editor, in a folder that is none of a link.
      if (what === undefined) break;
      this.#pass(what, real, index === names.length - 1);
    }
    if (this.#isReadOnly && this.how === 'write')
      throw this.#refuse(
        'cannot be written: it is mounted read-only ([[mounts]], or what this machine would execute)',
      );
  }

  /** `undefined`: nothing is there. */
  async #lookAt(real: string): Promise<BigIntStats | undefined> {
    try {
      return await lstat(real, { bigint: true });
    } catch (reason) {
      if (errorCodeOf(reason) === 'ENOENT') return undefined;
      throw this.#refuse(`cannot be looked at (${String(errorCodeOf(reason))})`);
    }
  }

  #pass(what: BigIntStats, real: string, isLast: boolean): void {
    if (what.isSymbolicLink()) {
      throw this.#refuse(
        `leads through the link ${quoted(real)}: name the file itself, or use the disk instead of the editor`,
      );
    }
    const pin = this.pins.find((each) => isOf(each, real, what));
    if (pin !== undefined) this.#isReadOnly = pin.isReadOnly;
    if (!isLast) {
      if (!what.isDirectory()) throw this.#refuse(`needs a folder at ${quoted(real)}, and that is none`);
      return;
    }
    if (what.isDirectory()) throw this.#refuse('is a folder: name a file in it');
    if (!what.isFile()) throw this.#refuse('is no regular file: use the disk instead of the editor');
    if (what.size > this.maxBytes)
      throw this.#refuse(`is larger than ${this.maxBytes} bytes: use the disk instead of the editor`);
  }

  #refuse(why: string): CaiError {
    return refuse(this.spelled, why);
  }
}

function refuse(path: string, why: string): CaiError {
  return new CaiError('OUTSIDE', `${quoted(path.slice(0, 1_000))} ${why}`);
}

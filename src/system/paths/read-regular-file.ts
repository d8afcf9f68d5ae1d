/** Reads files that a stranger may have prepared. */
import * as fs from 'node:fs';
import { CaiError, messageOf } from '../../errors';
import { isMissing, unlessFails } from '../unless';
import { isInside } from './is-inside';

/**
 * The bytes of a regular file, `undefined` if it does not exist. Never waits, and follows no link in its place. With `root`
 * (real path) the file must lie below it, wherever links lead. Fails with `CaiError('CONFIG')` for anything else, also
 * for more than `maxBytes`.
 */
export function readRegularFile(file: string, maxBytes: number, root?: string): Buffer | undefined {
  const open = openIfThere(file);
  if (open === undefined) return undefined;
  try {
    if (!fs.fstatSync(open).isFile()) throw refuse(file, 'is not a regular file');
    if (root !== undefined && !isBelow(open, file, root))
      throw refuse(file, `leads out of ${root} through a symbolic link: put the file itself there`);
    return readUpTo(open, file, maxBytes);
  } finally {
    fs.closeSync(open);
  }
}

function openIfThere(file: string): number | undefined {
  try {
    // To open a device can do something; after this look it takes a race.
    const there = fs.lstatSync(file, { throwIfNoEntry: false });
    if (there === undefined) return undefined;
    if (there.isSymbolicLink()) throw refuse(file, 'is a symbolic link: put the file itself there');
    if (!there.isFile()) throw refuse(file, 'is not a regular file');
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (reason) {
    if (reason instanceof CaiError) throw reason;
    if (isMissing(reason)) return undefined;
    throw refuse(file, `cannot be read: ${messageOf(reason)}`);
  }
}

/** Looks after opening: whoever swaps folders meanwhile cannot make another file the one that is open. */
function isBelow(open: number, file: string, root: string): boolean {
  // Where this fails, it is gone again.
  const isIt = unlessFails(() => {
    const real = fs.realpathSync(file);
    const [opened, named] = [fs.fstatSync(open), fs.statSync(real)];
    return isInside(real, root) && opened.dev === named.dev && opened.ino === named.ino;
  });
  return isIt === true;
}

/** Least that is read at once, in bytes: also of a file that says that it is empty, as those of the kernel do. */
const leastBytes = 4_096;

/** Takes no more memory than the file has bytes, whatever `maxBytes` is: a workspace can have many files. */
function readUpTo(open: number, file: string, maxBytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let length = 0; ;) {
    const left = Math.max(fs.fstatSync(open).size - length, leastBytes);
    const part = Buffer.allocUnsafe(Math.min(left, maxBytes - length) + 1);
    const count = fs.readSync(open, part, 0, part.length, null);
    if (count === 0) return Buffer.concat(parts);
    length += count;
    if (length > maxBytes) throw refuse(file, `is longer than ${maxBytes} bytes`);
    parts.push(part.subarray(0, count));
  }
}

function refuse(file: string, why: string): CaiError {
  return new CaiError('CONFIG', `${file} ${why}`);
}

/** Files that git ignores and a worktree needs, such as `.env`: they are copied from the repository's work tree. */
import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, readlink, realpath, symlink, type FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError, errorCodeOf, messageOf } from '../../errors';
import { pathOfOpen } from '../../system/files/descriptor';
import { isInside } from '../../system/paths/is-inside';
import { quoted } from '../../system/quoted';

/** Agents write in the repository, and somebody waits. */
const maxFiles = 200_000;
const maxBytes = 4 * 2 ** 30;
/** What is copied at a time, in bytes. */
const pieceBytes = 64 * 1_024;

interface Count {
  files: number;
  bytes: number;
}

/**
 * Copies paths below `from` to `to`; both are real paths, and nobody else writes in `to` yet. What is not there, or comes with
 * the worktree, is left out. No link is followed: those in a folder are copied if they lead to something below it, in
 * relative terms, and else left out. Rejects with `CaiError('WORKSPACE')`.
 */
export async function copyInto(paths: readonly string[], from: string, to: string): Promise<void> {
  const count = { files: 0, bytes: 0 };
  for (const path of paths) {
    try {
      if (await isFree(to, path))
        await copy(posix.join(from, path), posix.join(to, path), posix.join(from, path), count);
    } catch (reason) {
      const why = reason instanceof CaiError ? reason.message : messageOf(reason);
      throw new CaiError(
        'WORKSPACE',
        `worktrees.copy: ${quoted(path)} of ${quoted(from)} cannot be copied: ${why}`,
      );
    }
  }
}

/** Whether nothing has the path below `root`, whose folders above it are made. Rejects where one of them is a link. */
export async function isFree(root: string, path: string): Promise<boolean> {
  const names = path.split('/');
  let folder = root;
  for (const name of names.slice(0, -1)) {
    folder = posix.join(folder, name);
    const there = await lookAt(folder);
    if (there === undefined) await mkdir(folder);
    else if (!there.isDirectory()) throw new CaiError('WORKSPACE', `${quoted(folder)} is no folder`);
  }
  return (await lookAt(posix.join(folder, names.at(-1)!))) === undefined;
}

/** What is gone meanwhile, or has a name that is not UTF-8, is left out alone. */
async function copy(from: string, to: string, top: string, count: Count): Promise<void> {
  try {
    await copyThere(from, to, top, count);
  } catch (reason) {
    if (errorCodeOf(reason) !== 'ENOENT') throw reason;
  }
}

async function copyThere(from: string, to: string, top: string, count: Count): Promise<void> {
  const what = await lstat(from);
  count.files += 1;
  if (count.files > maxFiles) throw tooMuch();
  if (what.isFile()) {
    await copyFile(from, to, count);
  } else if (what.isDirectory()) {
    // Of a folder that is swapped for a link meanwhile, only the names are read: no file in it has the right path.
    const names = await readdir(from);
    await mkdir(to);
    for (const name of names) await copy(posix.join(from, name), posix.join(to, name), top, count);
  } else if (what.isSymbolicLink()) {
    if (from === top) throw new CaiError('WORKSPACE', 'it is a link: put the file itself there');
    const target = await readlink(from);
    const isBelow = isInside(posix.resolve(posix.dirname(from), target), top);
    if (isBelow && !posix.isAbsolute(target)) await symlink(target, to);
  }
}

/** What was opened must have that path, so that no link on the way was followed either, also none that came just now. */
async function copyFile(from: string, to: string, count: Count): Promise<void> {
  const file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const what = await file.stat();
    // Systems without such links tell the path by name only.
    const opened = pathOfOpen(file.fd) ?? (await realpath(from));
    if (opened !== from || !what.isFile())
      throw new CaiError('WORKSPACE', `${quoted(from)} leads through a link: put the file itself there`);
    count.bytes += what.size;
    if (count.bytes > maxBytes) throw tooMuch();
    const copied = await open(to, 'wx', what.mode & 0o777);
    try {
      await copyBytes(file, copied, what.size);
    } finally {
      await copied.close();
    }
  } finally {
    await file.close();
  }
}

/** What is empty stays so: a file can be long and take no room on the disk. */
async function copyBytes(from: FileHandle, to: FileHandle, size: number): Promise<void> {
  await to.truncate(size);
  const piece = Buffer.alloc(pieceBytes);
  const empty = Buffer.alloc(pieceBytes);
  for (let at = 0; at < size;) {
    const { bytesRead } = await from.read(piece, 0, Math.min(pieceBytes, size - at), at);
    if (bytesRead === 0) return;
    if (piece.compare(empty, 0, bytesRead, 0, bytesRead) !== 0) await to.write(piece, 0, bytesRead, at);
    at += bytesRead;
  }
}

function tooMuch(): CaiError {
  return new CaiError(
    'WORKSPACE',
    `all together are more than ${maxFiles} files or folders, or ${maxBytes / 2 ** 30} GiB`,
  );
}

async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return undefined;
    throw reason;
  }
}

/**
 * Folders that are known by what they are: what may be touched is decided once, and each later use compares, because an
 * agent can rename folders and put links and other folders in their places.
 */
import { constants, lstatSync, type BigIntStats } from 'node:fs';
import { lstat, open, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import { quoted } from '../quoted';
import { unlessFails } from '../unless';
import { pathOfOpen } from '../files/descriptor';

/** A folder of the host, as it was when it was pinned. */
export interface PinnedFolder {
  /** As the editor names it: absolute, normalised, with the links that the user has on the way. */
  readonly spelled: string;
  readonly real: string;
  /** What it is, as `identityIn` says it. */
  readonly identity: string;
}

/** `device:inode`: the same as long as it is the same file or folder, whatever its path. */
export function identityIn({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
}

/**
 * What is at a path now, links not followed; empty if nothing is. The time of birth tells it from whatever takes its
 * place, which may get the number of a deleted file.
 */
export function identityNow(path: string): string {
  const there = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return there === undefined ? '' : `${identityIn(there)}:${there.birthtimeNs}`;
}

/** As `identityNow`; empty also for what is not for us to see. */
export function identitySeen(path: string): string {
  return unlessFails(() => identityNow(path)) ?? '';
}

/**
 * What has the path `real` at this moment. It is opened without following a link, and what was opened must still have
 * that path, so that no link above was followed either. Rejects with `CaiError('WORKSPACE')` if a link has come into
 * the path.
 */
export async function identify(
  real: string,
): Promise<{ readonly identity: string; readonly isFolder: boolean }> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(real, flags).catch((reason: unknown) => {
    throw new CaiError('WORKSPACE', `${quoted(real)} cannot be opened: ${messageOf(reason)}`);
  });
  try {
    const what = await file.stat({ bigint: true });
    // Systems without such links tell the path by name only.
    const opened = pathOfOpen(file.fd) ?? (await realpath(real));
    if (opened === real) return { identity: identityIn(what), isFolder: what.isDirectory() };
  } finally {
    await file.close();
  }
  throw new CaiError(
    'WORKSPACE',
    `${quoted(real)} is being replaced by something else: try again, and look for what does that`,
  );
}

/** Pins a folder; `real`, if known, decides. Rejects with `CaiError('WORKSPACE')` where there is no such folder. */
export async function pinFolder(spelled: string, real?: string): Promise<PinnedFolder> {
  const path = real ?? (await realpath(spelled).catch(() => undefined));
  const found = path === undefined ? undefined : await identify(path);
  if (path === undefined || found?.isFolder !== true)
    throw new CaiError('WORKSPACE', `${quoted(spelled)} is not a folder that can be opened: create it`);
  return { spelled: posix.resolve(spelled), real: path, identity: found.identity };
}

/** Rejects with `CaiError('REPLACED')` unless both paths of the pin still lead to the very folder. */
export async function checkPinned({ spelled, real, identity }: PinnedFolder): Promise<void> {
  const [leadsTo, now] = await Promise.all([
    realpath(spelled).catch(() => undefined),
    lstat(real, { bigint: true }).catch(() => undefined),
  ]);
  if (leadsTo !== real || now === undefined || identityIn(now) !== identity) throw replaced(spelled);
}

/** Fails with `CaiError('REPLACED')` if a folder that was pinned twice was not the same both times. */
export function checkSamePins(then: readonly PinnedFolder[], now: readonly PinnedFolder[]): void {
  for (const pin of then) {
    const again = now.find(({ spelled }) => spelled === pin.spelled);
    if (again?.real !== pin.real || again.identity !== pin.identity) throw replaced(pin.spelled);
  }
}

/** For a folder of a session: what it was opened with has gone, and something else has its name. */
export function replaced(spelled: string): CaiError {
  return new CaiError(
    'REPLACED',
    `${quoted(spelled)} is no longer the folder that the session was opened with: if you have moved or replaced it yourself, start a new session; if not, find out what has done that`,
  );
}

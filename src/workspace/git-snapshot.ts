/**
 * A common git folder of ours for a repository in which agents write: its configuration is that of one moment, and all else
 * leads to the repository. So git runs with the very configuration that was looked at.
 */
import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { posix } from 'node:path';
import type { Host } from '../system/host';
import { makeFolder } from '../system/files/make-folder';
import { readRegularFile } from '../system/paths/read-regular-file';
import { realOrSame } from '../system/real-path';
import { writeState } from '../system/state-folder';
import { unlessFails } from '../system/unless';
import { maxConfigBytes } from './protect/git-layout';

/** What all work trees share, besides the configuration and hooks. Source: gitrepository-layout(5). */
const shared = [
  ...['HEAD', 'info', 'logs', 'modules', 'objects', 'packed-refs'],
  ...['refs', 'reftable', 'rr-cache', 'shallow', 'worktrees'],
];

/** So long one is kept that nobody uses, in milliseconds. */
const unusedMs = 24 * 60 * 60 * 1_000;

/** The folder for `common` (a real path) as that is configured now. Fails with `CaiError('CONFIG')` for what is no file. */
export function snapshotOf(common: string, { folders: { state } }: Host): string {
  const file = realOrSame(posix.join(common, 'config'));
  const config = readRegularFile(file, maxConfigBytes) ?? Buffer.alloc(0);
  const all = posix.join(state, 'git-snapshots');
  const name = createHash('sha256').update(`${common}\0`).update(config).digest('hex');
  const place = posix.join(all, name);
  const now = new Date();
  if (unlessFails(() => (utimesSync(place, now, now), true)) === true) return place;
  writeState(state, all, () => makeIn(all, place, common, config));
  return place;
}

function makeIn(all: string, place: string, common: string, config: Buffer): void {
  const now = Date.now();
  makeFolder(all);
  for (const each of readdirSync(all))
    unlessFails(() => {
      const old = posix.join(all, each);
      if (statSync(old).mtimeMs < now - unusedMs) rmSync(old, { recursive: true });
    });
  const fresh = mkdtempSync(`${place}-`);
  for (const each of shared) symlinkSync(posix.join(common, each), posix.join(fresh, each));
  writeFileSync(posix.join(fresh, 'config'), config);
  try {
    renameSync(fresh, place);
  } catch {
    // Another process has made the same.
    rmSync(fresh, { recursive: true });
    statSync(place);
  }
}

import { chmodSync } from 'node:fs';
import { newFolder } from './temp-folder';

/** A PATH with a folder that an ordinary user may not enter, before those of this process. */
export function pathWithClosedFolder(): string {
  const closed = newFolder();
  chmodSync(closed, 0);
  return `${closed}:${process.env.PATH}`;
}

/** What comes of `run`, which does what root may do without asking, as an ordinary user. */
export function asOrdinaryUser<T>(run: () => T): T {
  if (process.geteuid!() !== 0) return run();
  process.seteuid!(65_534);
  try {
    return run();
  } finally {
    process.seteuid!(0);
  }
}

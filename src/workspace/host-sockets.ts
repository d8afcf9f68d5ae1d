/** Sockets of this machine's programs in folders of agents, who can connect to them. */
import { lstatSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { isInside } from '../system/paths/is-inside';
import { quoted } from '../system/quoted';
import { unlessFails } from '../system/unless';

/** Of more sockets only the number is told. */
const maxNamed = 5;

/** A socket with a name that is not connected: of the fields, the state is the sixth. Source: Linux, net/unix/af_unix.c. */
const entry = /^(?:\S+ ){5}01 +\d+ ([^@].*)$/gm;

/**
 * Paths of the sockets below these folders, sorted. The kernel lists no socket of a container here. A relative name counts
 * as one in each of the folders, if a socket is there.
 */
export function hostSocketsIn(folders: readonly string[]): string[] {
  const table = unlessFails(() => readFileSync('/proc/net/unix', 'utf8')) ?? '';
  const paths = [...table.matchAll(entry)].flatMap(([, name]) =>
    folders.map((folder) => posix.resolve(folder, name!)).filter((path, i) => isBelow(path, folders[i]!)),
  );
  const isSocket = (path: string): boolean => unlessFails(() => lstatSync(path).isSocket()) === true;
  return [...new Set(paths)].filter(isSocket).sort();
}

/** What to say of those below these folders; `undefined`: nothing. */
export function socketNotice(folders: readonly string[]): string | undefined {
  const sockets = hostSocketsIn(folders);
  if (sockets.length === 0) return undefined;
  const names = sockets.slice(0, maxNamed).map((path) => quoted(path));
  const more = sockets.length > maxNamed ? ` and ${sockets.length - maxNamed} more` : '';
  return `the agent can connect to programs of this machine at ${names.join(', ')}${more}: end them, or have their sockets elsewhere`;
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && isInside(path, folder);
}

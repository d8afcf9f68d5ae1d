/** What a container was made with to protect of its workspace, compared with what is wanted now. */

import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';

/** A mount that protects something. */
export interface ProtectingMount {
  /** `device:inode` of what is mounted; empty where the system does not tell. */
  readonly identity: string;
  /** Absolute path inside. */
  readonly target: string;
  /** Whether it protects what is there, or only keeps a folder in its place. */
  readonly isReadOnly: boolean;
}

/** First line of the label: whether anything is to be protected. */
const off = 'off';
const on = 'on';

/** For the label of a container: whether anything is to be protected, and a line for each mount. */
export function protectionText(mounts: readonly ProtectingMount[] | undefined): string {
  if (mounts === undefined) return off;
  return [
    on,
    ...mounts.map(({ identity, isReadOnly, target }) => `${identity} ${isReadOnly ? 'ro' : 'rw'} ${target}`),
  ].join('\n');
}

/**
 * How the label of a container, empty for none, differs from what is wanted. `other`: protection was switched on or off
 * meanwhile. `lost`: something that it protects has been replaced on the host, which takes away the mount over it.
 * `more`: it lacks something, or has what is no longer there.
 */
export function protectionChange(
  made: string,
  wanted: readonly ProtectingMount[] | undefined,
): 'none' | 'more' | 'lost' | 'other' {
  const text = protectionText(wanted);
  if (made === text) return 'none';
  // An earlier version of ours has made it.
  if (made === '') return 'more';
  if (made === off || text === off) return 'other';
  return replacedOf(made, wanted ?? []).length > 0 ? 'lost' : 'more';
}

/** For a container in which commands run, and of which `protectionChange` says `other`. */
export function otherwiseProtected(name: string, isWanted: boolean): CaiError {
  const how = isWanted ? 'can write what this machine would execute' : 'cannot write what is protected';
  return new CaiError(
    'CONTAINER_START',
    `the container ${name} was made so that commands in it ${how}, and some still run: end them first, or use --fresh, which ends them and makes it anew`,
  );
}

/** For a container in which commands run, and of which `protectionChange` says `lost`. */
export function lostNotice(name: string, made: string, wanted: readonly ProtectingMount[]): string {
  const [first, ...others] = replacedOf(made, wanted);
  const what = others.length === 0 ? quoted(first) : `${quoted(first)} and ${others.length} more`;
  return `${what} was replaced on this machine while commands run in the container ${name}, which can write it from now on: --fresh ends them and protects it again`;
}

/** The paths inside that the container of that label protects and that something else has now. */
function replacedOf(made: string, wanted: readonly ProtectingMount[]): string[] {
  const before = new Map(
    made.split('\n').map((line) => {
      const [identity = '', , ...target] = line.split(' ');
      return [target.join(' '), identity];
    }),
  );
  return wanted
    .filter(({ target, identity }) => (before.get(target) ?? identity) !== identity)
    .map(({ target }) => target);
}

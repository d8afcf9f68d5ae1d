/**
 * The files that are put into a pod, which exists only once it runs. Those of root are in a Secret, and each is mounted from
 * there; those of the user are made by a container that runs first, as the user.
 */
import { posix } from 'node:path';
import type { InnerEntry } from '../engine';
import type { PodVolume, VolumeMount } from './pod';

/** Of a pod: what the Secret holds, and how it gets to its places. */
export interface PodFiles {
  /** Base64, by key. */
  readonly data: Readonly<Record<string, string>>;
  readonly volumes: readonly PodVolume[];
  /** Of the container that runs first. */
  readonly initMounts: readonly VolumeMount[];
  /** What it runs. */
  readonly initCommand: readonly string[];
  /** Of the main container. */
  readonly mounts: readonly VolumeMount[];
}

/** Where the first container finds the Secret, and makes the user's files. */
const secretFolder = '/cai-files';
const madeFolder = '/cai-made';
const secretVolume = 'cai-files';
const madeVolume = 'cai-made';

/** `home` is all the user's, and gets a volume of its own; `first`: lines that come before all others. */
export function podFiles(
  entries: readonly InnerEntry[],
  secretName: string,
  home: string,
  first: readonly string[] = [],
): PodFiles {
  const data: Record<string, string> = {};
  const mounts: VolumeMount[] = [];
  const script = ['set -e', ...first];
  for (const [index, { path, is, mode, uid }] of entries.entries()) {
    const inHome = path === home || path.startsWith(`${home}/`);
    if (uid === 0 && !inHome) {
      if (is === 'folder' || 'link' in is) continue;
      data[`f${index}`] = Buffer.from(is.file).toString('base64');
      mounts.push({ name: secretVolume, mountPath: path, subPath: `f${index}`, readOnly: true });
      continue;
    }
    const key = inHome ? posix.join('home', posix.relative(home, path)) : `e${index}`;
    const made = quoted(posix.join(madeFolder, key));
    if (is === 'folder') script.push(`mkdir -p ${made}`, `chmod ${mode.toString(8)} ${made}`);
    else if ('link' in is) script.push(`ln -sfn ${quoted(is.link)} ${made}`);
    else {
      data[`f${index}`] = Buffer.from(is.file).toString('base64');
      script.push(`cat ${secretFolder}/f${index} > ${made}`, `chmod ${mode.toString(8)} ${made}`);
    }
    if (!inHome) mounts.push({ name: madeVolume, mountPath: path, subPath: key });
  }
  if (script.some((line) => line.includes(`${madeFolder}/home`)))
    mounts.push({ name: madeVolume, mountPath: home, subPath: 'home' });
  return {
    data,
    volumes: [
      { name: secretVolume, secret: { secretName, defaultMode: 0o555 } },
      { name: madeVolume, emptyDir: {} },
    ],
    initMounts: [
      { name: secretVolume, mountPath: secretFolder, readOnly: true },
      { name: madeVolume, mountPath: madeFolder },
    ],
    initCommand: ['/bin/sh', '-c', script.join('\n')],
    mounts: byDepth(mounts),
  };
}

/** A mount comes after that in which it lies. */
export function byDepth<T extends { readonly mountPath: string }>(mounts: readonly T[]): T[] {
  return [...mounts].sort((one, other) => (one.mountPath < other.mountPath ? -1 : 1));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

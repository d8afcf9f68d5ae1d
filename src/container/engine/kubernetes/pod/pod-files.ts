/**
 * The files that are put into a pod, which exists only once it runs. Files of root are in a Secret, and each is mounted from
 * there; files of the user are made by a container that runs first, as the user. That also joins what is added to a file of
 * the image with that file: a Secret cannot be larger than 1 MiB, and the cluster keeps one for each pod.
 */
import { posix } from 'node:path';
import type { InnerEntry } from '../../engine';
import type { PodVolume, VolumeMount } from './pod';
import { isInside } from '../../../../system/paths/is-inside';
import { shellWord } from '../../../../system/quoted';

interface PodFiles {
  /** Content of the Secret: base64, by key. */
  readonly data: Readonly<Record<string, string>>;
  /** Besides the volumes that the pod is to have. */
  readonly volumes: readonly PodVolume[];
  /** In the container that runs first. */
  readonly initMounts: readonly VolumeMount[];
  readonly script: readonly string[];
  /** In the main container. */
  readonly mounts: readonly VolumeMount[];
}

/** Where the first container finds the Secret and the volumes, and makes the user's files. */
const place = { secret: '/cai-files', made: '/cai-made', volumes: '/cai-volumes' } as const;
const volume = { secret: 'cai-files', made: 'cai-made' } as const;
/** Part of the volume of made files that is the home folder. */
const homePart = 'home';

/**
 * `home` is all the user's, and gets its own volume. `kept` are the volumes that keep their files: what is to be there
 * is made there.
 */
export function podFiles(
  entries: readonly InnerEntry[],
  secretName: string,
  { home, kept }: { readonly home: string; readonly kept: readonly VolumeMount[] },
): PodFiles {
  const data: Record<string, string> = {};
  const mounts: VolumeMount[] = [];
  const script: string[] = [];
  const keyOf = (text: string): string => {
    const content = Buffer.from(text).toString('base64');
    const known = Object.keys(data).find((each) => data[each] === content);
    const key = known ?? `f${Object.keys(data).length}`;
    data[key] = content;
    return key;
  };
  for (const [index, entry] of entries.entries()) {
    const { path, is, uid } = entry;
    const isFile = is !== 'folder' && 'file' in is;
    const isJoined = isFile && is.added !== undefined;
    const key = isFile ? keyOf(is.added ?? is.file) : '';
    const inVolume = kept.find(({ mountPath }) => isInside(path, mountPath));
    const inHome = isInside(path, home);
    if (inVolume === undefined && !inHome && uid === 0 && !isJoined) {
      if (isFile) mounts.push({ name: volume.secret, mountPath: path, subPath: key, readOnly: true });
      continue;
    }
    const part = inHome ? posix.join(homePart, posix.relative(home, path)) : `e${index}`;
    // A volume needs a folder to be mounted on.
    const isRootOfVolume = path === inVolume?.mountPath;
    if (isRootOfVolume || inVolume === undefined)
      script.push(...making(posix.join(place.made, part), entry, key));
    // What the agent has put in its place stays, and keeps nothing from starting.
    if (inVolume !== undefined && !isRootOfVolume)
      script.push(...making(placeIn(inVolume, path), entry, key).map((line) => `{ ${line}; } || :`));
    if (inVolume === undefined && !inHome)
      mounts.push({
        name: volume.made,
        mountPath: path,
        subPath: part,
        ...(uid === 0 && { readOnly: true }),
      });
  }
  if (script.length > 0 && entries.some(({ path }) => isInside(path, home)))
    mounts.push({ name: volume.made, mountPath: home, subPath: homePart });
  return {
    data,
    volumes: [
      { name: volume.secret, secret: { secretName, defaultMode: 0o555 } },
      { name: volume.made, emptyDir: {} },
    ],
    initMounts: [
      { name: volume.secret, mountPath: place.secret, readOnly: true },
      { name: volume.made, mountPath: place.made },
      ...kept.map((mount) => ({ ...mount, mountPath: placeIn(mount, mount.mountPath) })),
    ],
    script,
    mounts,
  };
}

/** Where the first container finds what the main one has at `path` in that volume. */
function placeIn({ name, mountPath }: VolumeMount, path: string): string {
  return posix.join(place.volumes, name, posix.relative(mountPath, path));
}

/** Makes an entry there; one that a volume has already stays as it is, but for the content of a file. */
function making(to: string, { path, is, mode }: InnerEntry, key: string): string[] {
  const at = shellWord(to);
  const chmod = `chmod ${mode.toString(8)} ${at}`;
  if (is === 'folder') return [`[ -d ${at} ] || mkdir -p ${at}`, chmod];
  if ('link' in is) return [`ln -sfn ${shellWord(is.link)} ${at}`];
  const ofImage = is.added === undefined ? '' : `${shellWord(path)} `;
  return [`cat ${ofImage}${place.secret}/${key} > ${at}`, chmod];
}

/**
 * How a container that is there differs from the one that would be made now: by its labels, which hold what was wanted
 * and what was mounted when it was made. A container goes on with the folders that it was made with, however they are
 * renamed, moved or removed on the host.
 */
import { quoted } from '../../system/quoted';
import type { Labels } from '../engine/engine';
import { configHash, label } from './labels';
import type { Bind, Settings } from './spec';
import { objectIn } from '../../system/unless';

/**
 * `folder`: another folder than the one that is mounted has its name now; `settings`: the configuration or the image is
 * another one; `switched`: protection was switched on or off; `lost`: something protected was replaced on the host,
 * which takes away the mount over it; `more`: something has to be protected besides, or does not exist any more.
 */
export type Change = 'folder' | 'settings' | 'switched' | 'lost' | 'more';

/** All differences that the labels tell; of an image they tell nothing. */
export function changesOf(labels: Labels, settings: Settings): Set<Change> {
  const changes = new Set<Change>();
  if (replacedRoot(labels, settings.binds) !== undefined) changes.add('folder');
  if (labels[label.configHash] !== configHash(settings)) changes.add('settings');
  const protection = protectionChange(labels[label.protection] ?? '', settings.protection);
  if (protection !== undefined) changes.add(protection);
  return changes;
}

/** Value of the label `roots`: `device:inode` by the place inside, of what must stay the same, as JSON. */
export function rootsText(binds: readonly Bind[]): string {
  const roots = binds.filter(({ isRoot }) => isRoot);
  return JSON.stringify(Object.fromEntries(roots.map(({ target, identity }) => [target, identity])));
}

/**
 * Path on the host of the first folder that is another one now; `undefined`: none. Label and `binds` both are what the
 * host says, so that it does not matter on which machine the engine is.
 */
export function replacedRoot(labels: Labels, binds: readonly Bind[]): string | undefined {
  const made = objectIn(labels[label.roots]) ?? {};
  return binds.find(({ target, identity, isRoot }) => {
    const before = made[target];
    return isRoot && before !== undefined && before !== identity;
  })?.source;
}

type ProtectingMount = Pick<Bind, 'identity' | 'target' | 'isReadOnly'>;

/** Value of the label `protection`: `off` where nothing is to be protected, else `on` and a line for each mount. */
export function protectionText(mounts: readonly ProtectingMount[] | undefined): string {
  const lines = mounts?.map((each) => `${each.identity} ${each.isReadOnly ? 'ro' : 'rw'} ${each.target}`);
  return lines === undefined ? 'off' : ['on', ...lines].join('\n');
}

function protectionChange(made: string, wanted: Settings['protection']): Change | undefined {
  const text = protectionText(wanted);
  if (made === text) return undefined;
  if (made === 'off' || text === 'off') return 'switched';
  return replacedIn(made, wanted ?? []).length > 0 ? 'lost' : 'more';
}

/** What is not protected any more in a container: `"/w/.npmrc" and 2 more`. For the change `lost`. */
export function lostIn(labels: Labels, { protection = [] }: Pick<Settings, 'protection'>): string {
  const [first, ...others] = replacedIn(labels[label.protection] ?? '', protection);
  return others.length === 0 ? quoted(first) : `${quoted(first)} and ${others.length} more`;
}

/** Paths inside that the container protects, and that lead to something else on the host now. */
function replacedIn(made: string, wanted: readonly ProtectingMount[]): string[] {
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

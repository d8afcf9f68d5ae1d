/**
 * Whether a container has the folders that have their names on the host now. It goes on with those that it was made
 * with, however they are renamed, moved or removed.
 */
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import type { Bind } from './bind';

/** What a container is made with, for its label: `device:inode` by the place inside, of what is a root, as JSON. */
export function rootsText(binds: readonly Bind[]): string {
  const roots = binds.filter(({ isRoot }) => isRoot);
  return JSON.stringify(Object.fromEntries(roots.map(({ target, identity }) => [target, identity])));
}

/**
 * The first folder that is another one now than `text`, the label of a container, says; `undefined`: none. Both sides
 * are what the host says, so that it does not matter on which machine the engine is.
 */
export function replacedRoot(text: string | undefined, binds: readonly Bind[]): string | undefined {
  const made = rootsIn(text);
  return binds.find(({ target, identity, isRoot }) => {
    const before = made[target];
    return isRoot && before !== undefined && before !== identity;
  })?.source;
}

/** For a command that would run in a folder that is none any more, beside others that still do. */
export function rootReplaced(name: string, source: string, workspace = source): CaiError {
  return new CaiError(
    'REPLACED',
    `${quoted(source)} was moved or replaced since the container ${name} was made, and ${replacedRemedy(workspace)}`,
  );
}

/** What is in the way then, and what to do. */
export function replacedRemedy(workspace: string): string {
  return `commands still run in the old folder: end them with: cai stop --force --workspace ${quoted(workspace)}; the next command then gets the new folder`;
}

function rootsIn(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Made by an older version, which has other settings: it is replaced for that.
    return {};
  }
}

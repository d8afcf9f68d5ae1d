/** The user's configuration is changed as by hand: comments, order and format of the rest stay. */
import { existsSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { patch } from '@decimalturn/toml-patch';
import { parse } from 'smol-toml';
import type { Host } from '../../system/host';
import { replaceFile } from '../../system/files/replace-file';
import { CaiError, messageOf } from '../../errors';
import { configFileOf, configKeys, loadConfig, readIfThere } from '../../config/config';
import { readSettings } from '../../config/config-reader';
import { placesIn } from '../../config/toml-places';

/**
 * Adds to a list in the user's file what it does not have yet, and makes the file if there is none. Returns what
 * was added. Throws `CaiError('CONFIG')` for a file that is wrong, before or afterwards, or cannot be written; then
 * nothing has changed.
 */
export function addToConfig(
  host: Host,
  [table, key]: readonly [table: string, key: string],
  words: readonly string[],
): readonly string[] {
  const file = configFileOf(host);
  // Says what is wrong with it, if anything.
  loadConfig(host);
  const before = readIfThere(file);
  const settings = parse(before) as Record<string, Record<string, string[]>>;
  const held = settings[table]?.[key] ?? [];
  const added = [...new Set(words)].filter((word) => !held.includes(word));
  if (added.length === 0) return added;
  const after = patch(before, { ...settings, [table]: { ...settings[table], [key]: [...held, ...added] } });
  const base = { folder: posix.dirname(file), home: host.home };
  readSettings({ file, text: after, base, placeOf: placesIn(after) }, configKeys);
  try {
    // Where it is a link, as those make it who keep their settings elsewhere, it stays one.
    replaceFile(existsSync(file) ? realpathSync(file) : file, after);
  } catch (reason) {
    throw new CaiError('CONFIG', `${file} cannot be written: ${messageOf(reason)}`, undefined, {
      cause: reason,
    });
  }
  return added;
}

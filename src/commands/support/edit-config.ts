/** The user's configuration is changed as by hand: comments, order and format of the rest stay. */
import { existsSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { patch } from '@decimalturn/toml-patch';
import { parse } from 'smol-toml';
import type { Host } from '../../system/host';
import { replaceFile } from '../../system/files/replace-file';
import { CaiError, messageOf } from '../../errors';
import { configFileOf, configKeys, loadConfig } from '../../config/config';
import { readIfThere, readSettings } from '../../config/config-reader';
import { placesIn } from '../../config/toml-places';

type Settings = Readonly<Record<string, unknown>>;

/**
 * Adds to a list in the user's file what it does not have yet. Returns what was added. Throws as `changeConfig`.
 */
export function addToConfig(
  host: Host,
  [table, key]: readonly [table: string, key: string],
  words: readonly string[],
): readonly string[] {
  let added: readonly string[] = [];
  changeConfig(host, (settings) => {
    const lists = settings[table] as Readonly<Record<string, string[]>> | undefined;
    const held = lists?.[key] ?? [];
    added = [...new Set(words)].filter((word) => !held.includes(word));
    return added.length === 0 ? settings : { ...settings, [table]: { ...lists, [key]: [...held, ...added] } };
  });
  return added;
}

/**
 * Changes the user's file, and makes it if it does not exist. Returns false, and writes nothing, if `change` returns what it was
 * given. Throws `CaiError('CONFIG')` for a file that is wrong, before or afterwards, or cannot be written; then nothing has
 * changed.
 */
export function changeConfig(host: Host, change: (settings: Settings) => Settings): boolean {
  // Says what is wrong with it, if anything.
  loadConfig(host);
  const before = readIfThere(configFileOf(host));
  const settings = parse(before);
  const changed = change(settings);
  if (changed === settings) return false;
  replaceConfig(host, patch(before, changed));
  return true;
}

/** Replaces the user's file by a text. Throws as `changeConfig`. */
export function replaceConfig(host: Host, text: string): void {
  const file = configFileOf(host);
  const base = { folder: posix.dirname(file), home: host.home };
  readSettings({ file, text, base, placeOf: placesIn(text) }, configKeys);
  try {
    // Where it is a link, as those make it who keep their settings elsewhere, it stays one.
    replaceFile(existsSync(file) ? realpathSync(file) : file, text);
  } catch (reason) {
    throw new CaiError('CONFIG', `${file} cannot be written: ${messageOf(reason)}`, undefined, {
      cause: reason,
    });
  }
}

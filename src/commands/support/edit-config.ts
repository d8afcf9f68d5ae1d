/** The user's configuration is changed as by hand: comments, order and format of the rest stay. */
import { existsSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { patch } from '@decimalturn/toml-patch';
import { parse } from 'smol-toml';
import { resolveAgent } from '../../agent/catalog';
import type { Host } from '../../system/host';
import { replaceFile } from '../../system/files/replace-file';
import { checkWrittenPath } from '../../config/chosen-path';
import { configFileOf, configKeys, configOf, loadConfig } from '../../config/config';
import { readIfThere, readSettings, type Setting } from '../../config/config-reader';
import { ownValue } from '../../config/own-property';
import { placesIn, type Path } from '../../config/toml-places';
import { isObject, unlessFails, writing } from '../../system/unless';

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
 * Changes the user's file, and makes it if it does not exist; of several changes, the first that can be. Returns false, and
 * writes nothing, if that one returns what it was given. Throws `CaiError('CONFIG')` for a file that is wrong, before or
 * afterwards, or cannot be written; then nothing has changed.
 */
export function changeConfig(
  host: Host,
  ...changes: readonly [(settings: Settings) => Settings, ...((settings: Settings) => Settings)[]]
): boolean {
  // Says what is wrong with it, if anything.
  loadConfig(host);
  // Again where another process was faster.
  for (;;) {
    const before = readIfThere(configFileOf(host));
    const settings = parse(before);
    const texts = changes.map((change) => patched(before, settings, change(settings)));
    const text = texts.find((each) => unlessFails(() => check(host, each)) !== undefined) ?? texts.at(-1)!;
    if (text === before) return false;
    if (replaceConfig(host, text, before)) return true;
  }
}

/**
 * Replaces the user's file by a text; false: it is no longer as it was `before`, and stays. Throws as `changeConfig`, and
 * `CaiError('UNSUPPORTED_AGENT')` for another default agent that nobody knows.
 */
export function replaceConfig(host: Host, text: string, before: string): boolean {
  const file = configFileOf(host);
  const { agent, agents } = configOf(check(host, text));
  const isOther = unlessFails(() => configOf(check(host, before)).agent.default) !== agent.default;
  if (isOther) resolveAgent(agent.default, [], { agents, host });
  checkWrittenPath(host, file, 'change it by hand');
  if (readIfThere(file) !== before) return false;
  // Where it is a link, as those make it who keep their settings elsewhere, it stays one.
  writing(file, () => replaceFile(existsSync(file) ? realpathSync(file) : file, text));
  return true;
}

/** Throws what is wrong with a text for the user's file. */
function check(host: Host, text: string): readonly Setting[] {
  const file = configFileOf(host);
  const base = { folder: posix.dirname(file), home: host.home };
  return readSettings({ file, text, base, placeOf: placesIn(text) }, configKeys);
}

/** As `patch`, which takes with a table that goes all comments up to the next one: these stay. */
function patched(before: string, settings: Settings, changed: Settings): string {
  if (changed === settings) return before;
  const gone = goneTables(settings, changed, []).filter((path) => headerOf(before, path) !== undefined);
  let text = patch(before, gone.reduce(withEmpty, changed));
  for (const path of gone) {
    const at = headerOf(text, path);
    if (at === undefined) continue;
    const lines = text.split('\n');
    const comment = lines[at]!.replace(header, '');
    const isBlank = (each: number): boolean => lines[each]?.trim() === '';
    if (comment !== '') lines[at] = comment;
    else if (isBlank(at - 1) && isBlank(at + 1)) lines.splice(at - 1, 2);
    else lines.splice(at, 1);
    text = lines.join('\n');
  }
  return text;
}

const header = /^\s*\[(?:"[^"]*"|'[^']*'|[^\]"'[])*\]\s*/;

/** The line, from 0, of the header of a table; `undefined`: it has none. */
function headerOf(text: string, path: Path): number | undefined {
  const { line } = placesIn(text)(path);
  return header.test(text.split('\n')[line - 1]!) ? line - 1 : undefined;
}

/** The paths of all tables in `settings` that `changed` lacks, outer ones first. */
function goneTables(settings: Settings, changed: Settings | undefined, path: readonly string[]): string[][] {
  return Object.entries(settings).flatMap(([name, inner]) => {
    if (!isObject(inner) || inner instanceof Date) return [];
    const after = ownValue(changed ?? {}, name) as Settings | undefined;
    const own = after === undefined ? [[...path, name]] : [];
    return [...own, ...goneTables(inner, after, [...path, name])];
  });
}

function withEmpty(table: Settings, [name = '', ...rest]: readonly string[]): Settings {
  const inner = (ownValue(table, name) ?? {}) as Settings;
  return { ...table, [name]: rest.length === 0 ? inner : withEmpty(inner, rest) };
}

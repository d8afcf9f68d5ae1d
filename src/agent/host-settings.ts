/** Reads what the user's configuration gives an agent of the user's own settings: `agents.NAME.settings`. */
import { lstatSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import type * as jsonc from 'jsonc-parser';
import { parse as parseToml, stringify } from 'smol-toml';
import { ownValue } from '../config/own-property';
import { CaiError, messageOf, errorCodeOf } from '../errors';
import type { AgentFolders } from '../system/paths/agent-folders';
import { readRegularFile } from '../system/paths/read-regular-file';
import type { Host } from '../system/host';
import { quoted } from '../system/quoted';
import { realOrSame } from '../system/real-path';
import { catalog, type SettingsFile } from './catalog';
import { secretIn } from './secret-files';
import { mcpKeys, settingsCatalog, type AgentSetting, type AgentSettings } from './settings-catalog';
import { isInside } from '../system/paths/is-inside';
import { isObject } from '../system/unless';

/** A file for a container. */
export interface ShownFile {
  /** Below the home folder. */
  readonly path: string;
  readonly text: string;
  readonly isProgram: boolean;
}

interface HostSettings {
  /** Files, sorted. */
  readonly shown: readonly ShownFile[];
  /** Where the agent looks for those, below the home folder: each a file or folder. */
  readonly links: readonly string[];
  /** Settings for the whole container: the catalog's settings, with the user's. */
  readonly system: SettingsFile | undefined;
  /** Sentences for the user about files that are left out. */
  readonly notices: readonly string[];
}

/** A container carries the files with it, and on a cluster they are part of an object of at most 1 MiB. */
const maxBytes = 512 * 1024;
const maxFiles = 500;

/**
 * The settings of these names. Fails with `CaiError('CONFIG')` for a name that the agent has not, for what is not there,
 * where an agent could have put it there, for what holds a key, and for too much. In a folder, what holds a key, is no
 * text or leads out of the folder is left out instead.
 */
export function hostSettings(
  names: readonly string[],
  agent: string,
  host: Host,
  folders: Pick<AgentFolders, 'onWayTo'>,
): HostSettings {
  const known = ownValue(settingsCatalog, agent);
  const all = known?.settings ?? {};
  const reader = new SettingsReader(agent, host, folders);
  const byFile = new Map<string, string[]>();
  for (const name of names) {
    const setting = ownValue(all, name);
    if (known === undefined || setting === undefined) throw unknownName(agent, name, Object.keys(all));
    if (setting.keys === undefined) reader.take(known, setting.path);
    else byFile.set(setting.path, [...(byFile.get(setting.path) ?? []), ...setting.keys]);
  }
  let system = ownValue(catalog, agent)?.settings;
  for (const [path, keys] of byFile) {
    const { form } = Object.values(all).find((each) => each.path === path)!;
    const values = reader.valuesOf(known!, path, form, keys);
    const { systemFile } = known!;
    if (systemFile === undefined) reader.show(posix.join(known!.folder, path), jsonText(values));
    else system = { path: systemFile, text: joined(system?.text, values, form) };
  }
  return { shown: reader.shown, links: reader.links, system, notices: reader.notices };
}

class SettingsReader {
  readonly shown: ShownFile[] = [];
  readonly links: string[] = [];
  readonly notices: string[] = [];
  #bytes = 0;

  constructor(
    private readonly agent: string,
    private readonly host: Host,
    private readonly folders: Pick<AgentFolders, 'onWayTo'>,
  ) {}

  take(known: AgentSettings, path: string): void {
    const place = this.#placeOf(known, path);
    // The user may have put a link here, and is taken at that word; what is in a folder may come from elsewhere.
    const real = realOrSame(place);
    const inside = posix.join(known.folder, path);
    const left: string[] = [];
    if (this.#isFolder(place, real)) this.#takeFolder(real, real, inside, left);
    else this.#add({ path: inside, text: this.#textOf(place, real), isProgram: isProgram(real) });
    const [first, ...more] = left;
    if (first !== undefined)
      this.notices.push(
        `of ${place} some is not given to ${this.agent}: ${first}${more.length === 0 ? '' : `, and ${more.length} more`}`,
      );
    this.links.push(inside);
  }

  show(path: string, text: string): void {
    this.#add({ path, text, isProgram: false });
    this.links.push(path);
  }

  /** The values of these keys in a file of settings. */
  valuesOf(
    known: AgentSettings,
    path: string,
    form: AgentSetting['form'],
    keys: readonly string[],
  ): Record<string, unknown> {
    const place = this.#placeOf(known, path);
    const text = readRegularFile(realOrSame(place), maxBytes)?.toString();
    if (text === undefined) throw this.#cannot(`${place} is not there`);
    const all = this.#parsed(place, text, form);
    const found = Object.entries(all).filter(([key]) => keys.includes(key));
    const values = Object.fromEntries(found.map(([key, value]) => [key, withoutSecrets(key, value)]));
    const secret = secretIn('', JSON.stringify(values));
    if (secret !== undefined) throw this.#cannot(`${place} is not given away, because ${secret}`);
    return values;
  }

  #takeFolder(root: string, folder: string, inside: string, left: string[]): void {
    for (const name of readdirSync(folder).sort()) {
      const place = posix.join(folder, name);
      const real = realOrSame(place);
      const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
      const there = lstatSync(real, { throwIfNoEntry: false });
      const isFolder = there?.isDirectory() === true;
      const target = posix.join(inside, name);
      if (isLink && (isFolder || !isInside(real, root)))
        left.push(`${place} is a link that leads out of the folder, or to another one`);
      else if (isFolder && name !== '.git' && name !== 'node_modules')
        this.#takeFolder(root, place, target, left);
      else if (there === undefined || (!isFolder && !there.isFile()))
        left.push(`${place}, because it is no file`);
      else if (!isFolder) {
        const text = textIn(readRegularFile(real, maxBytes, root));
        const why = text === undefined ? 'it is no text' : secretIn(name, text);
        if (why !== undefined) left.push(`${place}, because ${why}`);
        else this.#add({ path: target, text: text!, isProgram: isProgram(real) });
      }
    }
  }

  #add(file: ShownFile): void {
    this.#bytes += Buffer.byteLength(file.text);
    this.shown.push(file);
    if (this.#bytes > maxBytes || this.shown.length > maxFiles)
      throw this.#cannot(
        `they are more than ${maxFiles} files or ${maxBytes / 1024} KiB: name fewer of them`,
      );
  }

  #placeOf(known: AgentSettings, path: string): string {
    const named = known.variable === undefined ? undefined : this.host.env[known.variable];
    const base = named?.startsWith('/') === true ? named : posix.join(this.host.home, known.folder);
    const place = posix.join(base, path);
    const folder = this.folders.onWayTo(place);
    if (folder !== undefined)
      throw this.#cannot(
        `the way to ${place} leads through ${quoted(folder)}, where an agent could put something else in its place: move it elsewhere`,
      );
    return place;
  }

  #isFolder(place: string, real: string): boolean {
    const there = lstatSync(real, { throwIfNoEntry: false });
    if (there === undefined) throw this.#cannot(`${place} is not there`);
    return there.isDirectory();
  }

  #textOf(place: string, real: string): string {
    const text = textIn(readRegularFile(real, maxBytes));
    const why = text === undefined ? 'it is no text' : secretIn(posix.basename(real), text);
    if (why !== undefined) throw this.#cannot(`${place} is not given away, because ${why}`);
    return text!;
  }

  #parsed(place: string, text: string, form: AgentSetting['form']): Readonly<Record<string, unknown>> {
    try {
      const value: unknown = form === 'toml' ? parseToml(text) : parseJson(text);
      if (!isObject(value)) throw new Error('no object');
      return value;
    } catch (reason) {
      // What follows the first line quotes the file.
      const [why] = messageOf(reason).split('\n');
      throw this.#cannot(`${place} cannot be read: ${why!}`);
    }
  }

  #cannot(why: string): CaiError {
    return new CaiError('CONFIG', `the settings of agents.${this.agent} cannot be taken: ${why}`);
  }
}

function unknownName(agent: string, name: string, names: readonly string[]): CaiError {
  const known = names.length === 0 ? 'there are none for it' : `known are ${names.join(', ')}`;
  return new CaiError(
    'CONFIG',
    `agents.${agent}.settings names ${quoted(name)}, which is no setting of that agent: ${known}`,
  );
}

/** `undefined`: bytes that are no text. */
function textIn(bytes: Buffer | undefined): string | undefined {
  const text = (bytes ?? Buffer.alloc(0)).toString();
  return text.includes('\0') || text.includes('\ufffd') ? undefined : text;
}

function isProgram(file: string): boolean {
  try {
    return (lstatSync(file).mode & 0o100) !== 0;
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return false;
    throw reason;
  }
}

/** The settings of MCP servers, without what may hold secrets. */
function withoutSecrets(key: string, value: unknown): unknown {
  const isList = (mcpKeys.lists as readonly string[]).includes(key);
  if (!isList || typeof value !== 'object' || value === null) return value;
  const secrets: readonly string[] = mcpKeys.secrets;
  const without = (server: unknown) =>
    isObject(server)
      ? Object.fromEntries(Object.entries(server).filter(([name]) => !secrets.includes(name)))
      : server;
  return Object.fromEntries(Object.entries(value).map(([name, server]) => [name, without(server)]));
}

/** Comments are no fault. */
function parseJson(text: string): unknown {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded when it is wanted
  const { parse, printParseErrorCode } = require('jsonc-parser') as typeof jsonc;
  const errors: jsonc.ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  if (errors[0] !== undefined) throw new Error(printParseErrorCode(errors[0].error));
  return value;
}

/** The settings of the catalog, with the user's over them. */
function joined(
  text: string | undefined,
  values: Record<string, unknown>,
  form: AgentSetting['form'],
): string {
  if (form === 'toml') return stringify({ ...parseToml(text ?? ''), ...values });
  return jsonText({ ...(text === undefined ? {} : (JSON.parse(text) as object)), ...values });
}

function jsonText(values: object): string {
  return `${JSON.stringify(values, undefined, 2)}\n`;
}

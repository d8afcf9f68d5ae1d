/** Turns TOML text into settings, as a table of keys says, and those into an object; explains what does not fit. */
import { readFileSync } from 'node:fs';
import { parse, TomlError } from 'smol-toml';
import { CaiError } from '../errors';
import { utf8Of } from '../system/files/utf8';
import type { Base, Kind } from './config-kinds';
import { nearest } from './nearest';
import { quoted } from '../system/quoted';
import { reading, unlessGone } from '../system/unless';
import type { RepositoryRule } from './repository-rules';
import type { placesIn, Path } from './toml-places';

/** One key that a file may have. */
export interface Key {
  /** `['agents', '*', 'command']`, where the user chooses the name; `['mounts', '[]', 'path']` for a list. */
  readonly path: readonly string[];
  /** Name of the field that it sets, in the object that its table becomes. */
  readonly field: string;
  readonly kind: Kind<unknown>;
  /** What holds without it, as it would stand in the file; `undefined`: the field is left out. */
  readonly standard: string | boolean | number | readonly string[] | undefined;
  /** Whether a table that can have it must have it; `name` is the last part of the table's own. */
  readonly isRequired: (name: string) => boolean;
  /** What the file of a repository may do with it. */
  readonly repository: RepositoryRule<unknown>;
}

/** What a table of TOML becomes; without a prototype, because users choose some of the names. */
type Table = Record<string, unknown>;

export interface Source {
  readonly file: string;
  readonly text: string;
  readonly base: Base;
  /** Where a key stands, once it is known that the text can be parsed. */
  readonly placeOf: ReturnType<typeof placesIn>;
}

/** A key and its value, as a file has it. */
export interface Setting {
  /** The row of the table of keys. */
  readonly key: Key;
  /** The key's path in the file, with names and positions. */
  readonly path: Path;
  /** The value as it stands in the file; it was accepted, so it is a string, number, boolean or list. */
  readonly written: unknown;
  /** The value as the program uses it. */
  readonly value: unknown;
  /** What sets it: `FILE:LINE`, or a variable with its value; two where lists were joined. */
  readonly from: () => readonly string[];
}

/**
 * The settings of a text, in its order. Fails with `CaiError('CONFIG')` that names file, line, column and key. Values are
 * not quoted, because they may be secrets.
 */
export function readSettings(source: Source, keys: readonly Key[]): Setting[] {
  return settingsOf(parseToml(source), source, keys);
}

/** The settings of a text that was parsed, in its order. Fails as `readSettings`. */
export function settingsOf(table: Readonly<Table>, source: Source, keys: readonly Key[]): Setting[] {
  const reader = new SettingsReader(source, keys);
  reader.visit(table, []);
  return reader.settings;
}

/** The text of a file; empty if the file does not exist. Throws `CaiError('CONFIG')`. */
export function readIfThere(file: string): string {
  return reading(file, () => unlessGone(() => utf8Of(readFileSync(file))) ?? '');
}

/** The object that settings make, completed with what holds without them. A later setting of a key wins. */
export function assemble(settings: readonly Setting[], keys: readonly Key[]): Table {
  const result = newTable();
  for (const { path, field, kind, standard } of keys) {
    if (standard === undefined || path.some(isPlaceholder)) continue;
    tableAt(result, path.slice(0, -1))[field] = kind.read(standard);
  }
  for (const { key, path, value } of settings) {
    const table = tableAt(result, path.slice(0, -1));
    for (const { path: sibling, field, kind, standard } of keys) {
      if (standard !== undefined && !(field in table) && isPath(path.slice(0, -1), sibling.slice(0, -1)))
        table[field] = kind.read(standard);
    }
    table[key.field] = value;
  }
  return result;
}

/** A path as people write it: `acp.idle`, `agents.NAME.command`, `mounts[0].path`. */
export function nameOf(path: Path): string {
  return path
    .map((name) =>
      typeof name === 'number' ? `[${name}]` : name === '[]' ? name : `.${name === '*' ? 'NAME' : name}`,
    )
    .join('')
    .replace(/^\./, '');
}

class SettingsReader {
  readonly settings: Setting[] = [];

  constructor(
    private readonly source: Source,
    private readonly keys: readonly Key[],
  ) {}

  visit(table: Table, path: Path): void {
    for (const [name, value] of Object.entries(table)) this.#take([...path, name], value);
    for (const { path: wanted, isRequired, kind } of this.keys) {
      const name = wanted.at(-1)!;
      const isMissing = isPath(path, wanted.slice(0, -1)) && !Object.hasOwn(table, name);
      if (isMissing && isRequired(String(path.at(-1))))
        this.#fail(path, `lacks "${name}", which must be ${kind.expected}`);
    }
  }

  #take(path: Path, written: unknown): void {
    const key = this.keys.find((candidate) => isPath(path, candidate.path));
    if (key !== undefined) {
      const value = key.kind.read(written, this.source.base);
      if (value === undefined) this.#refuse(key, path, written);
      const from = (): string[] => [`${this.source.file}:${this.source.placeOf(path).line}`];
      this.settings.push({ key, path, written, value, from });
    } else if (!this.#leadsOn(path)) {
      this.#fail(path, `is not a known key${suggestion(path, this.keys)}`);
    } else if (this.#leadsOn([...path, 0])) {
      if (!Array.isArray(written) || !written.every(isTable))
        this.#fail(path, `must be a list of tables: write [[${nameOf(path)}]]`);
      written.forEach((table, index) => this.visit(table, [...path, index]));
    } else if (isTable(written)) {
      this.visit(written, path);
    } else {
      this.#fail(path, 'must be a table');
    }
  }

  #leadsOn(path: Path): boolean {
    return this.keys.some((key) => isPath(path, key.path.slice(0, path.length)));
  }

  /** A name is no secret; any other word could be one. */
  #refuse({ kind }: Key, path: Path, written: unknown): never {
    const why = `must be ${kind.expected}`;
    const index = kind.misfit?.(written);
    if (index === undefined) this.#fail(path, why);
    const element = (written as readonly unknown[])[index];
    const isName = typeof element === 'string' && /^[A-Za-z_]\w*$/.test(element);
    const shown = isName ? quoted(element) : `number ${index + 1}`;
    this.#fail(path, `${why}: ${shown} does not fit`, [...path, index]);
  }

  #fail(path: Path, why: string, at: Path = path): never {
    const { line, column } = this.source.placeOf(at);
    throw new CaiError('CONFIG', `${this.source.file}:${line}:${column}: ${quoted(nameOf(path))} ${why}`);
  }
}

function parseToml({ text, file }: Source): Table {
  try {
    return parse(text);
  } catch (reason) {
    if (!(reason instanceof TomlError)) throw reason;
    // What follows the first line quotes the file.
    const [what] = reason.message.split('\n');
    throw new CaiError('CONFIG', `${file}:${reason.line}:${reason.column}: ${what!}`);
  }
}

/** Whether a path in a file is what `pattern` stands for. */
function isPath(path: Path, pattern: readonly string[]): boolean {
  if (path.length !== pattern.length) return false;
  return path.every((name, index) => {
    if (typeof name === 'number') return pattern[index] === '[]';
    return pattern[index] === '*' || (pattern[index] === name && !isPlaceholder(name));
  });
}

function isPlaceholder(name: string): boolean {
  return name === '*' || name === '[]';
}

/** The likely meaning of a slip in the same table, else a key of that name in another one, else any that is alike. */
function suggestion(path: Path, keys: readonly Key[]): string {
  const table = path.slice(0, -1);
  const siblings = keys.filter((key) => isPath(table, key.path.slice(0, -1)));
  const sibling = nearest(
    String(path.at(-1)),
    siblings.map((key) => key.path.at(-1)!),
  );
  if (sibling !== undefined) return `: did you mean ${quoted(nameOf([...table, sibling]))}?`;
  const elsewhere = keys.find((key) => key.path.at(-1) === path.at(-1));
  const sections = keys.flatMap((key) =>
    key.path.length < path.length ? [] : [key.path.slice(0, path.length)],
  );
  // A name that the user chose is no slip.
  const alike = sections.map((section) =>
    nameOf(section.map((name, index) => (isPlaceholder(name) ? path[index]! : name))),
  );
  const meant = elsewhere === undefined ? nearest(nameOf(path), alike) : nameOf(elsewhere.path);
  return meant === undefined ? '' : `: did you mean ${quoted(meant)}?`;
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function newTable(): Table {
  return Object.create(null) as Table;
}

/** The table at `path`, made if it is not there, as are the lists on the way. */
function tableAt(root: Table, path: Path): Table {
  return path.reduce<Table>(
    (table, name, index) => (table[name] ??= typeof path[index + 1] === 'number' ? [] : newTable()) as Table,
    root,
  );
}

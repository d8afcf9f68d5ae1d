/** Turns TOML text into an object, as a table of keys says, and explains what does not fit. */
import { parse, TomlError } from 'smol-toml';
import { CaiError } from '../errors';
import type { Kind } from './config-kinds';
import { nearest } from './nearest';

/** One key that a file may have. */
export interface Key {
  /** From the top of the file; `*` stands for a name that the user chooses: `['agents', '*', 'command']`. */
  readonly path: readonly string[];
  /** Name of the field that it sets, in the object that its table becomes. */
  readonly field: string;
  /** How its value is read. */
  readonly kind: Kind<unknown>;
  /** What holds without it, as it would stand in the file; `undefined`: the field is left out. */
  readonly standard: string | boolean | undefined;
  /** Whether each table that can have it must have it. */
  readonly isRequired: boolean;
}

/** What a table of TOML becomes; without a prototype, because users choose some of the names. */
export type Table = Record<string, unknown>;

type Path = readonly string[];

/**
 * What the file says, completed with what holds without it: nested tables, with the fields of `keys`.
 * Fails with `CaiError('CONFIG')` that names `file`, line and key: not TOML, a key that is unknown, of the
 * wrong kind, or missing. Values are not quoted, because they may be secrets.
 */
export function readConfig(source: string, file: string, keys: readonly Key[]): Table {
  return new ConfigReader(source, file, keys).read();
}

class ConfigReader {
  readonly #result = newTable();

  constructor(
    private readonly source: string,
    private readonly file: string,
    private readonly keys: readonly Key[],
  ) {}

  read(): Table {
    for (const { path, field, kind, standard } of this.keys) {
      if (standard !== undefined) tableAt(this.#result, path.slice(0, -1))[field] = kind.read(standard);
    }
    this.#visit(parseToml(this.source, this.file), []);
    return this.#result;
  }

  #visit(table: Table, path: Path): void {
    for (const [name, value] of Object.entries(table)) this.#take([...path, name], value);
    const missing = this.keys.find(
      (key) => key.isRequired && leadsTo(key, path, 1) && !Object.hasOwn(table, key.path.at(-1)!),
    );
    if (missing !== undefined) {
      this.#fail(
        path,
        `lacks ${JSON.stringify(missing.path.at(-1))}, which must be ${missing.kind.expected}`,
      );
    }
  }

  #take(path: Path, value: unknown): void {
    const key = this.keys.find((candidate) => leadsTo(candidate, path, 0));
    if (key !== undefined) {
      const field = key.kind.read(value);
      if (field === undefined) this.#fail(path, `must be ${key.kind.expected}`);
      tableAt(this.#result, path.slice(0, -1))[key.field] = field;
    } else if (!this.keys.some((candidate) => leadsTo(candidate, path))) {
      this.#fail(path, `is not a known key${suggestion(path, this.keys)}`);
    } else if (isTable(value)) {
      this.#visit(value, path);
    } else {
      this.#fail(path, 'must be a table');
    }
  }

  #fail(path: Path, why: string): never {
    const place = `${this.file}:${lineOf(path, this.source)}`;
    throw new CaiError('CONFIG', `${place}: ${JSON.stringify(path.join('.'))} ${why}`);
  }
}

function parseToml(source: string, file: string): Table {
  try {
    return parse(source);
  } catch (reason) {
    if (!(reason instanceof TomlError)) throw reason;
    // What follows the first line quotes the file.
    const [what] = reason.message.split('\n');
    throw new CaiError('CONFIG', `${file}:${reason.line}:${reason.column}: ${what!}`);
  }
}

/** Whether `path` begins the key's path, with `more` segments to follow (default: any number). */
function leadsTo(key: Key, path: Path, more = key.path.length - path.length): boolean {
  if (more < 0 || key.path.length !== path.length + more) return false;
  return path.every((name, index) => key.path[index] === name || key.path[index] === '*');
}

/** A key of that name in another table, else the likely meaning of a slip. */
function suggestion(path: Path, keys: readonly Key[]): string {
  const elsewhere = keys.find((key) => key.path.at(-1) === path.at(-1));
  const sections = keys
    .filter((key) => key.path.length >= path.length)
    .map((key) => key.path.slice(0, path.length));
  // A name that the user chose is no slip.
  const alike = sections.map((section) =>
    section.map((name, index) => (name === '*' ? path[index]! : name)).join('.'),
  );
  const meant = elsewhere?.path.join('.').replace('*', 'NAME') ?? nearest(path.join('.'), alike);
  return meant === undefined ? '' : `: did you mean ${JSON.stringify(meant)}?`;
}

/**
 * Number of the line on which the statement begins that first mentions `path`. TOML has many ways to write
 * a key; the parser knows them all, so it is asked about ever longer beginnings of the file.
 */
function lineOf(path: Path, source: string): number {
  const lines = source.split('\n');
  let start = 1;
  for (let end = 1; end <= lines.length; end++) {
    const beginning = parseBeginning(`${lines.slice(0, end).join('\n')}\n`);
    if (beginning === undefined) continue;
    if (has(beginning, path)) break;
    start = end + 1;
  }
  return start;
}

/** `undefined`: it ends within a statement. */
function parseBeginning(source: string): Table | undefined {
  try {
    return parse(source);
  } catch {
    // The whole file is valid, so this can only be an end in the wrong place.
    return undefined;
  }
}

function has(table: Table, path: Path): boolean {
  let value: unknown = table;
  return path.every((name) => {
    if (!isTable(value) || !Object.hasOwn(value, name)) return false;
    value = value[name];
    return true;
  });
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function newTable(): Table {
  return Object.create(null) as Table;
}

/** The table at `path`, made if it is not there. */
function tableAt(root: Table, path: Path): Table {
  return path.reduce((table, name) => (table[name] ??= newTable()) as Table, root);
}

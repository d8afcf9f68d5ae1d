/** JSON with comments, as people write it. */
import type * as jsonc from 'jsonc-parser';
import { CaiError } from '../../errors';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** An object; only own properties count. */
export interface JsonObject {
  readonly [name: string]: Json;
}

/** How many lists and objects can lie in each other: those who read them go down level by level. */
export const maxLevels = 100;

/** The object that a text with comments and trailing commas holds. Fails with `CaiError('CONFIG')` that names `file`. */
export function parseJson(text: string, file: string): JsonObject {
  refuseDeep(text, file);
  const { parse, printParseErrorCode } = library();
  const errors: jsonc.ParseError[] = [];
  const value = parse(text, errors, { allowTrailingComma: true }) as Json | undefined;
  const [error] = errors;
  if (error !== undefined) {
    const { line, column } = placeAt(text, error.offset);
    throw new CaiError('CONFIG', `${file}:${line}:${column}: ${printParseErrorCode(error.error)}`);
  }
  if (isObject(value)) return value;
  throw new CaiError('CONFIG', `${file} must hold an object: { ... }`);
}

/** Fails with `CaiError('CONFIG')` for a text with more levels than `maxLevels`. The parser goes down in the same way. */
export function refuseDeep(text: string, file: string): void {
  const scanner = library().createScanner(text, true);
  const open: string[] = [];
  while (scanner.getPosition() < text.length) {
    scanner.scan();
    const token = text[scanner.getTokenOffset()];
    if (token === '[' || token === '{') open.push(token === '[' ? ']' : '}');
    // The parser passes over an end that does not fit.
    else if (token === open.at(-1)) open.pop();
    if (open.length > maxLevels) throw tooDeep(file, placeAt(text, scanner.getTokenOffset()).line);
  }
}

/** That a file has more levels than `maxLevels` on that line. */
export function tooDeep(file: string, line: number): CaiError {
  return new CaiError(
    'CONFIG',
    `${file}:${line}: more than ${maxLevels} lists and objects lie in each other: use fewer levels`,
  );
}

/** Where a path, or the longest beginning of it, stands in such a text. The text is parsed for the first answer only. */
export function placesInJson(text: string): (path: readonly (string | number)[]) => TextPosition {
  let known: Node | undefined;
  return (path) => {
    let node = (known ??= nodesOf(text));
    for (const name of path) {
      const next = node.children.get(name);
      if (next === undefined) break;
      node = next;
    }
    return node.place;
  };
}

/** Line and column, from 1. */
type TextPosition = Readonly<Record<'line' | 'column', number>>;

interface Node {
  readonly place: TextPosition;
  readonly children: ReadonlyMap<string | number, Node>;
}

function nodesOf(text: string): Node {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  let line = 1;
  // Offsets come in the order of the text.
  const nodeAt = (offset: number, value: jsonc.Node | undefined): Node => {
    while (line < starts.length && starts[line]! <= offset) line += 1;
    const place = { line, column: offset - starts[line - 1]! + 1 };
    const children = new Map<string | number, Node>();
    value?.children?.forEach((child, index) => {
      const [name, own] = child.type === 'property' ? child.children! : [];
      const key = name === undefined ? index : (name.value as string);
      if (!children.has(key)) children.set(key, nodeAt(child.offset, name === undefined ? child : own));
    });
    return { place, children };
  };
  const tree = library().parseTree(text);
  return nodeAt(tree?.offset ?? 0, tree);
}

function placeAt(text: string, offset: number): TextPosition {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}

/** Whether a value is an object, and no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, if it is a string that is not empty. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The value, with all its strings changed. */
export function withTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => withTexts(each, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTexts(each, change)]));
}

/** The value, or the members of a list, as far as they are strings that are not empty. */
export function textsOf(value: Json | undefined): string[] {
  return [value ?? []].flat().flatMap((each) => textOf(each) ?? []);
}

/** An object's members that are words, numbers or true and false, as text. */
export function textsIn(value: Json | undefined): Record<string, string> {
  const entries = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([name, each]) => {
      const text = wordOf(each);
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
}

/** A string, number, `true` or `false` as text; `undefined`: it is another value. */
export function wordOf(value: Json | undefined): string | undefined {
  const isWord = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isWord ? String(value) : undefined;
}

// Most workspaces have no such file.
function library(): typeof jsonc {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded only when it is wanted
  return require('jsonc-parser') as typeof jsonc;
}

/** Where the keys of a TOML text stand, which the parser that reads the values does not tell. */
import type * as tomlParser from 'toml-eslint-parser';
import type { AST } from 'toml-eslint-parser';

/** From the top of the text: names of keys, and positions in lists, from 0. */
export type Path = readonly (string | number)[];

/** A place in a text; line and column count from 1, the column in UTF-16 code units. */
export type TomlPosition = AST.Position;

interface Node {
  readonly place: TomlPosition;
  readonly children: Map<string | number, Node>;
}

/**
 * For a text that is known to be TOML: where a path, or the longest beginning of it, is first written. The first answer
 * takes some milliseconds, so only messages and `cai config` ask.
 */
export function placesIn(text: string): (path: Path) => TomlPosition {
  let known: Node | undefined;
  return (path) => {
    let node = (known ??= treeOf(text));
    for (const name of path) {
      const next = node.children.get(name);
      if (next === undefined) break;
      node = next;
    }
    return node.place;
  };
}

function treeOf(text: string): Node {
  const root: Node = { place: { line: 1, column: 1 }, children: new Map() };
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded only when it is wanted
  const { parseTOML } = require('toml-eslint-parser') as typeof tomlParser;
  const tree = parseTOML(text.replace(/^\ufeff/, ''), { tomlVersion: '1.1' });
  for (const entry of tree.body[0].body) {
    if (entry.type === 'TOMLKeyValue') addPair(root, entry);
    else {
      const table = addKey(root, entry.key, entry.resolvedKey);
      for (const pair of entry.body) addPair(table, pair);
    }
  }
  return root;
}

function addPair(table: Node, { key, value }: AST.TOMLKeyValue): void {
  addValue(addKey(table, key), value);
}

function addValue(node: Node, value: AST.TOMLContentNode): void {
  if (value.type === 'TOMLInlineTable') for (const pair of value.body) addPair(node, pair);
  if (value.type === 'TOMLArray')
    value.elements.forEach((element, index) => addValue(child(node, index, element), element));
}

/** `path` has the names of the key and, in a header, after the name of a list the position in it. */
function addKey(table: Node, { keys }: AST.TOMLKey, path: Path = keys.map(nameOf)): Node {
  let at = -1;
  return path.reduce((node, name) => {
    if (typeof name === 'string') at++;
    return child(node, name, keys[at]!);
  }, table);
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === 'TOMLBare' ? key.name : key.value;
}

/** The child of that name, at the place of its first mention. */
function child(node: Node, name: string | number, { loc: { start } }: AST.TOMLNode): Node {
  const known = node.children.get(name);
  if (known !== undefined) return known;
  const made = { place: { line: start.line, column: start.column + 1 }, children: new Map() };
  node.children.set(name, made);
  return made;
}

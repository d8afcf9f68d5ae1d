/** Where the keys of a TOML text stand, which its parser does not tell. */
import { parse } from 'smol-toml';

/** From the top of the text: names of keys, and positions in lists, from 0. */
export type Path = readonly (string | number)[];

/** A place in a text. */
export interface Place {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units, as the parser counts. */
  readonly column: number;
}

/** Tells where a key is first written; of a path that is not there, where its longest beginning is. */
export type PlaceOf = (path: Path) => Place;

/** The places in a text that the parser has accepted; takes time in proportion to its length. */
export function placesIn(source: string): PlaceOf {
  const root = new PlaceReader(source).read();
  return (path) => {
    let node = root;
    for (const name of path) {
      const next = node.children.get(name);
      if (next === undefined) break;
      node = next;
    }
    return node.place;
  };
}

interface Node {
  readonly place: Place;
  readonly children: Map<string | number, Node>;
  /** It is a list of tables made with `[[...]]`: what is below its name belongs to the last of them. */
  isTableList: boolean;
}

/** Blanks, line ends and comments. */
const gap = /(?:[ \t\r\n]+|#[^\n]*)*/y;
const blanks = /[ \t]*/y;
/** A closing delimiter of a long string may follow two quotes of the string's own. */
const quoted = /"""(?:[^\\]|\\[^])*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*'/y;
const bareKey = /[^ \t\r\n.=\]]*/y;
/** A number, a boolean or a date. */
const bareValue = /[^,\]}\n#]*/y;

class PlaceReader {
  #at = 0;
  #line = 1;
  #lineStart = 0;
  #lineEnd = 0;

  constructor(private readonly source: string) {}

  read(): Node {
    const root: Node = { place: { line: 1, column: 1 }, children: new Map(), isTableList: false };
    if (this.source.startsWith('\ufeff')) this.#at = this.#lineStart = 1;
    this.#lineEnd = this.#endOfLine(0);
    let table = root;
    this.#each('', () => {
      if (this.#skip('[')) table = this.#header(root);
      else this.#pair(table);
    });
    return root;
  }

  /** The table that a header begins. */
  #header(root: Node): Node {
    const isElement = this.#skip('[');
    this.#take(blanks);
    const place = this.#placeOf(this.#at);
    const table = this.#key(root);
    this.#skip(']');
    if (!isElement) return table;
    this.#skip(']');
    table.isTableList = true;
    return this.#child(table, table.children.size, place);
  }

  /** `key = value`. */
  #pair(table: Node): void {
    const node = this.#key(table);
    this.#skip('=');
    this.#value(node);
  }

  /** Reads a key, with its dots, below a table. */
  #key(table: Node): Node {
    let node = table;
    do {
      this.#take(blanks);
      const start = this.#at;
      const text = this.#take(quoted);
      // The parser knows all escapes.
      const name = text === '' ? this.#take(bareKey) : Object.keys(parse(`${text}=0`))[0]!;
      node = this.#child(lastOf(node), name, this.#placeOf(start));
      this.#take(blanks);
    } while (this.#skip('.'));
    return node;
  }

  #value(node: Node): void {
    this.#take(blanks);
    if (this.#skip('[')) {
      this.#each(']', () => this.#value(this.#child(node, node.children.size)));
    } else if (this.#skip('{')) {
      this.#each('}', () => this.#pair(node));
    } else if (this.#take(quoted) === '') {
      this.#take(bareValue);
    }
  }

  /** Reads entries, parted by commas or line ends, up to and with `end`; '': the end of the text. */
  #each(end: string, entry: () => void): void {
    for (;;) {
      this.#take(gap);
      if (this.#at >= this.source.length || (end !== '' && this.#skip(end))) return;
      const start = this.#at;
      entry();
      this.#take(gap);
      this.#skip(',');
      // What the parser accepts and this does not know must not stop it here.
      if (this.#at === start) this.#at++;
    }
  }

  /** The child of that name; made if it is not there, at `place` or here. */
  #child(node: Node, name: string | number, place = this.#placeOf(this.#at)): Node {
    const known = node.children.get(name);
    if (known !== undefined) return known;
    const made = { place, children: new Map<string | number, Node>(), isTableList: false };
    node.children.set(name, made);
    return made;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [text] = pattern.exec(this.source) ?? [''];
    this.#at += text.length;
    return text;
  }

  #skip(text: string): boolean {
    const isHere = this.source.startsWith(text, this.#at);
    if (isHere) this.#at += text.length;
    return isHere;
  }

  /** Of an offset that is no smaller than those before it. */
  #placeOf(offset: number): Place {
    while (offset > this.#lineEnd) {
      this.#line++;
      this.#lineStart = this.#lineEnd + 1;
      this.#lineEnd = this.#endOfLine(this.#lineStart);
    }
    return { line: this.#line, column: offset - this.#lineStart + 1 };
  }

  #endOfLine(start: number): number {
    const end = this.source.indexOf('\n', start);
    return end < 0 ? this.source.length : end;
  }
}

/** What stands below a name in a header or a dotted key. */
function lastOf(node: Node): Node {
  return node.isTableList ? node.children.get(node.children.size - 1)! : node;
}

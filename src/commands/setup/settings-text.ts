/** The text of a settings file: JSON with comments. What others have written stays, to the byte. */
import { applyEdits, createScanner, modify, type Node } from 'jsonc-parser';
import { CaiError } from '../../errors';

/** `ScanError` and `SyntaxKind` of jsonc-parser are const enums, which only its own compiler reads. */
const kinds = {
  closingBrace: 2,
  comma: 5,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  end: 17,
} as const;

/**
 * Puts a value at the end of the path, in its own lines, behind the comment on the line before. Throws
 * `CaiError('CONFIG')` where something on the way is no object; `file` names it.
 */
export function withValue(
  { file, text, root }: { file: string; text: string; root: Node | undefined },
  path: readonly string[],
  value: unknown,
): string {
  const layout = layoutOf(text);
  if (root === undefined) {
    const gap = text === '' || text.endsWith('\n') ? '' : layout.eol;
    return `${text}${gap}${shown(nested(path, value), 0, layout)}${layout.eol}`;
  }
  let node = root;
  for (const [depth, key] of path.entries()) {
    if (node.type !== 'object') {
      const what = JSON.stringify(path[depth - 1]);
      throw new CaiError('CONFIG', `${file} has no object as ${what}: correct it, or use --print`);
    }
    const next = node.children!.find(({ children }) => children![0]!.value === key)?.children?.[1];
    if (next === undefined) {
      const entry = `${JSON.stringify(key)}: ${shown(nested(path.slice(depth + 1), value), depth + 1, layout)}`;
      return inserted(text, node, entry, depth, layout);
    }
    node = next;
  }
  const end = node.offset + node.length;
  return text.slice(0, node.offset) + shown(value, path.length, layout) + text.slice(end);
}

/** Takes out what stands at the end of the path. */
export function withoutValue(text: string, path: readonly string[]): string {
  return applyEdits(text, modify(text, [...path], undefined, {}));
}

/** The first key of the path that stands twice in its object. */
export function doubledKey(root: Node | undefined, path: readonly string[]): string | undefined {
  let node = root;
  for (const key of path) {
    const all = node?.type === 'object' ? node.children! : [];
    const found = all.filter(({ children }) => children![0]!.value === key);
    if (found.length > 1) return key;
    node = found[0]?.children?.[1];
  }
  return undefined;
}

interface Layout {
  readonly eol: string;
  readonly indent: string;
}

function layoutOf(text: string): Layout {
  const [, indent = '  '] = /^( +|\t+)["{}\]]/m.exec(text) ?? [];
  return { eol: text.includes('\r\n') ? '\r\n' : '\n', indent };
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}

function shown(value: unknown, depth: number, { eol, indent }: Layout): string {
  return JSON.stringify(value, undefined, indent).replaceAll('\n', eol + indent.repeat(depth));
}

function inserted(text: string, object: Node, entry: string, depth: number, { eol, indent }: Layout): string {
  const last = object.children!.at(-1);
  const from = last === undefined ? object.offset + 1 : last.offset + last.length;
  const { place, hasComma, isLineEnd } = endOfLast(text, from);
  const comma = last === undefined || hasComma ? '' : ',';
  const before = text.slice(0, from) + comma + text.slice(from, place);
  const line = eol + indent.repeat(depth + 1) + entry + (hasComma ? ',' : '');
  return (
    before +
    line +
    (isLineEnd ? '' : eol + indent.repeat(depth)) +
    text.slice(place).replace(isLineEnd ? '' : /^[ \t]+/, '')
  );
}

/** Behind the comma and the comments of the last member of an object, which ends at `from`. */
function endOfLast(text: string, from: number) {
  const scanner = createScanner(text);
  scanner.setPosition(from);
  let [place, hasComma, isLineEnd] = [from, false, false];
  for (;;) {
    const kind: number = scanner.scan();
    const end = scanner.getTokenOffset() + scanner.getTokenLength();
    if (kind === kinds.closingBrace || kind === kinds.end) return { place, hasComma, isLineEnd };
    if (kind === kinds.comma) [place, hasComma, isLineEnd] = [end, true, false];
    else if (kind === kinds.lineBreak) isLineEnd = true;
    else if (!isLineEnd && (kind === kinds.lineComment || kind === kinds.blockComment)) place = end;
  }
}

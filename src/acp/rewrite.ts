/** The rewriting of a message's fields: ids and paths of one side become those of the other. */
import { textOf } from '../rpc/scan';
import type { Field } from '../rpc/walk';
import type { Message } from '../rpc/scan';
import type { Edit } from '../rpc/splice';
import type { PathMap } from '../workspace/path-map';

/** The id of a session on the other side; undefined leaves it as it is. */
export type IdMap = (id: string) => string | undefined;

/** What fields become on the other side. */
export interface Rewrites {
  /** A session id. */
  readonly session: IdMap;
  /** The id of a session in a list, with its working directory as written there. */
  readonly listed: (id: string, cwd: string) => string | undefined;
  /** A path; one that is the same on both sides comes back as the same string. */
  readonly path: (path: string) => string;
  /** A URI, likewise. */
  readonly uri: (uri: string) => string;
}

/** The rewriting of paths for messages to an agent, or undefined where paths are the same on both sides. */
export function pathsToAgent(map: PathMap): Pick<Rewrites, 'path' | 'uri'> | undefined {
  if (map.isIdentity) return undefined;
  return { path: (path) => map.toAgent(path), uri: (uri) => map.uriToAgent(uri) };
}

/** As `pathsToAgent`, for messages to the editor. */
export function pathsToEditor(map: PathMap): Pick<Rewrites, 'path' | 'uri'> | undefined {
  if (map.isIdentity) return undefined;
  return { path: (path) => map.toEditor(path), uri: (uri) => map.uriToEditor(uri) };
}

/** Edits for the fields that change, in order. A place that stays the same keeps its very bytes. */
export function editsOf(message: Message, rewrites: Partial<Rewrites>): Edit[] {
  const edits: Edit[] = [];
  for (const field of message.fields) {
    const rewrite = field.isString ? rewriteOf(message, field, rewrites) : undefined;
    if (rewrite === undefined) continue;
    const text = textOf(message, field);
    const replacement = rewrite(text) ?? text;
    if (replacement !== text) {
      edits.push({ start: field.start, end: field.end, text: JSON.stringify(replacement) });
    }
  }
  return edits;
}

function rewriteOf(message: Message, field: Field, rewrites: Partial<Rewrites>): IdMap | undefined {
  switch (field.kind) {
    case 'listed':
      return (id) => rewrites.listed?.(id, cwdBeside(message, field));
    case 'session':
    case 'sessionRef':
      return rewrites.session;
    case 'path':
    case 'cwd':
    case 'root':
      return rewrites.path;
    case 'uri':
      return rewrites.uri;
    default:
      return undefined;
  }
}

/** The working directory in the same row of a list. */
function cwdBeside(message: Message, field: Field): string {
  const row = message.fields.findLast((each) => each.kind === 'row' && each.start < field.start);
  const isHere = (each: Field): boolean => row !== undefined && each.start > row.start && each.end < row.end;
  const cwd = message.fields.find((each) => each.kind === 'cwd' && each.isString && isHere(each));
  return cwd === undefined ? '' : textOf(message, cwd);
}

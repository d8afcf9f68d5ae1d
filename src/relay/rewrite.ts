/** The rewriting of a message's fields: ids and paths of one side become those of the other. */
import { textOf } from '../rpc/message';
import type { Field } from '../rpc/json';
import type { Message } from '../rpc/message';
import { replacing } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { PathMap } from '../paths/path-map';

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

/** Longest message of an error, in bytes of JSON text: editors show it whole, some where nothing can be scrolled. */
const maxMessageBytes = 16 * 1024;

/** The edit of an error's message: of a longer one the first characters are left, and `hint` is added. */
export function messageEdits(answer: Message, hint?: string): Edit[] {
  const field = answer.fields.find(({ kind }) => kind === 'errorMessage');
  if (field?.isString !== true) return [];
  const isLong = field.end - field.start > maxMessageBytes;
  if (!isLong && hint === undefined) return [];
  const text = textOf(answer, field);
  // Half of a pair is no character.
  const shown = isLong ? `${text.slice(0, maxMessageBytes / 4).replace(/[\ud800-\udbff]$/, '')} …` : text;
  return [replacing(field, JSON.stringify(hint === undefined ? shown : `${shown} (${hint})`))];
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
  let rowCwd = '';
  for (let index = 0; index < message.fields.length; index++) {
    const field = message.fields[index]!;
    if (field.kind === 'row') rowCwd = cwdOfRow(message, index);
    const rewrite = field.isString ? rewriteOf(field, rowCwd, rewrites) : undefined;
    if (rewrite === undefined) continue;
    const text = textOf(message, field);
    const replacement = rewrite(text) ?? text;
    if (replacement !== text) {
      edits.push(replacing(field, JSON.stringify(replacement)));
    }
  }
  return edits;
}

/** `rowCwd` is the working directory in the row of a list that the field lies in, if it lies in one. */
function rewriteOf(field: Field, rowCwd: string, rewrites: Partial<Rewrites>): IdMap | undefined {
  switch (field.kind) {
    case 'listed':
      return (id) => rewrites.listed?.(id, rowCwd);
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

/** The working directory in the row of a list that is the field with that index. */
function cwdOfRow(message: Message, index: number): string {
  const { fields } = message;
  const { end } = fields[index]!;
  for (let next = index + 1; next < fields.length && fields[next]!.start < end; next++) {
    const field = fields[next]!;
    if (field.kind === 'cwd' && field.isString) return textOf(message, field);
  }
  return '';
}

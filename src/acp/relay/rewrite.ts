/** Rewrites a message's fields: each id and path becomes what the other side calls it. */
import { textOf, type Message } from '../../rpc/message';
import type { Field } from '../../rpc/json';
import { joined, replacing, splice, type Edit } from '../../rpc/splice';
import { RunRewriter } from '../../rpc/webassembly/repeated-lines';
import type { Child } from '../child/child';
import type { PathMap } from '../../system/paths/path-map';
import type { AgentSession } from '../sessions/session';
import type { SessionIds } from '../sessions/session-ids';
import { isMessageChunk, updateKindOf } from '../sessions/session-update';
import type { CallContext } from './call-context';

/** The id of a session on the other side; undefined leaves it as it is. */
export type IdMap = (id: string) => string | undefined;

/** What fields become on the other side. */
export interface Rewrites {
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
function pathsToEditor(map: PathMap): Pick<Rewrites, 'path' | 'uri'> | undefined {
  if (map.isIdentity) return undefined;
  return { path: (path) => map.toEditor(path), uri: (uri) => map.uriToEditor(uri) };
}

/** Edits for the fields that change, in order. A field that stays the same keeps its bytes. */
export function editsOf(message: Message, rewrites: Partial<Rewrites>): Edit[] {
  const edits: Edit[] = [];
  let rowCwd = '';
  for (let index = 0; index < message.fields.length; index++) {
    const field = message.fields[index]!;
    if (field.kind === 'row') rowCwd = cwdOfRow(message, index);
    if (field.kind === 'ownMark') edits.push(replacing(field, 'false'));
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

/**
 * The edits of a child's last message, which are right for every message of the session with the same `fields` array.
 */
interface KnownEdits {
  readonly session: AgentSession;
  readonly fields: readonly Field[];
  readonly edits: readonly Edit[];
  readonly isChunk: boolean;
  rewriter?: RunRewriter;
}

/** Turns lines of agents into lines for the editor. */
export class AgentLines {
  /** By child. `Scanner` gives lines that differ only in one string without a field the same `fields` array. */
  readonly #last = new WeakMap<Child, KnownEdits>();

  constructor(private readonly ids: SessionIds) {}

  /** The edits that turn a message of an agent into one for the editor, in order. */
  editsOf(
    child: Child,
    message: Message,
    { map, session }: Pick<CallContext, 'map' | 'session'>,
  ): readonly Edit[] {
    const last = this.#last.get(child);
    if (last !== undefined && last.session === session && last.fields === message.fields) return last.edits;
    const edits = editsOf(message, {
      ...pathsToEditor(map),
      session: (id) => this.ids.editorIdOf(child, id, session),
      listed: (id, cwd) => this.ids.listedIdOf(child, id, cwd, map),
    });
    const { fields } = message;
    if (session !== undefined && fields.every(({ kind }) => kind !== 'sessionRef' && kind !== 'listed'))
      this.#last.set(child, { session, fields, edits, isChunk: isMessageChunk(updateKindOf(message)) });
    else this.#last.delete(child);
    return edits;
  }

  /**
   * Delivers all at once the lines at the start of `buffers` that repeat the last message except for its text; returns
   * how many bytes these were, 0 if it took no line.
   */
  passChunks(child: Child, buffers: readonly Buffer[]): number {
    const { pattern } = child.scanner;
    const last = this.#last.get(child);
    if (last?.isChunk !== true || last.fields !== pattern?.fields) return 0;
    const { session } = last;
    if (session.owner.state !== 'open' || session.owner.atAgent !== session) return 0;
    last.rewriter ??= new RunRewriter(pattern, joined(splice(pattern.head, last.edits)));
    const run = last.rewriter.take(buffers);
    if (run === undefined) return 0;
    child.deliver(run.lines);
    return run.bytes;
  }
}

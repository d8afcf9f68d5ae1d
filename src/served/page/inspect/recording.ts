/** All rows of a recording in the browser, and what follows from them together. */
import type { Row } from './row';

/** The first line of a recording is its head. */
const firstLine = 2;

/** Which connection: the editor's, that of the agent with a number, or all. */
export type Connection = 'editor' | 'all' | number;

/** What of a connection can be shown, by its name in the list of choices. */
export const kinds: Readonly<Record<string, (row: Row) => boolean>> = {
  'all messages': () => true,
  'without updates': ({ method }) => method !== 'session/update',
  'tool calls': ({ tool }) => tool !== undefined,
  permissions: ({ method }) => method === 'session/request_permission',
  errors: ({ isError, kind }) => isError || kind === 'defect' || kind === 'damaged',
  redacted: ({ redacted }) => redacted > 0,
  'no answer': ({ kind, other }) => kind === 'request' && other === undefined,
};

export interface Filter {
  readonly connection: Connection;
  /** One of `kinds`. */
  readonly kind: string;
  /** A session alone; '': what is of no session; undefined: all. */
  readonly session: string | undefined;
  /** Lines that a search has found; undefined: nothing is searched. */
  readonly found: ReadonlySet<number> | undefined;
}

/** A prompt with its answer, if there is one, and what happened in between. */
export interface Turn {
  readonly prompt: Row;
  readonly answer: Row | undefined;
  /** Tool calls in their order, each with its last state. */
  readonly tools: readonly ToolCall[];
  readonly permissions: readonly Row[];
}

export interface ToolCall {
  /** Where it was first told. */
  readonly row: Row;
  title: string;
  status: string;
  /** When it was told last, in milliseconds after the start. */
  endMs: number;
}

export interface Lane {
  /** '' for what is of no session. */
  readonly session: string;
  readonly rows: Row[];
}

export class Recording {
  readonly rows: Row[] = [];
  readonly children = new Set<number>();
  readonly damaged: Row[] = [];
  redactedRows = 0;
  redactedValues = 0;
  lastMs = 0;

  /** Adds the next rows, and ties answers to their requests. */
  add(rows: readonly Row[]): void {
    for (const row of rows) {
      this.rows.push(row);
      if (row.child !== undefined) this.children.add(row.child);
      if (row.kind === 'damaged') this.damaged.push(row);
      this.redactedValues += row.redacted;
      if (row.redacted > 0) this.redactedRows++;
      this.lastMs = Math.max(this.lastMs, row.ms ?? 0);
      const request = row.other === undefined ? undefined : this.at(row.other);
      if (request === undefined) continue;
      request.other = row.line;
      request.tookMs = row.tookMs;
      request.session ??= row.session;
    }
  }

  at(line: number): Row | undefined {
    return this.rows[line - firstLine];
  }

  /** The rows that a filter lets through. */
  shown({ connection, kind, session, found }: Filter): readonly Row[] {
    const isOfKind = kinds[kind]!;
    return this.rows.filter(
      (row) =>
        isIn(row, connection) &&
        isOfKind(row) &&
        (session === undefined || (row.session ?? '') === session) &&
        (found === undefined || found.has(row.line)),
    );
  }

  /** The sessions of a connection, in the order of their first messages; what is of none comes first. */
  lanes(connection: Connection): readonly Lane[] {
    const lanes = new Map<string, Lane>();
    for (const row of this.rows) {
      if (!isIn(row, connection)) continue;
      const session = row.session ?? '';
      const lane = lanes.get(session);
      if (lane === undefined) lanes.set(session, { session, rows: [row] });
      else lane.rows.push(row);
    }
    return [...lanes.values()];
  }

  /** The turn in which a message passed, or that it begins or ends. */
  turnOf(row: Row): Turn | undefined {
    const { session } = row;
    if (session === undefined || row.side === undefined) return undefined;
    const isSame = (each: Row): boolean =>
      each.session === session && each.child === row.child && each.side !== undefined;
    for (let line = row.line; line >= firstLine; line--) {
      const prompt = this.at(line)!;
      if (prompt.method !== 'session/prompt' || prompt.kind !== 'request' || !isSame(prompt)) continue;
      const isOver = prompt.other !== undefined && prompt.other < row.line;
      return isOver ? undefined : this.#turn(prompt, isSame);
    }
    return undefined;
  }

  #turn(prompt: Row, isSame: (row: Row) => boolean): Turn {
    const tools = new Map<string, ToolCall>();
    const permissions: Row[] = [];
    const end = prompt.other ?? this.rows.length + firstLine;
    for (let line = prompt.line + 1; line < end; line++) {
      const row = this.at(line)!;
      if (!isSame(row)) continue;
      if (row.method === 'session/request_permission' && row.kind === 'request') permissions.push(row);
      else if (row.update !== undefined && row.tool !== undefined) noteTool(tools, row);
    }
    const answer = prompt.other === undefined ? undefined : this.at(prompt.other);
    return { prompt, answer, tools: [...tools.values()], permissions };
  }
}

function noteTool(tools: Map<string, ToolCall>, row: Row): void {
  const { tool, text, status, ms = 0 } = row;
  const known = tools.get(tool!);
  if (known === undefined)
    tools.set(tool!, { row, title: text ?? tool!, status: status ?? 'pending', endMs: ms });
  else {
    if (status !== undefined) known.status = status;
    known.endMs = ms;
  }
}

/** What damages and ends the recording, and the start and end of agents, is part of each connection. */
function isIn({ side, child }: Row, connection: Connection): boolean {
  if (connection === 'all' || side === undefined) return true;
  return connection === 'editor' ? child === undefined : child === connection;
}

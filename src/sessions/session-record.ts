/** What is remembered of a session beyond the process that opened it, and how it is written: one line of JSON. */

/** One session, as a line of the session file. */
export interface SessionRecord {
  /** Its id on the editor's side. */
  readonly id: string;
  /** Name of the agent. */
  readonly agent: string;
  /** Its id on the agent's side. */
  readonly agentId: string;
  /** Real path of the workspace's root. */
  readonly root: string;
  /** Its working directory as the editor spelled it. */
  readonly cwd: string;
  /** When this was written, ISO 8601. */
  readonly at: string;
  /** What the agent calls it. */
  readonly title?: string | undefined;
  /**
   * Its last activity, ISO 8601. Absent: it was opened and never used, so that its agent may know nothing of
   * it, or it is only a part of another session.
   */
  readonly updatedAt?: string | undefined;
  /** The proxy that has it open, as `ownIdentity` names processes; what that one says when it ends may be lost. */
  readonly openBy?: string | undefined;
}

/** The note that a session is gone for good. */
export interface GoneRecord {
  /** The session's id on the editor's side. */
  readonly id: string;
  /** Tells it from a `SessionRecord`. */
  readonly gone: true;
  /** When this was written, ISO 8601. */
  readonly at?: string | undefined;
}

/** What a file holds. */
export interface SessionLines {
  /** Of each session the last line, in the order of the last changes. */
  readonly records: Map<string, SessionRecord>;
  /** The notes of sessions that are gone and did not come again, by id. */
  readonly gone: Map<string, GoneRecord>;
  /** How many lines there are. */
  readonly lineCount: number;
  /** What was remembered of a session that is gone still stands there. */
  readonly hasRemains: boolean;
}

/** When a session was used last, as far as that is known: milliseconds since 1970. */
export function lastUseOf({ updatedAt, at }: SessionRecord): number {
  return Date.parse(updatedAt ?? at) || 0;
}

/** Reads the lines of a file. One that is damaged or of another version does not count. */
export function parseLines(text: string): SessionLines {
  const records = new Map<string, SessionRecord>();
  const gone = new Map<string, GoneRecord>();
  let hasRemains = false;
  const lines = text.split('\n').filter((line) => line !== '');
  for (const line of lines) {
    const value = parseLine(line);
    if (value === undefined) continue;
    // Deleted first, so that the order is that of the last change.
    const wasKnown = records.delete(value.id);
    gone.delete(value.id);
    if ('gone' in value) {
      gone.set(value.id, value);
      hasRemains ||= wasKnown;
    } else {
      records.set(value.id, value);
    }
  }
  return { records, gone, lineCount: lines.length, hasRemains };
}

function parseLine(line: string): SessionRecord | GoneRecord | undefined {
  const value = parseObject(line);
  const text = (key: string): string | undefined =>
    typeof value?.[key] === 'string' ? value[key] : undefined;
  const [id, at] = [text('id'), text('at')];
  if (id === undefined) return undefined;
  if (value?.gone === true) return { id, gone: true, at };
  const [agent, agentId, root, cwd] = [text('agent'), text('agentId'), text('root'), text('cwd')];
  if (agent === undefined || agentId === undefined || root === undefined || cwd === undefined)
    return undefined;
  if (at === undefined) return undefined;
  const more = { title: text('title'), updatedAt: text('updatedAt'), openBy: text('openBy') };
  const known = Object.entries(more).filter(([, each]) => each !== undefined);
  return { id, agent, agentId, root, cwd, at, ...Object.fromEntries(known) };
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

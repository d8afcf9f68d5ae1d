/** The lines of the session file. */
import { objectIn } from '../../system/unless';

/** What is remembered of one session, as a line of the file. */
export interface SessionRecord {
  /** Its id on the editor's side. */
  readonly id: string;
  readonly agent: string;
  /** Its id on the agent's side. */
  readonly agentId: string;
  /** Real path of the workspace's root. */
  readonly root: string;
  /** Its working directory as the editor spelled it. */
  readonly cwd: string;
  /** When this was written, ISO 8601. */
  readonly at: string;
  readonly title?: string | undefined;
  /** Its last activity, ISO 8601. Absent: it was never used, or it is only a part of another session. */
  readonly updatedAt?: string | undefined;
  /** The proxy that has it open, as `ownIdentity` names processes. It stays there if that process is killed. */
  readonly openBy?: string | undefined;
}

/** The note that the session with that id is gone for good. */
export interface GoneRecord {
  readonly id: string;
  readonly gone: true;
  readonly at?: string;
}

/** The members of a `SessionRecord`, all of them texts. */
const needed = ['id', 'agent', 'agentId', 'root', 'cwd', 'at'] as const;
const members = [...needed, 'title', 'updatedAt', 'openBy'] as const;

/** When a session was used last, as far as that is known: milliseconds since 1970. */
export function lastUseOf({ updatedAt, at }: SessionRecord): number {
  return Date.parse(updatedAt ?? at) || 0;
}

export function lineOf(record: SessionRecord | GoneRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Undefined for a line that is damaged or of another version. */
export function parseLine(line: string): SessionRecord | GoneRecord | undefined {
  const value = objectIn(line);
  const texts = members.map((name) => [name, value?.[name]]).filter(([, text]) => typeof text === 'string');
  const record = Object.fromEntries(texts) as unknown as SessionRecord;
  if ('id' in record && value?.gone === true) return { id: record.id, gone: true, at: record.at };
  return needed.every((name) => name in record) ? record : undefined;
}

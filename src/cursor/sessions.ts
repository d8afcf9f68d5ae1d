/**
 * Sessions as they outlive the adapter: for each a record, with Cursor's id of its chat, and a transcript of what the
 * editor was told, because the command line cannot tell the past of a chat. Only the user can read them.
 */
import { randomUUID } from 'node:crypto';
import { fstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { appendLines, readLines } from '../system/files/json-lines';
import { withFile } from '../system/files/open-file';
import { replaceFile } from '../system/files/replace-file';
import { firstText, shapeOf } from './shapes';
import type { Tokens } from './stream';
import { objectIn, unlessFails, unlessGone } from '../system/unless';

/** What the turns of a session have cost so far. */
export interface Spent extends Tokens {
  /** Turns that have come to an end. */
  readonly turns: number;
  /** Tools that were called. */
  readonly toolCalls: number;
  /** Time of all turns, in milliseconds. */
  readonly durationMs: number;
}

/** What is kept of a session. */
export interface SessionRecord {
  /** Ours, a UUID. */
  readonly id: string;
  /** Its folder, absolute. Cursor finds a chat only in the folder where it began. */
  readonly cwd: string;
  /** Cursor's id of the chat; absent before the first turn. */
  readonly chatId?: string;
  /** `agent`, `plan` or `ask`. */
  readonly mode: string;
  /** What `--model` gets; `default`: Cursor decides. */
  readonly model: string;
  /** For lists; absent before the first turn. */
  readonly title?: string;
  /** When its last turn began, ISO 8601. */
  readonly updatedAt: string;
  /** What it has cost. */
  readonly spent: Spent;
}

/** Of a session without a turn. */
export const nothingSpent: Spent = {
  turns: 0,
  toolCalls: 0,
  durationMs: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedReadTokens: 0,
  cachedWriteTokens: 0,
  totalTokens: 0,
};

/** How many sessions are kept at least. */
const maxSessions = 1_000;
/** Longest transcript, in bytes; what comes after that is not kept. */
const maxTranscriptBytes = 64 * 1024 * 1024;

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The files of all sessions, in one folder. */
export class SessionStore {
  /** `folder` is made with the first session. */
  constructor(private readonly folder: string) {}

  /** Begins a session, and forgets the oldest if there are too many. */
  create(fields: Pick<SessionRecord, 'cwd' | 'mode' | 'model'>): SessionRecord {
    const record = { ...fields, id: randomUUID(), updatedAt: new Date().toISOString(), spent: nothingSpent };
    this.save(record);
    // Of each session there are up to two files. Reading all takes time, so it is rare.
    if (readdirSync(this.folder).length > 3 * maxSessions)
      for (const { id } of this.list().slice(maxSessions)) this.remove(id);
    return record;
  }

  /** Writes a record in the place of the earlier one. Fails with the system's error. */
  save(record: SessionRecord): void {
    replaceFile(this.#file(record.id, 'json'), JSON.stringify(record));
  }

  /** The record of a session; undefined if there is none, or none that can be read. */
  find(id: string): SessionRecord | undefined {
    if (!idPattern.test(id)) return undefined;
    const fields = objectIn(unlessFails(() => readFileSync(this.#file(id, 'json'), 'utf8')));
    const cwd = firstText(fields?.cwd);
    if (fields === undefined || cwd === undefined || fields.id !== id) return undefined;
    const spent = { ...nothingSpent, ...shapeOf(fields.spent) };
    return { mode: 'agent', model: 'default', updatedAt: '', ...fields, id, cwd, spent };
  }

  /** All sessions, the one that was used last first. */
  list(): SessionRecord[] {
    const names = unlessGone(() => readdirSync(this.folder)) ?? [];
    return names
      .flatMap((name) => (name.endsWith('.json') ? (this.find(name.slice(0, -5)) ?? []) : []))
      .sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  }

  /** Forgets a session. */
  remove(id: string): void {
    if (!idPattern.test(id)) return;
    for (const kind of ['json', 'ndjson'] as const) rmSync(this.#file(id, kind), { force: true });
  }

  /** Adds what the editor was told, or has said, to the transcript of a session. */
  append(id: string, updates: readonly SessionUpdate[]): void {
    const file = this.#file(id, 'ndjson');
    const text = updates.map((update) => `${JSON.stringify(update)}\n`).join('');
    withFile(file, 'a+', (open) => {
      if (fstatSync(open).size + text.length <= maxTranscriptBytes) appendLines(open, text);
    });
  }

  /** The transcript of a session; a line that was cut is left out. */
  transcript(id: string): SessionUpdate[] {
    const text = unlessGone(() => readFileSync(this.#file(id, 'ndjson'), 'utf8')) ?? '';
    return readLines(text, (value) => value as SessionUpdate);
  }

  #file(id: string, kind: 'json' | 'ndjson'): string {
    return join(this.folder, `${id}.${kind}`);
  }
}

/** Updates for a transcript: consecutive pieces of one text become one. */
export function joined(updates: readonly SessionUpdate[]): SessionUpdate[] {
  const all: SessionUpdate[] = [];
  for (const update of updates) {
    const last = all.at(-1);
    const text = pieceOf(update);
    const before = last?.sessionUpdate === update.sessionUpdate ? pieceOf(last) : undefined;
    if (text === undefined || before === undefined) all.push(update);
    else all.splice(-1, 1, { ...update, content: { type: 'text', text: before + text } } as SessionUpdate);
  }
  return all;
}

function pieceOf(update: SessionUpdate): string | undefined {
  const isPiece =
    update.sessionUpdate === 'agent_message_chunk' || update.sessionUpdate === 'agent_thought_chunk';
  return isPiece && update.content.type === 'text' ? update.content.text : undefined;
}

/**
 * Sessions as they outlive the adapter: for each a record, with Cursor's id of its chat, a copy of the record, in case it
 * is damaged, and a transcript of what the editor was told, because the command line cannot tell the past of a chat. Only
 * the user can read them.
 */
import { randomUUID } from 'node:crypto';
import { fstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { messageOf } from '../errors';
import { appendLines, readLines } from '../system/files/json-lines';
import { withFile } from '../system/files/open-file';
import { replaceFile } from '../system/files/replace-file';
import { firstText, shapeOf } from './output/shapes';
import type { Tokens } from './output/stream';
import { objectIn, unlessFails, unlessGone } from '../system/unless';

export interface Spent extends Tokens {
  /** Turns that have come to an end. */
  readonly turns: number;
  readonly toolCalls: number;
  /** Time of all turns, in milliseconds. */
  readonly durationMs: number;
}

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
  /** When it was opened, ISO 8601. */
  readonly createdAt: string;
  /** When its last turn began or ended, ISO 8601. */
  readonly updatedAt: string;
  readonly spent: Spent;
}

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

/** How many sessions are kept, and how long after their last turn, in milliseconds. */
const maxSessions = 1_000;
const keepMs = 90 * 24 * 60 * 60 * 1_000;
/** Longest transcript, in bytes; what comes after that is not kept. */
const maxTranscriptBytes = 64 * 1024 * 1024;

/** A text to which no more is joined, in characters: a line to an editor has a limit. */
const maxPiece = 1_000_000;

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The files of a session: its record, a copy of that, its transcript. */
const kinds = ['json', 'copy', 'ndjson'] as const;

export class SessionStore {
  readonly #inMemory = new Map<string, SessionRecord>();
  #isTidy = false;

  /**
   * `folder` is made with the first session; undefined: no file is written, and sessions end with this process. `log` is
   * told what cannot be written: a session goes on without that.
   */
  constructor(
    private readonly folder: string | undefined,
    private readonly log: (line: string) => void,
  ) {}

  get isLasting(): boolean {
    return this.folder !== undefined;
  }

  /** Begins a session. The first one of a process has those forgotten that are too old, or too many. */
  create(fields: Pick<SessionRecord, 'cwd' | 'mode' | 'model'>): SessionRecord {
    const now = new Date().toISOString();
    const record = { ...fields, id: randomUUID(), createdAt: now, updatedAt: now, spent: nothingSpent };
    this.save(record);
    if (!this.#isTidy) this.#tidy();
    this.#isTidy = true;
    return record;
  }

  /** Writes a record, and then its copy, in the place of the earlier one. */
  save(record: SessionRecord): void {
    if (this.folder === undefined) this.#inMemory.set(record.id, record);
    else
      this.#write(() => {
        for (const kind of ['json', 'copy'] as const)
          replaceFile(this.#file(record.id, kind), JSON.stringify(record));
      });
  }

  /** The record of a session, or its copy; undefined if no record can be read. */
  find(id: string): SessionRecord | undefined {
    if (this.folder === undefined) return this.#inMemory.get(id);
    return idPattern.test(id) ? (this.#read(id, 'json') ?? this.#read(id, 'copy')) : undefined;
  }

  /** All sessions, the one that was used last first. */
  list(): SessionRecord[] {
    const { folder } = this;
    const names = folder === undefined ? [] : (unlessFails(() => readdirSync(folder)) ?? []);
    const ids = new Set(names.filter((name) => /\.(json|copy)$/.test(name)).map((name) => name.slice(0, -5)));
    return [...ids, ...this.#inMemory.keys()]
      .flatMap((id) => this.find(id) ?? [])
      .sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  }

  remove(id: string): void {
    this.#inMemory.delete(id);
    if (this.folder === undefined || !idPattern.test(id)) return;
    for (const kind of kinds) rmSync(this.#file(id, kind), { force: true });
  }

  /** Adds what the editor was told, or has said, to the transcript of a session. */
  append(id: string, updates: readonly SessionUpdate[]): void {
    if (this.folder === undefined) return;
    const file = this.#file(id, 'ndjson');
    if (updates.length === 0) return;
    this.#write(() =>
      withFile(file, 'a+', (open) => {
        for (const update of updates) {
          const line = `${JSON.stringify(update)}\n`;
          if (fstatSync(open).size + Buffer.byteLength(line) > maxTranscriptBytes) return;
          appendLines(open, line);
        }
      }),
    );
  }

  /** The transcript of a session; a line that was cut is left out. */
  transcript(id: string): SessionUpdate[] {
    if (this.folder === undefined) return [];
    const text = unlessGone(() => readFileSync(this.#file(id, 'ndjson'), 'utf8')) ?? '';
    return joined(readLines(text, (value) => value as SessionUpdate));
  }

  #read(id: string, kind: 'json' | 'copy'): SessionRecord | undefined {
    const fields = objectIn(unlessFails(() => readFileSync(this.#file(id, kind), 'utf8')));
    const cwd = firstText(fields?.cwd);
    if (fields === undefined || cwd === undefined || fields.id !== id) return undefined;
    const { mode = 'agent', model = 'default', chatId, title, createdAt, updatedAt } = fields;
    return {
      ...fields,
      ...{ id, cwd, mode: String(mode), model: String(model) },
      ...{ chatId: firstText(chatId), title: firstText(title) },
      ...{ createdAt: firstText(createdAt) ?? '', updatedAt: firstText(updatedAt) ?? '' },
      spent: { ...nothingSpent, ...shapeOf(fields.spent) },
    } as SessionRecord;
  }

  #write(act: () => void): void {
    try {
      act();
    } catch (reason) {
      this.log(`a session cannot be kept: ${messageOf(reason)}: see to the folder ${this.folder ?? ''}`);
    }
  }

  #tidy(): void {
    const oldest = new Date(Date.now() - keepMs).toISOString();
    for (const [index, { id, updatedAt }] of this.list().entries())
      if (index >= maxSessions || (updatedAt !== '' && updatedAt < oldest)) this.remove(id);
  }

  #file(id: string, kind: (typeof kinds)[number]): string {
    return join(this.folder ?? '', `${id}.${kind}`);
  }
}

/** Updates as an editor is told them later: consecutive pieces of one text become one. */
export function joined(updates: readonly SessionUpdate[]): SessionUpdate[] {
  const all: SessionUpdate[] = [];
  for (const update of updates) {
    const last = all.at(-1);
    const text = pieceOf(update);
    const before = last?.sessionUpdate === update.sessionUpdate ? pieceOf(last) : undefined;
    if (text === undefined || before === undefined || before.length > maxPiece) all.push(update);
    else all.splice(-1, 1, { ...update, content: { type: 'text', text: before + text } } as SessionUpdate);
  }
  return all;
}

function pieceOf(update: SessionUpdate): string | undefined {
  const isPiece =
    update.sessionUpdate === 'agent_message_chunk' || update.sessionUpdate === 'agent_thought_chunk';
  return isPiece && update.content.type === 'text' ? update.content.text : undefined;
}

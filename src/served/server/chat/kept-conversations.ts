/** Which sessions the conversations of one visitor with one agent are, in a file, for a server that starts again. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../../errors';
import { replaceFile } from '../../../system/files/replace-file';
import type { Log } from '../../../system/log';
import { stateRemedy } from '../../../system/state-folder';
import { objectIn, objectOf, unlessFails } from '../../../system/unless';

/** Beyond these, those go that were opened the longest time ago. */
const maxKept = 1_000;

export interface KeptSession {
  readonly sessionId: string;
  /** The folder in which it was begun. */
  readonly cwd: string;
}

/** One file, which is read whenever it is asked: other servers may have the same one. */
export class KeptConversations {
  /** `file`: undefined if nothing is to be kept. */
  constructor(
    private readonly file: string | undefined,
    private readonly log: Log,
  ) {}

  find(conversation: string): KeptSession | undefined {
    const { sessionId, cwd } = objectOf(this.#read().find(([name]) => name === conversation)?.[1]);
    return typeof sessionId === 'string' && typeof cwd === 'string' ? { sessionId, cwd } : undefined;
  }

  /** What cannot be written is logged: the conversation goes on, and does not survive the server. */
  keep(conversation: string, session: KeptSession): void {
    if (this.file === undefined) return;
    const others = this.#read().filter(([name]) => name !== conversation);
    const conversations = [...others, [conversation, session]].slice(-maxKept);
    try {
      replaceFile(this.file, `${JSON.stringify({ conversations })}\n`);
    } catch (reason) {
      const about = { file: this.file, reason: messageOf(reason), remedy: stateRemedy(dirname(this.file)) };
      this.log.warn(about, 'a conversation of a chat panel could not be kept');
    }
  }

  /** A list, as keys of an object would not all stay in their order. What is damaged is as good as not there. */
  #read(): (readonly [unknown, unknown])[] {
    const { file } = this;
    if (file === undefined) return [];
    const conversations = objectIn(unlessFails(() => readFileSync(file, 'utf8')))?.conversations;
    if (!Array.isArray(conversations)) return [];
    return conversations.filter((each): each is [unknown, unknown] => Array.isArray(each));
  }
}

/** What was said in a session, for clients that come later. */
import { randomUUID } from 'node:crypto';
import { ownMark } from '../../../rpc/protocol/methods';
import { notificationLine } from '../../../rpc/answer';
import { joined } from '../../../rpc/splice';
import { Outbox, type Keeper } from '../outbox';

/** One session's. Lines are without line end. */
export class History {
  #outbox: Outbox;
  #beginsAtStart = false;

  /** `keeper`: of several histories; the oldest lines go when there are too many. */
  constructor(private readonly keeper: Keeper) {
    this.#outbox = new Outbox(keeper);
  }

  /** What is kept, the oldest first. */
  get lines(): readonly Buffer[] {
    return this.#outbox.lines;
  }

  /** Nothing was said in the session that is not kept. */
  get isWhole(): boolean {
    return this.#beginsAtStart && this.#outbox.isWhole;
  }

  /** Adds a line, which must not be changed afterwards. */
  add(line: Buffer): void {
    this.#outbox.push(line);
  }

  /** Keeps nothing of what was added: it is told again, or needed no more. */
  forget(): void {
    this.#outbox.forget();
    this.#outbox = new Outbox(this.keeper);
    this.#beginsAtStart = false;
  }

  /** What was added since `forget`, or ever, is all that was said. */
  complete(): void {
    this.#beginsAtStart = true;
  }
}

/** A `session/update`; `update` is JSON text. */
export function updateLine(sessionId: string, update: string): Buffer {
  return joined(
    notificationLine('session/update', `{"sessionId":${JSON.stringify(sessionId)},"update":${update}}`),
  );
}

/** Tells a client that it does not get all of the past. */
export function missingPart(sessionId: string): Buffer {
  const text =
    '\n\ncai: Earlier messages of this session are not kept here. Load it again after this turn.\n\n';
  const content = { type: 'text', text };
  const update = { sessionUpdate: 'agent_message_chunk', messageId: randomUUID(), content };
  return joined(notificationLine('session/update', JSON.stringify({ sessionId, update, ...ownMark })));
}

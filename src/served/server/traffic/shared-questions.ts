/** The questions of an agent in one session that all clients of the session get: the first answer to each counts. */
import { cancelLine, newOwnId } from '../../../rpc/answer';
import type { Message } from '../../../rpc/message';
import { joined, withId } from '../../../rpc/splice';
import type { Participant } from './participants';

/** The method of such a question. Other requests of agents are about the files and terminals of one client. */
export const sharedQuestion = 'session/request_permission';

interface Question {
  readonly guestId: string;
  readonly line: Buffer;
  readonly asked: Set<Participant>;
}

export class SharedQuestions {
  /** By the agent's id. */
  readonly #open = new Map<string, Question>();
  /** What is kept for guests who join later. */
  bytes = 0;

  constructor(private readonly sessionId: string) {}

  get size(): number {
    return this.#open.size;
  }

  has(agentId: string): boolean {
    return this.#open.has(agentId);
  }

  /** The agent asks: the guests get it, each under an id of our own. */
  add(message: Message, guests: Iterable<Participant>): void {
    const guestId = newOwnId();
    const question = { guestId, line: withId(message, guestId), asked: new Set<Participant>() };
    this.#open.set(message.id!, question);
    this.bytes += question.line.length;
    for (const guest of guests) this.#ask(guest, question);
  }

  /** A guest gets all that it does not have open. */
  askAll(guest: Participant): void {
    for (const question of this.#open.values()) this.#ask(guest, question);
  }

  /** The agent's id of the open question that a guest knows by that id. */
  agentIdOf(guestId: string): string | undefined {
    return [...this.#open].find(([, question]) => question.guestId === guestId)?.[0];
  }

  /** A question is answered, by `by`, or withdrawn: the other guests are told. */
  settle(agentId: string, by?: Participant): void {
    const question = this.#open.get(agentId);
    if (question === undefined) return;
    this.#open.delete(agentId);
    this.bytes -= question.line.length;
    const told = joined(cancelLine(question.guestId));
    for (const guest of question.asked) if (guest !== by) guest.deliver(told, this.sessionId);
  }

  settleAll(): void {
    for (const agentId of [...this.#open.keys()]) this.settle(agentId);
  }

  /** A guest leaves: it is asked no more. */
  left(guest: Participant): void {
    for (const { guestId, asked } of this.#open.values())
      if (asked.delete(guest)) guest.deliver(joined(cancelLine(guestId)), this.sessionId);
  }

  #ask(guest: Participant, { line, asked }: Question): void {
    if (asked.has(guest)) return;
    asked.add(guest);
    guest.deliver(line, this.sessionId);
  }
}

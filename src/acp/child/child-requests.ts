/** The requests that one agent has not answered yet. */
import type { CaiError } from '../../errors';
import type { Plan } from '../../rpc/json';
import type { Message } from '../../rpc/message';
import { OpenRequests } from '../../rpc/open-requests';
import { OpenTurns } from './open-turns';

/** A request that the agent has to answer. Exactly one of the two callbacks is called, once. */
export interface ChildRequest {
  readonly resultPlan?: Plan | undefined;
  /** The editor's request on whose behalf it was sent, JSON text; the agent may refer to it. */
  readonly editorId?: string | undefined;
  readonly method: string;
  readonly session?: object | undefined;
  /** The agent has answered, with a result or an error. */
  onAnswer(message: Message): void;
  onFailure(reason: CaiError): void;
}

/** A request that was sent, with the id (JSON text) that the agent knows. */
export type SentRequest = ChildRequest & {
  readonly childId: string;
  /** How many bytes the agent was sent before it. */
  readonly sentAt: number;
};

export class ChildRequests {
  readonly #open = new OpenRequests<SentRequest>();
  /** The sessions about which a prompt is among them. */
  readonly turns = new OpenTurns();

  get size(): number {
    return this.#open.size;
  }

  /** A request was sent under `childId`, JSON text, which was not open, after so many bytes. */
  add(childId: string, request: ChildRequest, sentAt = 0): void {
    // In this order: a member behind the spread costs a microsecond more.
    this.#put({ childId, sentAt, ...request });
  }

  /** The open request that `childId` (JSON text) names, also when the agent has written it otherwise. */
  find(childId: string): SentRequest | undefined {
    return this.#open.find(childId);
  }

  /**
   * Gives an answer to the request that it is for; false if no such request is open. If `onAnswer` throws, the request is still
   * open, so that whoever catches the error can fail it.
   */
  settle(childId: string, answer: Message): boolean {
    const request = this.#take(childId);
    if (request === undefined) return false;
    try {
      request.onAnswer(answer);
    } catch (reason) {
      this.#put(request);
      throw reason;
    }
    this.turns.wake(request.session);
    return true;
  }

  /** Fails one request; false if it is not open. */
  fail(childId: string, reason: CaiError): boolean {
    const request = this.#take(childId);
    request?.onFailure(reason);
    this.turns.wake(request?.session);
    return request !== undefined;
  }

  failAll(reason: CaiError): void {
    this.failAfter(0, reason);
  }

  failAbout(session: object, reason: CaiError): void {
    for (const request of this.#open.all) if (request.session === session) this.fail(request.childId, reason);
  }

  /** Fails the requests that were sent after so many bytes. */
  failAfter(sentBytes: number, reason: CaiError): void {
    for (const { childId, sentAt } of this.#open.all) if (sentAt >= sentBytes) this.fail(childId, reason);
  }

  /** Forgets all requests without calling anybody. */
  clear(): void {
    this.#open.takeAll();
    this.turns.clear();
  }

  #put(request: SentRequest): void {
    this.#open.add(request.childId, request);
    this.turns.count(request.method, request.session, 1);
  }

  #take(childId: string): SentRequest | undefined {
    const request = this.#open.take(childId);
    if (request !== undefined) this.turns.count(request.method, request.session, -1);
    return request;
  }
}

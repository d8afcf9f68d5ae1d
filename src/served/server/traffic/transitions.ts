/**
 * Calls that open a session, have its past told again, or end it, from the moment when the agent gets them until it
 * answers. The agent takes them in this order, so what it says until an answer belongs to the first of them.
 */
import type { CallOfSession, Participant } from './participants';

/** Calls that open a session that exists, perhaps in another connection. */
export const joiningMethods: ReadonlySet<string> = new Set(['session/load', 'session/resume']);

/** Calls after which the session is gone. */
export const endingMethods: ReadonlySet<string> = new Set(['session/close', 'session/delete']);

/** Who gets what the agent says; nobody, if whoever has asked for it is gone. */
type Audience = Participant | 'all' | undefined;

interface Transition {
  readonly call: CallOfSession;
  audience: Audience;
}

export class Transitions {
  #all: readonly Transition[] = [];

  /** `onTold`: the agent tells the past from the start now. */
  constructor(private readonly onTold: () => void) {}

  get areOver(): boolean {
    return this.#all.length === 0;
  }

  get audience(): Audience {
    const [first] = this.#all;
    return first === undefined ? 'all' : first.audience;
  }

  /** Whether another client is opening the session, or anyone ends it. */
  areInTheWayOf(client: Participant): boolean {
    return this.#all.some(({ call }) => call.by !== client || endingMethods.has(call.method));
  }

  isOpeningFor(by: Participant): boolean {
    return this.#all.some(({ call }) => call.by === by && joiningMethods.has(call.method));
  }

  /** Whether the agent speaks because of that call now. */
  isNext(call: CallOfSession): boolean {
    return this.#all[0]?.call === call;
  }

  /** The agent gets one. Only `session/load` has the past told, which is for its client unless `isForAll`. */
  add(call: CallOfSession, isForAll: boolean): void {
    const audience = call.method === 'session/load' && !isForAll ? call.by : 'all';
    this.#set([...this.#all, { call, audience }]);
  }

  /** The agent has answered one, or never will. */
  remove(call: CallOfSession): void {
    this.#set(this.#all.filter((each) => each.call !== call));
  }

  /** What is told is for everybody from now on. */
  areForAll(): void {
    for (const each of this.#all) each.audience = 'all';
  }

  left(client: Participant): void {
    for (const each of this.#all) if (each.audience === client) each.audience = undefined;
  }

  #set(all: readonly Transition[]): void {
    const [before] = this.#all;
    const [first] = all;
    this.#all = all;
    if (first !== before && first?.call.method === 'session/load') this.onTold();
  }
}

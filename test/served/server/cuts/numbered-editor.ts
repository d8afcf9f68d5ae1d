/**
 * An editor that holds turns in several sessions at once, each message of which has a number (`agent.mjs`), and says what
 * was lost, doubled or out of order.
 */
import type { Json } from '../../../support/inbox';
import type { Random } from './random';

/** What carries messages to the agent and back. */
export interface Wire {
  /** Sends a message that is about that session, if it is about one. */
  send(message: Json, sessionId?: string): Promise<void> | void;
  /** A session is open from now on. */
  opened?(sessionId: string): void;
}

interface Order {
  readonly session: string;
  readonly turn: number;
  readonly updates: number;
  readonly bytes: number;
  readonly permissions: number;
  readonly waits: boolean;
}

/** What came of a turn. */
export interface Turn {
  readonly order: Order;
  /** How long its prompt's text is. */
  readonly padding: number;
  /** Numbers of the updates that came, in their order. */
  readonly updates: number[];
  /** Of the prompt. */
  answer?: Json;
}

/** One session of an editor. */
export interface Held {
  readonly name: string;
  readonly id: string;
  readonly turns: Turn[];
}

const mebibyte = 1024 * 1024;

/** One editor. */
export class NumberedEditor {
  readonly sessions: Held[] = [];
  /** What must never be. */
  readonly faults: string[] = [];
  /** Why sessions could not be opened at first. */
  readonly unopened: string[] = [];
  #lastId = 0;
  readonly #open = new Map<unknown, (answer: Json) => void>();

  constructor(
    private readonly name: string,
    private readonly wire: Wire,
    private readonly random: Random,
  ) {}

  /**
   * Holds turns in that many sessions, one after the other in each, until `isOver`. The last one in each is answered with
   * a result, so that nothing is left of those before.
   */
  async run(cwd: string, sessions: number, isOver: () => boolean): Promise<void> {
    await this.request('initialize', { protocolVersion: 1 });
    await Promise.all(
      Array.from({ length: sessions }, async (_, number) => {
        const id = await this.#openSession(cwd);
        const held: Held = { name: `${this.name}-${number}`, id, turns: [] };
        this.sessions.push(held);
        this.wire.opened?.(id);
        while (!isOver() || held.turns.at(-1)?.answer?.result === undefined) await this.#turn(held);
      }),
    );
  }

  /** Tries again as long as it fails. */
  async #openSession(cwd: string): Promise<string> {
    for (;;) {
      const { result, error } = await this.request('session/new', { cwd, mcpServers: [] });
      if (result !== undefined) return (result as Json).sessionId as string;
      this.unopened.push(JSON.stringify(error));
    }
  }

  /** Sends a request; resolves with its answer. */
  async request(method: string, params: Json, sessionId?: string): Promise<Json> {
    const id = ++this.#lastId;
    const answer = new Promise<Json>((resolve) => this.#open.set(id, resolve));
    await this.wire.send({ id, method, params }, sessionId);
    return await answer;
  }

  /** A message has come. */
  take(message: Json): void {
    const { id, method, params } = message as { id?: unknown; method?: string; params?: Json };
    if (method === 'session/update') this.#update(params!);
    else if (method === 'session/request_permission') this.#answer(id, params!);
    else if (method === undefined) {
      const resolve = this.#open.get(id);
      if (resolve === undefined) this.faults.push(`an answer too much: ${JSON.stringify(message)}`);
      this.#open.delete(id);
      resolve?.(message);
    } else if (method !== '$/cancel_request' && method !== '_containai/turn_ended') {
      this.faults.push(`unexpected ${method}`);
    }
  }

  async #turn(held: Held): Promise<void> {
    const order = this.#order(held);
    const padding = 'y'.repeat(this.random.chance(0.02) ? mebibyte : this.random.whole(0, 2_000));
    const turn: Turn = { order, padding: padding.length, updates: [] };
    held.turns.push(turn);
    const prompt = [
      { type: 'text', text: JSON.stringify(order) },
      { type: 'text', text: padding },
    ];
    const answered = this.request('session/prompt', { sessionId: held.id, prompt }, held.id);
    if (order.waits) await this.#cancel(held, order, 'first');
    turn.answer = await answered;
    // The agent may not have got it.
    if (order.waits && turn.answer.error !== undefined) await this.#cancel(held, order, 'again');
  }

  async #cancel({ id, name }: Held, { turn }: Order, cancel: 'first' | 'again'): Promise<void> {
    const params = { sessionId: id, _meta: { session: name, turn, cancel } };
    await this.wire.send({ method: 'session/cancel', params }, id);
  }

  #order({ name, turns }: Held): Order {
    const { random } = this;
    const turn = turns.length + 1;
    const isLarge = random.chance(0.02);
    const updates = isLarge ? 2 : random.whole(0, 80);
    const permissions = Math.min(updates, random.pick([0, 0, 1, 3]));
    const bytes = isLarge ? mebibyte : random.whole(0, 600);
    return { session: name, turn, updates, bytes, permissions, waits: random.chance(0.1) };
  }

  #update({ sessionId, update }: Json): void {
    const held = this.sessions.find(({ id }) => id === sessionId);
    const { text } = (update as { content: { text: string } }).content;
    const [turn, number] = text.split(' ', 2).map(Number) as [number, number];
    const of = held?.turns[turn - 1];
    const last = of?.updates.at(-1) ?? 0;
    const where = `${held?.name ?? String(sessionId)} turn ${turn} update ${number}`;
    if (of === undefined || held!.turns.slice(turn).some(({ updates }) => updates.length > 0))
      this.faults.push(`${where} is out of order`);
    else if (number <= last) this.faults.push(`${where} came after ${last}`);
    else if (text.length !== `${turn} ${number} `.length + of.order.bytes)
      this.faults.push(`${where} is not whole`);
    of?.updates.push(number);
  }

  #answer(id: unknown, { sessionId, toolCall }: Json): void {
    const answer = (toolCall as Json).toolCallId;
    const outcome = { outcome: 'selected', optionId: 'yes' };
    void this.wire.send({ id, result: { outcome, _meta: { answer } } }, sessionId as string);
  }
}

/** What turns have cost, by session and in all. */
import { RequestError } from '@agentclientprotocol/sdk';
import type { Shape } from './output/shapes';
import { nothingSpent, type SessionStore, type Spent } from './sessions';
import type { Turn } from './turn';

const notTold = ['costs', 'rate limits'];

export function spentWith(spent: Spent, { result, toolCalls }: Turn): Spent {
  const { durationMs = 0, tokens } = result ?? {};
  return sum(spent, { ...nothingSpent, ...tokens, durationMs, toolCalls, turns: 1 });
}

/** Of one session, or of all: each one's, the sum and the average of a turn. Fails for a session that is not known. */
export function usageOf(store: SessionStore, sessionId: string | undefined): Shape {
  const records = store.list().filter(({ id }) => sessionId === undefined || id === sessionId);
  if (sessionId !== undefined && records.length === 0) throw RequestError.sessionNotFound(sessionId);
  const total = records.reduce((all, { spent }) => sum(all, spent), nothingSpent);
  const average = Object.entries(total).map(([key, value]) => [key, value / total.turns] as const);
  return {
    sessions: records.map(({ id, cwd, title, model, createdAt, updatedAt, spent }) => {
      return { sessionId: id, cwd, title, model, createdAt, updatedAt, ...spent };
    }),
    total,
    averagePerTurn: total.turns === 0 ? null : { ...Object.fromEntries(average), turns: undefined },
    notTold,
  };
}

function sum(one: Spent, other: Spent): Spent {
  const keys = Object.keys(nothingSpent) as (keyof Spent)[];
  return Object.fromEntries(keys.map((key) => [key, one[key] + other[key]])) as unknown as Spent;
}

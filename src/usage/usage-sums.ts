/** What usage adds up to. */
import type { TokenCounts, UsageRecord } from './usage';

/** What sums are made for. */
export type Grouping = 'session' | 'agent' | 'workspace' | 'model';

/** A sum of records. */
export interface UsageSum {
  /** Whose it is: an id, a name, a path, a model. */
  readonly key: string;
  /** Names of the agents, in the order of their first turn. */
  readonly agents: readonly string[];
  /** Turns that were begun. By model: in which it took part. */
  readonly turns: number;
  /** Their durations, in milliseconds. */
  readonly durationMs: number;
  /** Their tokens. */
  readonly tokens: TokenCounts;
  /** Their cost by currency. */
  readonly cost: Readonly<Record<string, number>>;
  /** Tool calls. */
  readonly tools: number;
  /** Those of them that failed. */
  readonly failedTools: number;
  /** Those whose duration is known. */
  readonly timedTools: number;
  /** The sum of these durations, in milliseconds. */
  readonly toolMs: number;
}

/** What a turn has on average; the duration of a tool call is that of one whose duration is known. */
export interface UsageAverage {
  /** In milliseconds. */
  readonly durationMs: number;
  /** Tokens. */
  readonly tokens: TokenCounts;
  /** Cost by currency. */
  readonly cost: Readonly<Record<string, number>>;
  /** Tool calls. */
  readonly tools: number;
  /** How long one of them takes, in milliseconds. */
  readonly toolMs: number;
}

/** Under which model stands what no model can be told for. */
export const unknownModel = '(not told)';
/** Under which model stand time, tools and cost of turns in which several took part. */
export const severalModels = '(several)';

const noTokens: TokenCounts = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0, thought: 0, total: 0 };

/** One sum for each key of the grouping, the one with most tokens first. */
export function sumsBy(records: readonly UsageRecord[], by: Grouping): UsageSum[] {
  const groups = new Map<string, UsageRecord[]>();
  for (const [key, record] of records.flatMap((each) => partsOf(each, by))) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [record]);
    else group.push(record);
  }
  const sums = [...groups].map(([key, group]) => sumOf(group, key));
  return sums.sort((a, b) => b.tokens.total - a.tokens.total || b.turns - a.turns);
}

/** The sum of all. */
export function sumOf(records: readonly UsageRecord[], key = ''): UsageSum {
  const total = (value: (record: UsageRecord) => number): number =>
    records.reduce((sum, record) => sum + value(record), 0);
  // An agent names the currency, and it may be `constructor`.
  const cost = new Map<string, number>();
  for (const { cost: each } of records) {
    if (each !== undefined) cost.set(each.currency, (cost.get(each.currency) ?? 0) + each.amount);
  }
  return {
    key,
    agents: [...new Set(records.map(({ agent }) => agent))],
    turns: total((record) => record.turns),
    durationMs: total((record) => record.durationMs),
    tokens: records.reduce((sum, { tokens }) => plus(sum, tokens), noTokens),
    cost: Object.fromEntries(cost),
    tools: total((record) => record.tools),
    failedTools: total((record) => record.failedTools),
    timedTools: total((record) => record.timedTools),
    toolMs: total((record) => record.toolMs),
  };
}

/** What a turn of a sum has on average; undefined without a turn. */
export function averageOf(sum: UsageSum): UsageAverage | undefined {
  const { turns } = sum;
  if (turns === 0) return undefined;
  return {
    durationMs: sum.durationMs / turns,
    tokens: mapped(sum.tokens, (count) => count / turns),
    cost: Object.fromEntries(
      Object.entries(sum.cost).map(([currency, amount]) => [currency, amount / turns]),
    ),
    tools: sum.tools / turns,
    toolMs: sum.timedTools === 0 ? 0 : sum.toolMs / sum.timedTools,
  };
}

/** The tokens of both. */
export function plus(a: TokenCounts, b: TokenCounts | undefined): TokenCounts {
  return b === undefined ? a : mapped(a, (count, name) => count + b[name]);
}

function mapped(tokens: TokenCounts, map: (count: number, name: keyof TokenCounts) => number): TokenCounts {
  const { input, output, cachedRead, cachedWrite, thought, total } = tokens;
  return {
    input: map(input, 'input'),
    output: map(output, 'output'),
    cachedRead: map(cachedRead, 'cachedRead'),
    cachedWrite: map(cachedWrite, 'cachedWrite'),
    thought: map(thought, 'thought'),
    total: map(total, 'total'),
  };
}

/** A record under its key; by model, of a turn of several each one's tokens, and the rest by itself. */
function partsOf(record: UsageRecord, by: Grouping): [string, UsageRecord][] {
  if (by === 'session') return [[record.session, record]];
  if (by === 'agent') return [[record.agent, record]];
  if (by === 'workspace') return [[record.root, record]];
  const { models } = record;
  if (models.length < 2) return [[models[0]?.model ?? unknownModel, record]];
  const none = { durationMs: 0, tools: 0, failedTools: 0, timedTools: 0, toolMs: 0, models: [] };
  const { tokens: all, cost, ...rest } = record;
  const parts = models.map(({ model, tokens }): [string, UsageRecord] => {
    return [model, { ...rest, ...none, ...(tokens && { tokens }) }];
  });
  // Tokens of several that no row tells are nobody's.
  const untold = parts.some(([, { tokens }]) => tokens !== undefined) ? undefined : all;
  const shared = { ...rest, turns: 0, ...(cost && { cost }), ...(untold && { tokens: untold }) };
  return [...parts, [severalModels, shared]];
}

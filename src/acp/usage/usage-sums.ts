/** Adds up the records of turns, for `cai usage`. */
import { countedFields, tokenKinds, type TokenCounts, type UsageRecord } from './usage';

/** Whether there is a sum for each session, agent, workspace or model. */
export type Grouping = 'session' | 'agent' | 'workspace' | 'model';

/** What records add up to; by model, `turns` are those in which the model took part. */
export interface UsageSum extends Pick<UsageRecord, (typeof countedFields)[number]> {
  /** The session's id, the agent's name, the path of the workspace or the name of the model that the sum is of. */
  readonly key: string;
  /** Names of the agents, in the order of their first turn. */
  readonly agents: readonly string[];
  readonly tokens: TokenCounts;
  readonly cost: Readonly<Record<string, number>>;
}

/** What a turn has on average; `toolMs` is the duration of one tool call, of those whose duration is known. */
export type UsageAverage = Pick<UsageSum, 'durationMs' | 'tokens' | 'cost' | 'tools' | 'toolMs'>;

/** The key of the sum of turns whose model the agent did not tell. */
export const unknownModel = '(not told)';
/** The key of the sum of time, tools and cost of turns in which several models took part. */
export const severalModels = '(several)';

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

/** One sum of all records. */
export function sumOf(records: readonly UsageRecord[], key = ''): UsageSum {
  const total = (value: (record: UsageRecord) => number): number =>
    records.reduce((sum, record) => sum + value(record), 0);
  // An agent names the currency, and it may be `constructor`.
  const cost = new Map<string, number>();
  for (const { cost: each } of records) {
    if (each !== undefined) cost.set(each.currency, (cost.get(each.currency) ?? 0) + each.amount);
  }
  const counted = Object.fromEntries(countedFields.map((name) => [name, total((record) => record[name])]));
  return {
    ...(counted as Pick<UsageSum, (typeof countedFields)[number]>),
    key,
    agents: [...new Set(records.map(({ agent }) => agent))],
    tokens: mapped((kind) => total(({ tokens }) => tokens?.[kind] ?? 0)),
    cost: Object.fromEntries(cost),
  };
}

/** The averages of a sum; `undefined` if it has no turn. */
export function averageOf(sum: UsageSum): UsageAverage | undefined {
  const { turns } = sum;
  if (turns === 0) return undefined;
  return {
    durationMs: sum.durationMs / turns,
    tokens: mapped((kind) => sum.tokens[kind] / turns),
    cost: Object.fromEntries(
      Object.entries(sum.cost).map(([currency, amount]) => [currency, amount / turns]),
    ),
    tools: sum.tools / turns,
    toolMs: sum.timedTools === 0 ? 0 : sum.toolMs / sum.timedTools,
  };
}

export function plus(a: TokenCounts, b: TokenCounts): TokenCounts {
  return mapped((kind) => a[kind] + b[kind]);
}

function mapped(map: (kind: keyof TokenCounts) => number): TokenCounts {
  return Object.fromEntries(tokenKinds.map((kind) => [kind, map(kind)])) as TokenCounts;
}

/** A record under its key. By model, one with several models becomes a part for each, and one for the rest. */
function partsOf(record: UsageRecord, by: Grouping): [string, UsageRecord][] {
  const { session, agent, root: workspace, models } = record;
  if (by !== 'model') return [[{ session, agent, workspace }[by], record]];
  if (models.length < 2) return [[models[0]?.model ?? unknownModel, record]];
  const none = { durationMs: 0, tools: 0, failedTools: 0, timedTools: 0, toolMs: 0, models: [] };
  const { tokens: all, cost, ...rest } = record;
  const parts = models.map(({ model, tokens }): [string, UsageRecord] => {
    return [model, { ...rest, ...none, ...(tokens && { tokens }) }];
  });
  // Where the agent tells no model's part of the tokens, all belong to none.
  const untold = parts.some(([, { tokens }]) => tokens !== undefined) ? undefined : all;
  const shared = { ...rest, turns: 0, ...(cost && { cost }), ...(untold && { tokens: untold }) };
  return [...parts, [severalModels, shared]];
}

/** Reads tokens, models and costs from what agents send: parsed JSON that may have any form. */
import type { Cost, Spent, TokenCounts } from './usage';
import { objectOf } from '../../system/unless';
import { plus } from './usage-sums';

/** Longest text that is kept of an agent's words, in characters. */
const maxLength = 200;
/** Models of a turn that are kept. */
const maxModels = 10;
/** Models of a turn whose tokens are counted. */
const maxRows = 100;

/**
 * What the result of a prompt tells. The rows by model in `_meta.quota` count subagents, too, and may sum up to more
 * than the turn's own tokens. `model`: the session's, as the agent said earlier.
 */
export function spentIn(result: unknown, model: string | undefined): Spent {
  const { stopReason, usage, _meta } = objectOf(result);
  const quota = objectOf(objectOf(_meta).quota);
  const rows = rowsOf(quota.model_usage);
  const own = tokensOf(usage) ?? tokensOf(quota.token_count);
  const byModel = rows.reduce<TokenCounts | undefined>(
    (sum, { tokens }) => (sum === undefined ? tokens : plus(sum, tokens)),
    undefined,
  );
  const tokens = (byModel?.total ?? 0) > (own?.total ?? 0) ? byModel : own;
  const alone = model === undefined ? [] : [{ model, ...(tokens && { tokens }) }];
  return {
    stop: textIn(stopReason) ?? 'unknown',
    ...(tokens && { tokens }),
    models: rows.length > 0 ? rows.slice(0, maxModels) : alone,
  };
}

/** The cost in a `usage_update`; `undefined` if it has no valid cost. */
export function costOf(update: unknown): Cost | undefined {
  const cost = objectOf(objectOf(update).cost);
  const amount = count(cost.amount);
  const currency = textIn(cost.currency);
  return amount === undefined || currency === undefined ? undefined : { amount, currency };
}

/** The model that something names: the result of opening a session, a list of options, a usage update. */
export function modelIn(value: unknown): string | undefined {
  const { models, configOptions, _meta } = objectOf(value);
  const options: readonly unknown[] = Array.isArray(configOptions) ? configOptions : [];
  const option = options.map(objectOf).find(({ category }) => category === 'model');
  const named = [objectOf(_meta)['_claude/model'], option?.currentValue, objectOf(models).currentModelId];
  return named.map(textIn).find((text) => text !== undefined);
}

function rowsOf(value: unknown): { model: string; tokens: TokenCounts }[] {
  const rows: readonly unknown[] = Array.isArray(value) ? value.slice(0, maxRows) : [];
  return rows.map(objectOf).flatMap(({ model, token_count }) => {
    const name = textIn(model);
    const tokens = tokensOf(token_count);
    return name === undefined || tokens === undefined ? [] : [{ model: name, tokens }];
  });
}

/** Counts in the words of the schema, of claude and codex, or of gemini; undefined if the object has no counts. */
function tokensOf(value: unknown): TokenCounts | undefined {
  if (value === undefined) return undefined;
  const counts = objectOf(value);
  const first = (...names: string[]): number | undefined =>
    names.map((name) => count(counts[name])).find((value) => value !== undefined);
  const input = first('inputTokens', 'input_tokens');
  const output = first('outputTokens', 'output_tokens');
  const total = first('totalTokens', 'total_tokens');
  if (input === undefined && output === undefined && total === undefined) return undefined;
  return {
    input: input ?? 0,
    output: output ?? 0,
    cachedRead: first('cachedReadTokens', 'cachedInputTokens') ?? 0,
    cachedWrite: first('cachedWriteTokens') ?? 0,
    thought: first('thoughtTokens', 'reasoningOutputTokens') ?? 0,
    // Some leave the sum at 0.
    total: total === undefined || total === 0 ? (input ?? 0) + (output ?? 0) : total,
  };
}

/** A count that can be added up: not negative, and not too large for exact sums. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, maxLength) : undefined;
}

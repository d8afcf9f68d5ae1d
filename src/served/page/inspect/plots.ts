/** Tokens and cost over time, by workspace or by agent: a plot, and the same as a table. */
import { el } from '../dom';
import { drawing, shape, width } from './drawing';
import type { Row } from './row';
import { countText } from './words';

const height = 90;
/** Lines that are drawn; a table has all. */
const maxLines = 6;

/** What a workspace or an agent has spent. */
export interface Sum {
  readonly name: string;
  turns: number;
  input: number;
  output: number;
  tokens: number;
  readonly cost: Map<string, number>;
  /** How tokens, and each currency, have grown: time in milliseconds, and the sum then. */
  readonly growth: Map<string, [ms: number, sum: number][]>;
}

const tokens = 'tokens';

/** The sums of rows, the one with most tokens first. */
export function sumsOf(rows: readonly Row[], by: 'workspace' | 'agent', agent: string): readonly Sum[] {
  const sums = new Map<string, Sum>();
  for (const { spent, child, ms = 0 } of rows) {
    if (spent === undefined) continue;
    const name = by === 'agent' ? `${agent} ${child ?? ''}`.trim() : spent.workspace || '(no workspace)';
    const none = { name, turns: 0, input: 0, output: 0, tokens: 0 };
    const sum: Sum = sums.get(name) ?? { ...none, cost: new Map(), growth: new Map() };
    sums.set(name, sum);
    if (spent.tokens !== undefined) {
      sum.turns++;
      sum.input += spent.tokens.input;
      sum.output += spent.tokens.output;
      sum.tokens += spent.tokens.total;
      grow(sum, tokens, ms, sum.tokens);
    }
    if (spent.cost !== undefined) {
      const { amount, currency } = spent.cost;
      const cost = (sum.cost.get(currency) ?? 0) + amount;
      sum.cost.set(currency, cost);
      grow(sum, currency, ms, cost);
    }
  }
  return [...sums.values()].sort((a, b) => b.tokens - a.tokens);
}

function grow({ growth }: Sum, what: string, ms: number, sum: number): void {
  const points = growth.get(what);
  if (points === undefined) growth.set(what, [[ms, sum]]);
  else points.push([ms, sum]);
}

/** Draws them; `lastMs`: where time ends. */
export function drawPlots(sums: readonly Sum[], by: string, lastMs: number): HTMLElement {
  if (sums.length === 0) return el('p', { class: 'quiet' }, 'The agent has told neither tokens nor costs.');
  const told = new Set(sums.flatMap(({ growth }) => [...growth.keys()]));
  const whats = [tokens, ...[...told].filter((what) => what !== tokens)].slice(0, 4);
  const plots = whats.map((what) => drawPlot(sums.slice(0, maxLines), what, lastMs));
  const head = el(
    'tr',
    {},
    ...[by, 'Turns', 'Input', 'Output', 'Tokens', 'Cost'].map((each) => el('th', { scope: 'col' }, each)),
  );
  const lines = sums.map((sum, index) => {
    const { name, turns, input, output, tokens: all } = sum;
    const cost = [...sum.cost].map(([currency, amount]) => `${amount.toFixed(4)} ${currency}`).join(' + ');
    const sample = drawing(4, shape('path', { class: `line-${index}`, d: `M0 2h${width}` }));
    const first = el('th', { scope: 'row' }, name);
    if (index < maxLines) first.prepend(sample);
    return el(
      'tr',
      {},
      first,
      ...[turns, input, output, all].map((each) => el('td', {}, countText(each))),
      el('td', {}, cost),
    );
  });
  const table = el('table', {}, el('thead', {}, head), el('tbody', {}, ...lines));
  return el('div', { class: 'plots' }, el('div', { class: 'figures' }, ...plots), table);
}

/** Each sum as a line of steps. */
function drawPlot(sums: readonly Sum[], what: string, lastMs: number): HTMLElement {
  const most = Math.max(
    ...sums.flatMap(({ growth }) => growth.get(what)?.at(-1)?.[1] ?? 0),
    Number.MIN_VALUE,
  );
  const lines = sums.map(({ growth }, index) => {
    const steps = (growth.get(what) ?? []).map(([ms, sum]) => {
      const [x, y] = [(ms / Math.max(lastMs, 1)) * width, height - (sum / most) * (height - 4)];
      return `H${x.toFixed(1)}V${y.toFixed(1)}`;
    });
    return shape('path', { class: `line-${index}`, d: `M0 ${height}${steps.join('')}H${width}` });
  });
  const top = what === tokens ? countText(most) : most.toFixed(4);
  const caption = el('figcaption', {}, what, el('small', {}, ` up to ${top}`));
  return el('figure', {}, caption, drawing(height, ...lines));
}

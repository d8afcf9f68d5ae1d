/* What was measured as tables: for the terminal while it runs, and as Markdown. */
import { compared, interval, median, verdict } from './statistics.cjs';

const titles = {
  pipe: 'byte pipe',
  again: 'byte pipe again',
  json: 'JSON line loop',
  sdk: 'SDK bridge',
  node: 'bare node',
  slow: 'WebSocket, one reads nothing',
};
/** What a contender is called in tables. */
export const titleOf = (name) => titles[name] ?? name;

/** Three significant digits, and whole numbers above. */
export function number(value) {
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '-∞';
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)));
}

/** The median and, where there is one, the interval. */
export function range({ median: middle, low, high }) {
  const isKnown = low > -Infinity || high < Infinity;
  return isKnown ? `${number(middle)} (${number(low)} to ${number(high)})` : number(middle);
}

/**
 * A row for each metric: the median of the contender that it is compared with, and the others' ratios to it, in
 * the order of `names`; where a metric has none to compare with, each one's own figure.
 */
export function rowsOf({ metrics, names }, figures) {
  return Object.entries(metrics)
    .filter(([name]) => figures[name] !== undefined)
    .map(([name, { unit, to, lineBytes }]) => {
      const ofMetric = figures[name];
      const others = names.filter((each) => each !== to && each in ofMetric);
      const compare = to === undefined ? 'value' : 'ratio';
      const cells = others.map((of) => [of, interval(compared(ofMetric, { compare, of, to }))]);
      const figure = to === undefined ? unit : figureOf(titleOf(to), median(ofMetric[to]), unit, lineBytes);
      return { name, figure, cells: Object.fromEntries(cells) };
    });
}

function figureOf(title, value, unit, lineBytes) {
  const inBytes = lineBytes === undefined ? '' : `, ${number((value * lineBytes) / 1e6)} MB/s`;
  return `${title} ${number(value)} ${unit}${inBytes}`;
}

/** For the terminal: of others than `cai` the medians. */
export function textOf(measure, rows) {
  const names = namesIn(measure, rows);
  const cell = (name, ratio) =>
    ratio === undefined ? '' : name === 'cai' ? range(ratio) : number(ratio.median);
  const lines = rows.map(({ name, figure, cells }) => [
    name,
    figure,
    ...names.map((each) => cell(each, cells[each])),
  ]);
  const table = [['', '', ...names.map(titleOf)], ...lines];
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  return table
    .map((cells) => `  ${cells.map((text, column) => text.padEnd(widths[column])).join('  ')}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('');
}

function namesIn({ names }, rows) {
  return names.filter((name) => rows.some(({ cells }) => name in cells));
}

/** A Markdown table. */
export function tableOf(measure, rows) {
  const names = namesIn(measure, rows);
  const lines = rows.map(({ name, figure, cells }) => [
    name,
    figure,
    ...names.map((each) => (cells[each] === undefined ? '' : range(cells[each]))),
  ]);
  const head = ['', '', ...names.map(titleOf)];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const phrases = {
  ratio: ({ to }) => `times ${titleOf(to)}`,
  added: ({ to }) => `times what ${titleOf(to)} adds`,
  difference: ({ to, unit }) => `${unit} more than ${titleOf(to)}`,
  value: ({ unit }) => unit,
};

/**
 * Each budget with what came of it: `pass`, `fail`, `inconclusive`, or `not measured`. One with another limit in `or`
 * passes by either. `results`: by measure, its `metrics` and the `figures` by metric and contender.
 */
export function judged(budgets, results) {
  return budgets.map(({ or, ...budget }) => {
    const first = judgedOne(budget, results);
    if (or === undefined) return first;
    const second = judgedOne({ metric: budget.metric, of: budget.of, ...or }, results);
    const wanted = `${first.wanted}, or ${second.wanted}`;
    return { ...(first.verdict === 'pass' ? first : second), wanted };
  });
}

function judgedOne(budget, results) {
  const result = Object.values(results).find(({ figures }) => figures?.[budget.metric] !== undefined);
  const limit = budget.atLeast === undefined ? `at most ${budget.atMost}` : `at least ${budget.atLeast}`;
  const unit = result?.metrics[budget.metric].unit ?? budget.unit ?? '';
  const wanted = `${limit} ${phrases[budget.compare]({ ...budget, unit })}`;
  if (result === undefined) return { ...budget, wanted, verdict: 'not measured' };
  const got = interval(compared(result.figures[budget.metric], budget));
  return { ...budget, wanted, got, verdict: verdict(got, budget) };
}

/** For the terminal. */
export function budgetText(judgements) {
  return judgements
    .map(({ metric, wanted, got, verdict: outcome }) => {
      const figure = got === undefined ? '' : range(got);
      return `  ${outcome.padEnd(12)}  ${metric}: ${wanted}${figure === '' ? '' : `; is ${figure}`}\n`;
    })
    .join('');
}

/** As Markdown. */
export function budgetTable(judgements) {
  const lines = judgements.map(({ metric, wanted, got, verdict: outcome }) => {
    return `| ${metric} | ${wanted} | ${got === undefined ? '' : range(got)} | ${outcome} |`;
  });
  return ['| measure | budget | is | verdict |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

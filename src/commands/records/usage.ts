/** `cai usage`: what turns have cost, from what `cai --acp` has written down. */
import { Option } from 'commander';
import { CaiError } from '../../errors';
import {
  readUsage,
  averageOf,
  sumOf,
  sumsBy,
  type Grouping,
  type UsageAverage,
  type UsageSum,
} from '../../acp';
import { duration } from '../../config/config-kinds';
import { readState } from '../../system/state-folder';
import { common, declare } from '../support/command';
import { shownTime, table, tell, writeJson } from '../support/terminal';

interface Options {
  readonly since: string;
  readonly by: Grouping;
  readonly json?: true;
}

/** ISO 8601, its day first. */
const dateForm = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

/** Writes the table to stdout, and to stderr a hint if there is nothing; resolves with 0. */
export const run = declare<Options>({
  name: 'usage',
  description: `Shows what turns have cost: time, tool calls, and the tokens and costs that agents report. This is kept for as
long as sessions are ([sessions] keep); with persist = false nothing is.`,
  options: [
    new Option('--since <when>', 'from then on: a duration such as 24h or 7d, a date, or "all"').default(
      '24h',
    ),
    new Option('--by <what>', 'what to group by')
      .choices(['session', 'agent', 'workspace', 'model'])
      .default('workspace'),
    common.json,
  ],
  footer: `
Tokens and costs are what the agent reports, or "-" if it reports none. The time of a tool call includes
waiting for a permission. A turn in which several models took part counts for each of them; what cannot be
attributed to one of them is listed under "(several)".

JSON: since, until, by, rows: each with key (what --by groups by), agents, turns, durationMs, tools, failedTools,
timedTools, toolMs, tokens (null: the agent reports none; else input, output, cachedRead, cachedWrite, thought and total)
and cost (by currency); total: the same without key; averagePerTurn (null: no turns): durationMs, tools, tokens, cost,
and toolMs of one call.`,
  action: ({ since: beginning, by, json }, host) => {
    const now = Date.now();
    const sinceMs = timeOf(beginning, now);
    const records = readState(host.folders.state, 'usage', (folder) => readUsage(folder, sinceMs));
    const since = new Date(sinceMs).toISOString();
    const rows = sumsBy(records, by);
    const total = sumOf(records);
    const average = averageOf(total);
    const value = {
      since,
      until: new Date(now).toISOString(),
      by,
      rows: rows.map(told),
      total: { ...told(total), key: undefined },
      averagePerTurn: average === undefined ? null : told(average),
    };
    if (json === true) writeJson(value);
    else process.stdout.write(asTable(by, rows, total, average));
    if (records.length === 0) tell(`no turns since ${shownTime(since, process.stderr.isTTY)}`);
    return 0;
  },
});

/** A duration before `now`, or a date. Fails with `CaiError('USAGE')`. */
export function timeOf(text: string, now: number): number {
  if (text === 'all') return 0;
  const ms = duration().read(text);
  if (ms !== undefined) return Math.max(now - ms, 0);
  const [, day] = dateForm.exec(text) ?? [];
  const date = day !== undefined && isDay(day) ? Date.parse(text) : NaN;
  if (!Number.isNaN(date)) return date;
  throw new CaiError(
    'USAGE',
    `--since: "${text}" is neither a duration such as 24h, nor a date such as 2026-01-31, nor "all"`,
  );
}

/** Whether a month has such a day: Node takes February 30 for one of March. */
function isDay(day: string): boolean {
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

/** Where an agent tells no tokens, there need not have been none. */
function told<T extends UsageAverage>(sum: T) {
  return { ...sum, tokens: sum.tokens.total === 0 ? null : sum.tokens };
}

const numbers = ['TIME', 'TOOLS', 'TOOL TIME', 'INPUT', 'CACHED', 'OUTPUT', 'TOKENS', 'COST'];

function asTable(
  by: Grouping,
  rows: readonly UsageSum[],
  total: UsageSum,
  average: UsageAverage | undefined,
): string {
  const line = (name: string, agents: string, turns: string, cells: readonly string[]): string[] => {
    return [name, ...(by === 'agent' ? [] : [agents]), turns, ...cells];
  };
  const lines = [
    line(by.toUpperCase(), 'AGENT', 'TURNS', numbers),
    ...rows.map((row) => line(row.key || '-', row.agents.join(', '), String(row.turns), cellsOf(row))),
  ];
  if (rows.length > 1) lines.push(line('total', '', String(total.turns), cellsOf(total)));
  if (average !== undefined) lines.push(line('a turn', '', '', cellsOf(average)));
  return table(lines, [by.toUpperCase()]);
}

function cellsOf({ durationMs, tools, toolMs, tokens, cost }: UsageAverage): string[] {
  const { input, output, cachedRead, total } = tokens;
  const costs = Object.entries(cost).map(([currency, amount]) => `${amount.toFixed(4)} ${currency}`);
  return [
    timeText(durationMs),
    rounded(tools),
    tools === 0 ? '-' : timeText(toolMs),
    ...[input, cachedRead, output, total].map((count) => (total === 0 ? '-' : rounded(count))),
    costs.join(' + ') || '-',
  ];
}

function rounded(count: number): string {
  return Number.isInteger(count) ? String(count) : count.toFixed(count < 10 ? 1 : 0);
}

/** The two largest units: `850ms`, `12.3s`, `4m05s`, `2h10m`. */
function timeText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)];
  if (minutes < 60) return `${minutes}m${String(rest).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`;
}

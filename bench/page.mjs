/*
 * Writes results/tables.md between its two marks, and docs/benchmarks.svg. The text around the marks stays.
 * docs/benchmarks.md quotes some of the figures and is written by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'oxfmt';
import { measures } from './measures.mjs';
import { machine } from './machine.mjs';
import { plotOf } from './plot.mjs';
import { budgetTable, rowsOf, tableOf } from './report.mjs';

const page = join(import.meta.dirname, 'results/tables.md');
const plot = join(import.meta.dirname, '../docs/benchmarks.svg');
const [begin, end] = [
  '<!-- Figures: written by `npm run bench -- --full` -->',
  '<!-- End of the figures -->',
];

/** `results` by measure; `settings` are those of the run. */
export async function writePage(results, judgements, settings) {
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error('bench/results/tables.md has lost its marks');
  const figures = figuresOf(results, judgements, settings);
  const whole = `${text.slice(0, from)}${begin}\n\n${figures}\n\n${text.slice(to)}`;
  writeFileSync(page, (await format(page, whole, { printWidth: 110 })).code);
  if (results.throughput?.figures !== undefined) {
    writeFileSync(plot, plotOf(rowsOf(measures.throughput, results.throughput.figures)));
  }
}

function figuresOf(results, judgements, { rounds, loadBefore }) {
  const about = Object.entries(machine()).map(([what, value]) => `${what}: ${value}`);
  return [
    `Full run: ${rounds} rounds, ${new Date().toISOString().slice(0, 10)}. ${about.join('; ')}. Load before it: ${loadBefore.toFixed(2)}.`,
    '## Budgets',
    budgetTable(judgements),
    ...Object.entries(results).flatMap(([name, result]) => [`## ${name}`, sectionOf(name, result)]),
  ].join('\n\n');
}

function sectionOf(name, { figures, leftOut, error }) {
  if (figures === undefined) return leftOut === undefined ? `Failed: ${error}` : `Left out: ${leftOut}`;
  return tableOf(measures[name], rowsOf(measures[name], figures));
}

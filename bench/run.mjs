/*
 * `npm run bench`: how fast `cai --acp` is beside a byte pipe, a bare connection and its peers, in one run.
 *
 *   --full         8 rounds instead of 5, and longer measures where length matters; writes
 *                  bench/results/tables.md and docs/benchmarks.svg, unless only some measures or fewer rounds are taken
 *   --only A,B     only these measures
 *   --rounds N     that many rounds
 *   --list         the names of the measures
 *
 * Exit status 1 when a budget of budgets.json fails or a measure could not be taken; with --full also when a
 * budget is inconclusive or was not measured. 2 for wrong arguments, or a budget that nothing measures.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Place } from './contenders.mjs';
import { load, machine } from './machine.mjs';
import { measures } from './measures.mjs';
import { writePage } from './page.mjs';
import { budgetText, judged, rowsOf, textOf } from './report.mjs';
import { rotated } from './statistics.cjs';

const print = (text) => process.stdout.write(text);
/** Fewer are no verdict. */
const fullRounds = 8;
/** The measures that are taken unless others are asked for. */
const usual = Object.keys(measures).filter((name) => measures[name].isExtra !== true);
const budgets = JSON.parse(readFileSync(join(import.meta.dirname, 'budgets.json'), 'utf8'));

/** The arguments; exits where they are wrong. */
function options() {
  try {
    const { values } = parseArgs({
      options: {
        full: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        only: { type: 'string' },
        rounds: { type: 'string' },
      },
    });
    const { full, list } = values;
    const chosen = values.only?.split(',') ?? usual;
    const unknown = chosen.filter((name) => !(name in measures));
    if (unknown.length > 0) throw new Error(`no measure ${unknown.join(', ')}; --list has the names`);
    const rounds = Number(values.rounds ?? (full ? fullRounds : 5));
    if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds has to be a whole number from 1');
    const isWhole = usual.every((name) => chosen.includes(name)) && rounds >= fullRounds;
    return { isFull: full, isWritten: full && isWhole, isList: list, chosen, rounds };
  } catch (error) {
    process.stderr.write(`bench: ${error.message}\n`);
    process.exit(2);
  }
}

/** Fails for a budget of what nothing measures, which would never be missed. */
function checkBudgets() {
  const all = Object.values(measures);
  for (const { metric, of, to, over, or } of budgets) {
    const measure = all.find(({ metrics }) => metric in metrics);
    const known = measure === undefined ? [] : [...measure.names, measure.metrics[metric].to];
    const missing = [of, to, over, or?.to].find((name) => name !== undefined && !known.includes(name));
    if (missing === undefined) continue;
    process.stderr.write(`bench: budgets.json: no measure takes "${metric}" of "${missing}"\n`);
    process.exit(2);
  }
}

/** Figures by metric and contender, a list with one a round each. `failed` takes why a contender has none in a round. */
async function take(measure, rounds, isFull, failed) {
  const figures = {};
  for (let round = 0; round < rounds; round++) {
    // Of its own each round, so that none finds what the ones before have left.
    const place = new Place();
    try {
      const order = rotated(measure.names, round);
      const taken = await measure.round({ place, order, rotate: rotated, round, isFull, failed });
      for (const [metric, byName] of Object.entries(taken)) {
        for (const [name, value] of Object.entries(byName))
          ((figures[metric] ??= {})[name] ??= []).push(value);
      }
    } finally {
      place.remove();
    }
  }
  return figures;
}

/** What came of a measure: `figures`, and why there are none in `leftOut`, or why some are missing in `error`. */
async function run(name, measure, { rounds, isFull }) {
  const leftOut = await measure.unavailable?.();
  if (leftOut !== undefined) {
    print(`${name}: left out: ${leftOut}\n\n`);
    return { metrics: measure.metrics, leftOut };
  }
  const startedAt = performance.now();
  let error;
  try {
    const figures = await take(measure, rounds, isFull, (message) => {
      error ??= message;
      print(`${name}: failed: ${message}\n`);
    });
    const tookS = Math.round((performance.now() - startedAt) / 1_000);
    print(`${name}: ${rounds} rounds in ${tookS} s\n${textOf(measure, rowsOf(measure, figures))}\n`);
    return { metrics: measure.metrics, figures, error };
  } catch ({ message }) {
    print(`${name}: failed: ${message}\n\n`);
    return { metrics: measure.metrics, error: message };
  }
}

async function main() {
  const { isList, chosen, ...settings } = options();
  checkBudgets();
  if (isList) {
    print(`${Object.keys(measures).join('\n')}\n`);
    return;
  }
  if (process.platform !== 'linux') {
    process.stderr.write('bench: needs Linux, whose /proc tells processor time and memory\n');
    process.exitCode = 2;
    return;
  }
  const loadBefore = load();
  print(`${Object.values(machine()).join('; ')}; load ${loadBefore.toFixed(2)}\n\n`);
  if (loadBefore > 1) print('The machine is busy: ratios will spread, and budgets be inconclusive.\n\n');
  const results = {};
  for (const name of chosen) results[name] = await run(name, measures[name], settings);
  const judgements = judged(budgets, results);
  const asked = judgements.filter(({ metric }) => chosen.some((name) => metric in measures[name].metrics));
  print(`budgets\n${budgetText(asked)}`);
  if (settings.isWritten) await writePage(results, asked, { ...settings, loadBefore });
  const isBroken = Object.values(results).some(({ error }) => error !== undefined);
  const isMissed = asked.some(({ verdict }) => verdict === 'fail' || (settings.isFull && verdict !== 'pass'));
  process.exitCode = isBroken || isMissed ? 1 : 0;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
await main();

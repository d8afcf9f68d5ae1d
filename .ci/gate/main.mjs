/**
 * `.ci/run`: everything that a change has to pass, on a clean checkout, as `steps.mjs` lists it. Each step has a limit, and
 * all of them together have one; what has not run has failed. Test files that were green with the same content are not run
 * again for a day (`memory.mjs`), unless with `--all`. With `--nightly` neither, and the tests take all of their cases,
 * for which they have more time. What has failed is run once more at the end, with nothing beside it: a test that passes
 * then is flaky, which is told, and fails if it was so before. The last line is the sum of the tests; the exit status is 0
 * only if nothing failed.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endBySignals, isEnding, lastLines, limited } from './limited.mjs';
import { logs, noteFlaky, recalled, remember } from './memory.mjs';
import { resultsOf } from './results.mjs';

/** How long a service has to end, in milliseconds. */
const cleanUpMs = 120_000;
/** How long a wait of a test may last here, where suites run beside each other, in milliseconds; a test has twice that. */
const patienceMs = 120_000;
/** How much is shown of a step or a test that failed, in lines. */
const [shownOfStep, shownOfTest] = [40, 30];

const { phases } = await import(process.env.CAI_GATE_STEPS ?? './steps.mjs');
const steps = phases.flatMap(({ lanes }) => lanes.flat());
const root = process.cwd();
const { values: options } = parseArgs({
  options: { all: { type: 'boolean' }, nightly: { type: 'boolean' } },
});
/** How often the usual time a nightly run may take. */
const slowness = options.nightly ? 4 : 1;
/**
 * How long all of it may take, in milliseconds; after it nothing begins. A slow machine that has passed nothing yet takes
 * 50 minutes, and a run that takes more than 90 is ended by who has started it, with no word of what it had found.
 */
const allMs = slowness * 80 * 60_000;
const began = Date.now();
/** What the suites of the cluster tell each other, such as which images are there. */
const shared = mkdtempSync(join(tmpdir(), 'cai-gate-run-'));
const environment = {
  ...process.env,
  CAI_TEST_RUN: shared,
  CAI_TEST_PATIENCE_MS: String(patienceMs),
  ...(options.nightly && { CAI_NIGHTLY: '1' }),
};
/** Scripts of services that were started, the newest first. */
const services = [];
/** What each step came to, by its name, with the step. */
const outcomes = new Map();
/** What is kept of suites of which only some files are, by their names. */
const begun = new Map();

const print = (line) => process.stdout.write(`${line}\n`);
const shown = (lines) => lines.map((line) => `  | ${line}`).join('\n');
const seconds = (sinceMs) => `${Math.round((Date.now() - sinceMs) / 1000)} s`;

const sumOf = (all, what) => all.reduce((sum, each) => sum + each[what], 0);

/** What all processors have done since they began, in ticks. Source: proc_stat(5), the line `cpu`. */
function processorTimes() {
  const ticks = readFileSync('/proc/stat', 'utf8').split('\n')[0].split(/ +/).slice(1, 9).map(Number);
  const [idle, waits] = ticks.slice(3);
  const all = ticks.reduce((sum, each) => sum + each, 0);
  return { all, unused: idle + waits, waits };
}

/** How the processors were used since `before`; they also idle while a disk is waited for. */
function usedSince(before) {
  const now = processorTimes();
  const share = (what) => Math.round((100 * (now[what] - before[what])) / Math.max(1, now.all - before.all));
  return `processors ${100 - share('unused')} % busy, ${share('waits')} % waiting for discs`;
}

function sumLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** Ends a service; does nothing if it does not run. */
async function endService(script) {
  const log = join(logs, 'clean-up.log');
  const defect = await limited([script, 'stop'], { env: environment, log, limitMs: cleanUpMs });
  if (defect !== undefined) print(`${script} stop: ${defect}\n${shown(lastLines(log, shownOfStep))}`);
}

async function cleanUp() {
  for (const script of services.splice(0)) await endService(script);
  rmSync(shared, { recursive: true, force: true });
}

/** Ends the service of a step if nobody needs it any more: it takes time from other lanes. What has failed needs it again. */
async function endUnneeded({ name, script }) {
  const isDone = (step) => outcomes.get(step.name)?.failed.length === 0;
  const users = steps.filter(({ needs = [] }) => needs.includes(name));
  if (!services.includes(script) || !users.every(isDone)) return;
  await endService(script);
  services.splice(services.indexOf(script), 1);
}

/** A service is started at the second attempt if need be, and what it tells of itself is for all later steps. */
function commandOf({ command, script, filters = [] }, log) {
  if (script === undefined) return [...command, ...filters];
  const settings = `${log}.env`;
  const start = `{ "$0" start || "$0" start; } && settings=$("$0" env) && eval "$settings" && env -0 >"$1"`;
  return ['bash', '-c', start, script, settings];
}

/** Runs a step, but for the files that are `kept`; `again`: only these of its files, which have failed before. */
async function run(step, { again, kept = [] } = {}) {
  if (isEnding()) await new Promise(() => undefined);
  const log = join(logs, `${step.name}${again === undefined ? '' : '-again'}.log`);
  const limitMs = Math.min(slowness * step.limitS * 1000, began + allMs - Date.now());
  if (limitMs <= 0)
    return {
      passed: 0,
      skipped: 0,
      failed: [{ name: step.name, message: 'there was no time left' }],
      green: [],
    };
  const results = `${log}.results`;
  rmSync(results, { force: true });
  const env = { ...environment, ...step.env, CAI_GATE_RESULTS: results };
  if (step.isOneUser) env.CAI_TEST_USER = env.CAI_TEST_USER?.split(' ')[0];
  const script = step.script ?? step.stoppedBy;
  if (script !== undefined) services.unshift(script);
  const command = commandOf(again === undefined ? step : { ...step, filters: again }, log);
  // They come last: jest would take what follows for one more.
  if (step.isSuite)
    command.push(`--testTimeout=${2 * patienceMs}`, ...leftOut(env, log, kept), ...reporters(step));
  const defect = await limited(command, { env, log, limitMs });
  if (step.script !== undefined && defect === undefined) adopt(`${log}.env`);
  if (step.isSuite)
    return { ...resultsOf(results, root, { defect, mayBeEmpty: kept.length > 0 }), defect, log };
  const failed = defect === undefined ? [] : [{ name: step.name, message: '' }];
  const green = defect === undefined ? [{ name: step.name, passed: 0, skipped: 0 }] : [];
  return { passed: 0, skipped: 0, failed, green, defect, log };
}

/** The option that leaves out the files that are kept, if there are any. */
function leftOut(env, log, kept) {
  if (kept.length === 0) return [];
  env.CAI_GATE_KEPT = `${log}.kept`;
  writeFileSync(env.CAI_GATE_KEPT, JSON.stringify(kept.map(({ name }) => name)));
  return [`--filter=${join(import.meta.dirname, 'filter.cjs')}`, '--passWithNoTests'];
}

/** A suite that has reporters of its own has the usual one among them. */
function reporters({ hasReporters }) {
  const all = [...(hasReporters ? [] : ['default']), join(import.meta.dirname, 'reporter.mjs')];
  return all.map((each) => `--reporters=${each}`);
}

/** Takes over the environment that a service has left in a file. */
function adopt(file) {
  for (const entry of readFileSync(file, 'utf8').split('\0').filter(Boolean)) {
    const at = entry.indexOf('=');
    environment[entry.slice(0, at)] = entry.slice(at + 1);
  }
}

/** Whether a step is left out: it was green, or nobody needs the service. */
function isLeftOut({ name, script }) {
  if (script === undefined) return outcomes.has(name);
  return !steps.some((each) => each.needs?.includes(name) && !outcomes.has(each.name));
}

/** Takes over what was green with the same content. */
function recall(step) {
  const { isWhole, parts } = recalled(step);
  if (parts.length === 0) return;
  const hours = Math.round((Date.now() - Math.min(...parts.map(({ at }) => at))) / 3_600_000);
  const sums = { passed: sumOf(parts, 'passed'), skipped: sumOf(parts, 'skipped'), failed: [] };
  print(`${step.name}: kept (${hours} h): ${isWhole ? '' : 'in part, '}${sumLine(sums)}`);
  if (isWhole) outcomes.set(step.name, { step, ...sums });
  else begun.set(step.name, { ...sums, parts });
}

async function play(step) {
  if (isLeftOut(step)) return;
  const since = Date.now();
  const { parts: kept = [], ...before } = begun.get(step.name) ?? { passed: 0, skipped: 0 };
  const outcome = await run(step, { kept });
  const { defect, log, failed, green } = outcome;
  remember(step, failed.length === 0, green, kept);
  const [passed, skipped] = [outcome.passed + before.passed, outcome.skipped + before.skipped];
  outcomes.set(step.name, { step, ...outcome, passed, skipped });
  print(`${step.name}: ${seconds(since)}: ${sumLine(outcome)}${defect === undefined ? '' : ` (${defect})`}`);
  if (outcome.slowest?.length > 0) print(`  slowest: ${outcome.slowest.join(', ')}`);
  if (defect !== undefined) print(shown(lastLines(log, shownOfStep)));
}

async function playPhase({ name, lanes }) {
  const [since, before] = [Date.now(), processorTimes()];
  print(`\n== ${name}`);
  const playLane = async (lane) => {
    for (const step of lane) await play(step);
    for (const step of lane) await endUnneeded(step);
  };
  await Promise.all(lanes.map(playLane));
  print(`== ${name}: ${seconds(since)}, ${usedSince(before)}`);
}

/**
 * Runs again, with nothing beside it, what has failed and can be named: files of a suite, or a step that says so. Returns
 * the names of what has been seen to pass then; what there was no time for, or did not end, has failed.
 */
async function playAgain({ step, passed, failed, files = [] }) {
  const since = Date.now();
  const again = await run(step, { again: files });
  const isShown = ({ name }) =>
    step.isSuite ? again.ended?.some((file) => name.startsWith(`${file}: `)) : again.failed.length === 0;
  const isOf = (all) => (one) => all.some(({ name }) => name === one.name);
  const flaky = failed.filter((each) => isShown(each) && !isOf(again.failed)(each));
  const fresh = again.failed.filter((each) => isShown(each) && !isOf(failed)(each));
  const still = [...failed.filter((each) => !flaky.includes(each)), ...fresh];
  outcomes.set(step.name, { step, ...again, passed: passed + flaky.length, failed: still });
  print(`${step.name}, again: ${seconds(since)}: ${flaky.length} flaky, ${still.length} failed`);
  return flaky.map(({ name }) => name);
}

async function playAll() {
  for (const phase of phases) await playPhase(phase);
  const broken = [...outcomes.values()].filter(
    ({ step, failed, files = [] }) => failed.length > 0 && (step.retry || files.length > 0),
  );
  const flaky = [];
  for (const outcome of broken) flaky.push(...(await playAgain(outcome)));
  return flaky;
}

/** Tells what failed and what was flaky, then the sums; returns whether all is well. */
function conclude(flaky) {
  const twice = noteFlaky(flaky).map((name) => ({ name, message: 'it was flaky in an earlier run, too' }));
  const failed = [...[...outcomes.values()].flatMap((each) => each.failed), ...twice];
  const count = (what) => sumOf([...outcomes.values()], what);
  for (const { name, message } of failed)
    print(`\nfailed: ${name}\n${shown(message.split('\n').slice(0, shownOfTest))}`);
  for (const name of flaky) print(`flaky: ${name}`);
  print(`\nall of it took ${seconds(began)}; ${flaky.length} flaky`);
  const passed = count('passed') - twice.length;
  print(sumLine({ passed, failed, skipped: count('skipped') }));
  return failed.length === 0;
}

rmSync(logs, { recursive: true, force: true });
mkdirSync(logs, { recursive: true });
endBySignals(cleanUp);
if (!options.all && !options.nightly) for (const step of steps) recall(step);
const flaky = await playAll();
await cleanUp();
process.exitCode = conclude(flaky) ? 0 : 1;

/**
 * What this machine remembers of earlier runs, in one folder: which suites were green, by the content of all that they
 * depend on, and which tests were flaky. Nothing of it comes with a clone.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir, release } from 'node:os';
import { join } from 'node:path';

/** How long a green suite counts, in milliseconds, and in how many runs. */
const [keptMs, keptRuns] = [24 * 3_600_000, 10];
/** In how many runs a test may be flaky once. */
const flakyRuns = 20;

const state =
  process.env.CAI_GATE_STATE ??
  (process.getuid() === 0 ? '/var/lib/containai-gate' : join(homedir(), '.cache/containai-gate'));
mkdirSync(state, { recursive: true });

function read(name, otherwise) {
  const file = join(state, name);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : otherwise;
}

function write(name, value) {
  const file = join(state, name);
  writeFileSync(`${file}.new`, JSON.stringify(value));
  renameSync(`${file}.new`, file);
}

function outputOf(program, ...args) {
  return spawnSync(program, args, { encoding: 'utf8' }).stdout ?? '';
}

/** A folder for the output of a run, without that of the last one. */
export const logs = join(state, 'logs');

/** The content of what a step depends on; `undefined` where that is not known, as files are not committed. */
function keyOf({ inputs, command, filters, env }) {
  if (inputs === undefined || outputOf('git', 'status', '--porcelain') !== '') return undefined;
  const files = outputOf('git', 'ls-files', '-s', '--', ...inputs);
  const machine = [process.version, release(), outputOf('dockerd', '--version'), process.env.CAI_TEST_ENGINE];
  const all = JSON.stringify([files, machine, command, filters, env]);
  return createHash('sha256').update(all).digest('hex');
}

/** What a step came to when it was last green, and how old that is in hours; `undefined`: it has to run. */
export function recalled(step) {
  const kept = read('green.json', {});
  const entry = kept[step.name];
  if (entry === undefined || entry.key !== keyOf(step) || entry.runs >= keptRuns) return undefined;
  const ageMs = Date.now() - entry.at;
  if (ageMs > keptMs) return undefined;
  write('green.json', { ...kept, [step.name]: { ...entry, runs: entry.runs + 1 } });
  return { passed: entry.passed, skipped: entry.skipped, hours: Math.round(ageMs / 3_600_000) };
}

/** Remembers a step that was green at once; forgets one that was not. */
export function remember(step, isGreen, { passed, skipped }) {
  const key = keyOf(step);
  const entry = isGreen && key !== undefined ? { key, at: Date.now(), runs: 0, passed, skipped } : undefined;
  // JSON leaves out what is undefined.
  write('green.json', { ...read('green.json', {}), [step.name]: entry });
}

/** Notes the tests that were flaky in this run; returns those of them that were so in an earlier one. */
export function noteFlaky(names) {
  const runs = read('flaky.json', []);
  write('flaky.json', [...runs, names].slice(-flakyRuns));
  const before = new Set(runs.slice(1 - flakyRuns).flat());
  return names.filter((name) => before.has(name));
}

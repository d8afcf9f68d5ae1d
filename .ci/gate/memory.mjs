/**
 * What this machine remembers of earlier runs, in one folder: which test files and steps were green, by the content of
 * all that they depend on, and which tests were flaky. Nothing of it comes with a clone.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir, release } from 'node:os';
import { dirname, join } from 'node:path';

/** How long what was green counts, in milliseconds, and in how many runs. */
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

/** Of the names of files, those that hold tests. */
const isTest = /\.test\.[jt]s$/;

function digestOf(value) {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** What git says of the content of the files under these paths: a line a file, by its name. */
function contentOf(paths) {
  const lines = outputOf('git', 'ls-files', '-s', '--', ...paths)
    .split('\n')
    .filter(Boolean);
  return new Map(lines.map((line) => [line.slice(line.indexOf('\t') + 1), line]));
}

/**
 * What a step depends on, as digests; `undefined` where that is not known, as files are not committed. `common`: all but
 * the `tests` of a suite, of which `names` are those that it has, and pages (`.md`). A file of tests depends on itself, too,
 * and on the pages that it names, at the top, in `docs` or beside it: `of(name)`.
 */
function keysOf({ inputs, tests = [], command, filters, env }) {
  if (inputs === undefined || outputOf('git', 'status', '--porcelain') !== '') return undefined;
  const content = contentOf(inputs);
  const engine = process.env.CAI_TEST_ENGINE ?? 'docker';
  const machine = [process.version, release(), outputOf('dockerd', '--version'), engine];
  const isShared = (name) => tests.length === 0 || !(isTest.test(name) || name.endsWith('.md'));
  const shared = [...content].filter(([name]) => isShared(name));
  const names = [...(tests.length === 0 ? [] : contentOf(tests).keys())].filter((name) => isTest.test(name));
  const of = (name) => {
    const text = existsSync(name) ? readFileSync(name, 'utf8') : '';
    const pages = text.match(/[\w-]+\.md\b/g) ?? [];
    const places = pages.flatMap((page) => [page, `docs/${page}`, join(dirname(name), page)]);
    return digestOf([...contentOf([name, ...places]).values()]);
  };
  return { common: digestOf([shared, machine, command, filters, env]), names: digestOf(names), of };
}

/**
 * What of a step was green with the same content, a list of `{ name, passed, skipped, at, runs }`: files of a suite, or the
 * step itself. `isWhole`: nothing else of it has to run. Counts as one of the runs in which that is kept.
 */
export function recalled(step) {
  const all = read('green.json', {});
  const { common, names, isWhole, parts = [] } = all[step.name] ?? {};
  const keys = keysOf(step);
  if (common === undefined || common !== keys?.common) return { isWhole: false, parts: [] };
  const isGood = ({ name, key, at, runs }) =>
    key === keys.of(name) && Date.now() - at < keptMs && runs < keptRuns;
  const good = parts.filter(isGood).map((part) => ({ ...part, runs: part.runs + 1 }));
  const isStillWhole = isWhole && names === keys.names && good.length === parts.length;
  const kept = { common, names: keys.names, isWhole: isStillWhole, parts: good };
  write('green.json', { ...all, [step.name]: kept });
  return kept;
}

/** Remembers what of a step was green at once, `{ name, passed, skipped }`, besides what was `kept`. */
export function remember(step, isWhole, green, kept = []) {
  const keys = keysOf(step);
  const fresh = green.map((part) => ({ ...part, key: keys?.of(part.name), at: Date.now(), runs: 0 }));
  const entry = keys && { common: keys.common, names: keys.names, isWhole, parts: [...kept, ...fresh] };
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

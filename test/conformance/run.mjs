/*
 * `npm run conformance`: runs the conformance suite and prints, statement by statement, whether it holds: over stdio,
 * between a client and `cai serve` over WebSocket and over Streamable HTTP (`carried/carry.mjs`), and between an editor
 * and `cai serve` through `cai connect` (`carried/connect.mjs`). With `--over stdio`, `--over websocket`, `--over http`
 * or `--over connect` over these ways only; it may be repeated. With `--brief`,
 * to a server only what can differ there, as `carried/exceptions.mjs` says.
 * `npm run conformance -- --faults`: shows that the suite can fail, where it is green without a fault. With each
 * fault of `faults/faults.cjs` between the proxy and its two sides, a test of each statement that it breaks has
 * to turn red, and each statement has such a fault. With `--only TEXT` the faults whose name or file has that
 * text.
 * Exit status 0 only if every statement holds (or every fault is found).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exceptions as always, leftOut } from './carried/exceptions.mjs';
import faultTable from './faults/faults.cjs';

const { faults } = faultTable;
const here = import.meta.dirname;
const repository = join(here, '../..');
const jest = join(repository, 'node_modules/jest/bin/jest.js');
/** One a line. */
const statements = readFileSync(join(here, 'statements.ndjson'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const scratch = mkdtempSync(join(tmpdir(), 'cai-faults-'));
/** How many faults are tried at once: more than there are processors, as most of it is waiting. */
const workerCount = 4;
/** What a fault keeps from coming is waited for so long, in milliseconds. */
const patienceMs = '2500';
/** How long a test may take that a fault keeps from ending, in milliseconds. */
const testTimeoutMs = '20000';

/** Runs a program; resolves with what it wrote to stderr, whatever its exit status. */
async function run(program, args, options) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  await once(child, 'close');
  return stderr;
}

/** Ways of messages, by name, each with the head of its column and the program that is started as `bin/cai`. */
const ways = {
  stdio: { head: 'stdio' },
  websocket: { head: 'WebSocket', program: join(here, 'carried/websocket.mjs') },
  http: { head: 'HTTP', program: join(here, 'carried/http.mjs') },
  connect: { head: 'connect', program: join(here, 'carried/connect.mjs') },
};

/** Runs the suite that way; returns one entry a test that ran: its name, whether it passed, what it failed with. */
async function runTests(way) {
  const output = join(scratch, `${way}.json`);
  const excepted = exceptions.filter((each) => each.ways.includes(way)).map(({ tests }) => tests.source);
  const pattern = excepted.length === 0 ? '' : `^(?!.*(?:${excepted.join('|')}))`;
  const args = ['--json', `--outputFile=${output}`, '--forceExit', '--testNamePattern', pattern];
  const { program } = ways[way];
  const env = program === undefined ? process.env : { ...process.env, CAI_BIN: program };
  const stderr = await run(process.execPath, [jest, ...args, 'test/conformance'], {
    cwd: repository,
    env,
  });
  const results = JSON.parse(readFileSync(output, 'utf8'));
  const broken = results.testResults.filter(
    (file) => file.assertionResults.length === 0 && file.status === 'failed',
  );
  for (const file of broken) throw new Error(`${file.name} cannot be run: ${file.message}\n${stderr}`);
  return results.testResults.flatMap((file) =>
    file.assertionResults.map(({ title, status, failureMessages }) => ({
      name: title,
      hasRun: status !== 'pending',
      hasPassed: status === 'passed',
      failures: failureMessages,
    })),
  );
}

/** The ids that a test's name begins with. */
const idsOf = (test) => /^(?:[A-Z]\d+ )*/.exec(test.name)[0].trim().split(' ');

/** What a statement comes to, one way. */
function verdictOf(own, untested) {
  if (own.length === 0) return untested ? 'not tested' : 'NO TEST';
  const run = own.filter(({ hasRun }) => hasRun);
  if (run.length === 0) return 'excepted';
  return run.every(({ hasPassed }) => hasPassed) ? 'holds' : 'FAILS';
}

/** `plays`: the tests that ran, by way. */
function printTable(plays) {
  const counts = {};
  const print = (id, cells, text) =>
    console.log(`${[id.padEnd(4), ...cells.map((cell) => cell.padEnd(10))].join(' ')} ${text}`);
  print(
    '',
    Object.keys(plays).map((way) => ways[way].head),
    '',
  );
  for (const { id, level, statement, untested } of statements) {
    const own = Object.entries(plays).map(([way, tests]) => [
      way,
      tests.filter((test) => idsOf(test).includes(id)),
    ]);
    const verdicts = own.map(([, tests]) => verdictOf(tests, untested));
    for (const verdict of verdicts) counts[verdict] = (counts[verdict] ?? 0) + 1;
    const { length } = own[0][1];
    const count = length === 0 ? '' : ` (${length} ${length === 1 ? 'test' : 'tests'})`;
    print(id, verdicts, `[${level}] ${statement}${count}`);
    if (length === 0 && untested) console.log(`     ${untested}`);
    for (const [way, tests] of own) printExceptions(way, tests);
  }
  const red = Object.entries(plays).flatMap(([way, tests]) =>
    tests.filter(({ hasRun, hasPassed }) => hasRun && !hasPassed).map((test) => ({ way, ...test })),
  );
  for (const { way, name, failures } of red)
    console.log([`red over ${ways[way].head}: ${name}`, ...failures].join('\n'));
  const sums = Object.entries(counts).map(([verdict, sum]) => `${sum} ${verdict}`);
  console.log(`\n${sums.join(', ')}, of ${statements.length} statements ${Object.keys(plays).length} times`);
  return red.length === 0 && counts['NO TEST'] === undefined;
}

/** What of a statement is not said of a way, and why. */
function printExceptions(way, tests) {
  const left = tests.filter(({ hasRun }) => !hasRun);
  for (const { reason, ...each } of exceptions) {
    const count = left.filter(({ name }) => each.ways.includes(way) && each.tests.test(name)).length;
    if (count > 0) console.log(`     not over ${ways[way].head}, ${count} of ${tests.length}: ${reason}`);
  }
}

/** A project of jest for each of these faults: one run tries all of them, in processes that are started once. */
function configFor(numbers, results) {
  const { jest } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const project = (number) => ({
    displayName: `fault ${number}`,
    rootDir: repository,
    roots: [here],
    testMatch: [join(here, `${faults[number].file}.test.ts`)],
    transform: jest.transform,
    transformIgnorePatterns: jest.transformIgnorePatterns,
    testEnvironment: join(here, 'faults/environment.cjs'),
    testEnvironmentOptions: { number, results },
  });
  return { rootDir: repository, projects: numbers.map(project) };
}

/** Statements that have a test and no fault. */
function unbroken() {
  const broken = new Set(faults.flatMap(({ breaks }) => breaks));
  return statements
    .filter(({ id, untested }) => untested === undefined && !broken.has(id))
    .map(({ id }) => id);
}

async function runFaults(part) {
  const numbers = [...faults.keys()].filter((n) => `${faults[n].name} ${faults[n].file}`.includes(part));
  if (numbers.length === 0) throw new Error(`no fault has "${part}" in its name or file`);
  const [config, results] = [join(scratch, 'config.json'), join(scratch, 'results')];
  writeFileSync(config, JSON.stringify(configFor(numbers, results)));
  writeFileSync(results, '');
  const args = [`--config=${config}`, `--testTimeout=${testTimeoutMs}`, `--maxWorkers=${workerCount}`];
  // Temporary folders of tests that end in the midst go with ours.
  const env = { ...process.env, CAI_TEST_PATIENCE_MS: patienceMs, TMPDIR: scratch };
  await run(process.execPath, [jest, '--forceExit', ...args], { cwd: repository, env });
  const outcomes = readFileSync(results, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const missed = numbers.filter((number) => {
    const { name, file, breaks } = faults[number];
    const outcome = outcomes.find((each) => each.number === number);
    const green = outcome?.green ?? breaks;
    const found = `found by ${breaks.join(', ')}`;
    console.log(`${file}: ${name}: ${green.length === 0 ? found : `MISSED: ${green.join(', ')} green`}`);
    return green.length > 0;
  });
  const others = part === '' ? unbroken() : [];
  console.log(`\n${numbers.length - missed.length} of ${numbers.length} faults are found`);
  if (others.length > 0) console.log(`no fault breaks ${others.join(', ')}`);
  return missed.length + others.length === 0;
}

async function runAll(names) {
  const plays = {};
  for (const way of names) plays[way] = await runTests(way);
  return printTable(plays);
}

const { values } = parseArgs({
  options: {
    faults: { type: 'boolean' },
    brief: { type: 'boolean' },
    only: { type: 'string', default: '' },
    over: { type: 'string', multiple: true, default: Object.keys(ways) },
  },
});
const exceptions = values.brief ? [...always, leftOut] : always;
let isGood;
try {
  isGood = values.faults ? await runFaults(values.only) : await runAll(values.over);
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = isGood ? 0 : 1;

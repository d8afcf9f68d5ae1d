/*
 * `npm run conformance`: runs the conformance suite and prints, statement by statement, whether it holds.
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
import faultTable from './faults/faults.cjs';

const { faults } = faultTable;
const here = import.meta.dirname;
const repository = join(here, '../..');
const jest = join(repository, 'node_modules/jest/bin/jest.js');
const statements = JSON.parse(readFileSync(join(here, 'statements.json'), 'utf8'));
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

/** Runs the suite; returns one entry a test that ran: its name, whether it passed. */
async function runTests() {
  const output = join(scratch, 'results.json');
  const args = ['--json', `--outputFile=${output}`, '--forceExit', 'test/conformance'];
  const stderr = await run(process.execPath, [jest, ...args], { cwd: repository });
  const results = JSON.parse(readFileSync(output, 'utf8'));
  const broken = results.testResults.filter(
    (file) => file.assertionResults.length === 0 && file.status === 'failed',
  );
  for (const file of broken) throw new Error(`${file.name} cannot be run: ${file.message}\n${stderr}`);
  return results.testResults.flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status !== 'pending')
      .map((test) => ({ name: test.title, hasPassed: test.status === 'passed' })),
  );
}

/** The ids that a test's name begins with. */
const idsOf = (test) => /^(?:[A-Z]\d+ )*/.exec(test.name)[0].trim().split(' ');

function printTable(tests) {
  let held = 0;
  let failed = 0;
  for (const { id, level, statement, untested } of statements) {
    const own = tests.filter((test) => idsOf(test).includes(id));
    const hasPassed = own.every((test) => test.hasPassed);
    const verdict = own.length === 0 ? (untested ? 'not tested' : 'NO TEST') : hasPassed ? 'holds' : 'FAILS';
    if (verdict === 'holds') held++;
    if (verdict === 'NO TEST' || verdict === 'FAILS') failed++;
    const count = own.length === 0 ? '' : ` (${own.length} ${own.length === 1 ? 'test' : 'tests'})`;
    console.log(`${id.padEnd(4)} ${verdict.padEnd(10)} [${level}] ${statement}${count}`);
    if (own.length === 0 && untested) console.log(`     ${untested}`);
    for (const test of own.filter((each) => !each.hasPassed)) console.log(`     red: ${test.name}`);
  }
  const known = new Set(statements.map(({ id }) => id));
  const others = tests.filter((test) => !test.hasPassed && !idsOf(test).some((id) => known.has(id)));
  for (const test of others) console.log(`     red, of no statement: ${test.name}`);
  console.log(
    `\n${held} statements hold, ${failed} do not, ${statements.length - held - failed} are not tested`,
  );
  return failed + others.length === 0;
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

const { values } = parseArgs({
  options: { faults: { type: 'boolean' }, only: { type: 'string', default: '' } },
});
let isGood;
try {
  isGood = values.faults ? await runFaults(values.only) : printTable(await runTests());
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = isGood ? 0 : 1;

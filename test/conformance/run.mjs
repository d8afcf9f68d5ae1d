/*
 * `npm run conformance`: runs the conformance suite and prints, statement by statement, whether it holds.
 * `npm run conformance -- --faults`: proves that the suite can fail. Each fault of `faults.mjs` is built
 * into a copy of the proxy, and a test of each statement that it breaks has to turn red. With `--only TEXT`
 * the faults whose name or file has that text.
 * Exit status 0 only if every statement holds (or every fault is found).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faults } from './faults.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const repository = join(here, '../..');
const statements = JSON.parse(readFileSync(join(here, 'statements.json'), 'utf8'));
const scratch = mkdtempSync(join(tmpdir(), 'cai-faults-'));
/** How many faults are tried at once. */
const jobCount = 2;
/** What a fault keeps from coming is waited for so long, in milliseconds. */
const patienceMs = '3000';
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

/** Runs jest; returns one entry a test that ran: its name, its file, whether it passed. */
async function runTests(args, env = {}, cwd = repository) {
  const folder = mkdtempSync(join(scratch, 'run-'));
  const output = join(folder, 'results.json');
  const jest = join(repository, 'node_modules/jest/bin/jest.js');
  const options = { cwd, env: { ...process.env, ...env } };
  // A test that fails in its midst may leave a socket open.
  const all = [jest, '--json', `--outputFile=${output}`, '--forceExit', ...args];
  const stderr = await run(process.execPath, all, options);
  const results = JSON.parse(readFileSync(output, 'utf8'));
  const broken = results.testResults.filter(
    (file) => file.assertionResults.length === 0 && file.status === 'failed',
  );
  for (const file of broken) throw new Error(`${file.name} cannot be run: ${file.message}\n${stderr}`);
  return results.testResults.flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status !== 'pending')
      .map((test) => ({ name: test.title, file: file.name, hasPassed: test.status === 'passed' })),
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

/** Why a fault cannot be seeded into the source as it is; undefined: it can. */
function staleness(sources, { file, find, replace }) {
  const count = readFileSync(join(sources, file), 'utf8').split(find).length - 1;
  if (count !== 1) return `its text stands ${count} times in ${file}`;
  return find === replace ? 'it changes nothing' : undefined;
}

/** Copies what `bin/cai` is built from, so that nobody's edits come between. */
function copySources() {
  const folder = join(scratch, 'sources');
  for (const name of ['.config', 'bin', 'fixtures', 'src', 'test', 'package.json', 'tsconfig.json']) {
    cpSync(join(repository, name), join(folder, name), { recursive: true });
  }
  return folder;
}

/** Builds a copy of the sources, with a fault in it if there is one; resolves with the environment of its tests. */
async function build(sources, name, fault) {
  const folder = join(scratch, name);
  cpSync(sources, folder, { recursive: true });
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  if (fault !== undefined) {
    const file = join(folder, fault.file);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(fault.find, () => fault.replace),
    );
  }
  const said = await run('npm', ['run', '--silent', 'build'], { cwd: folder });
  if (said.includes('[ERROR]')) throw new Error(`${name} cannot be built:\n${said}`);
  // Temporary folders of tests that end in the midst go with ours.
  return { CAI_BIN: join(folder, 'bin/cai'), CAI_TEST_PATIENCE_MS: patienceMs, TMPDIR: scratch };
}

/** Arguments of jest for the tests of these statements. */
function argumentsFor(ids, files) {
  const options = ['--testTimeout', testTimeoutMs, '-t', `(^| )(${ids.join('|')}) `];
  return [...options, '--runTestsByPath', ...files];
}

/** The tests that run the proxy and are of these statements. */
function filesOf(ids) {
  const anyId = new RegExp(`['"\`](?:[A-Z]\\d+ )*(?:${ids.join('|')})\\b`);
  return [here, join(repository, 'test/flow')]
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.test.ts') && anyId.test(readFileSync(file, 'utf8')));
}

/** The tests of what these faults break, as they are without a fault. */
async function runSound(sources, wanted) {
  const env = await build(sources, 'sound', undefined);
  const ids = [...new Set(wanted.flatMap((fault) => fault.breaks))];
  const units = [...new Set(wanted.flatMap(({ tests }) => tests ?? []))];
  const sound = await runTests(argumentsFor(ids, filesOf(ids)), env);
  if (units.length > 0)
    sound.push(...(await runTests(argumentsFor(ids, units), env, join(scratch, 'sound'))));
  return sound;
}

/** Tries one fault; resolves with what came of it. */
async function tryFault(sources, fault, number, sound) {
  const { breaks, tests: unit } = fault;
  const problem = staleness(sources, fault);
  if (problem !== undefined) return { isFound: false, verdict: `NOT SEEDED: ${problem}` };
  const isOwn = ({ file }) => (unit === undefined ? !file.startsWith(scratch) : file.endsWith(unit));
  const own = sound.filter((test) => isOwn(test) && idsOf(test).some((id) => breaks.includes(id)));
  if (own.length === 0) return { isFound: false, verdict: `MISSED: no test of ${breaks.join(', ')}` };
  const env = await build(sources, `fault-${number}`, fault);
  const files = unit === undefined ? new Set(own.map((test) => test.file)) : [unit];
  const args = ['--runInBand', ...argumentsFor(breaks, files)];
  const tests = await runTests(args, env, unit === undefined ? repository : join(scratch, `fault-${number}`));
  // What is red anyway proves nothing.
  const isSound = (test) => own.some(({ name, hasPassed }) => name === test.name && hasPassed);
  const red = tests.filter((test) => !test.hasPassed && isSound(test));
  const green = breaks.filter((id) => !red.some((test) => idsOf(test).includes(id)));
  if (green.length > 0) return { isFound: false, verdict: `MISSED: ${green.join(', ')} green` };
  return { isFound: true, verdict: `found by ${breaks.join(', ')} (${red.length} of ${tests.length} red)` };
}

async function runFaults(part) {
  const wanted = faults.filter(({ name, file }) => `${name} ${file}`.includes(part));
  if (wanted.length === 0) throw new Error(`no fault has "${part}" in its name or file`);
  const sources = copySources();
  const sound = await runSound(sources, wanted);
  const unsound = sound.filter((test) => !test.hasPassed);
  for (const test of unsound) console.log(`    red without a fault: ${test.name}`);
  const missed = [];
  const rest = [...wanted.entries()];
  const work = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      const [index, fault] = next;
      const { isFound, verdict } = await tryFault(sources, fault, index + 1, sound);
      const line = `${String(index + 1).padStart(3)} ${fault.name}: ${verdict}`;
      console.log(line);
      if (!isFound) missed.push(line);
    }
  };
  await Promise.all(Array.from({ length: jobCount }, work));
  console.log(`\n${wanted.length - missed.length} of ${wanted.length} faults are found`);
  for (const line of missed) console.log(line);
  return missed.length + unsound.length === 0;
}

const { values } = parseArgs({
  options: { faults: { type: 'boolean' }, only: { type: 'string', default: '' } },
});
let isGood;
try {
  isGood = values.faults ? await runFaults(values.only) : printTable(await runTests(['test/conformance']));
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = isGood ? 0 : 1;

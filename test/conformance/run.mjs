/*
 * `npm run conformance`: runs the conformance suite and prints, statement by statement, whether it holds.
 * `npm run conformance -- --faults`: proves that the suite can fail. Each fault of `faults.mjs` is built
 * into a copy of the proxy, and the tests of the statements that it breaks have to turn red.
 * Exit status 0 only if every statement holds (or every fault is found).
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, mkdirSync, copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { faults } from './faults.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const repository = join(here, '../..');
const statements = JSON.parse(readFileSync(join(here, 'statements.json'), 'utf8'));
const scratch = mkdtempSync(join(tmpdir(), 'cai-conformance-'));

/** Runs jest; returns one entry a test: its name, its file, whether it passed. */
function runTests(args, env = {}) {
  const output = join(scratch, 'results.json');
  const jest = join(repository, 'node_modules/jest/bin/jest.js');
  const { stderr } = spawnSync(process.execPath, [jest, '--json', `--outputFile=${output}`, ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  const results = JSON.parse(readFileSync(output, 'utf8'));
  rmSync(output);
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

/** The id that a test's name begins with. */
const idOf = (test) => /^([A-Z]\d+)\b/.exec(test.name)?.[1];

function printTable(tests) {
  let held = 0;
  let failed = 0;
  for (const { id, level, statement, untested } of statements) {
    const own = tests.filter((test) => idOf(test) === id);
    const hasPassed = own.every((test) => test.hasPassed);
    const verdict = own.length === 0 ? (untested ? 'not tested' : 'NO TEST') : hasPassed ? 'holds' : 'FAILS';
    if (verdict === 'holds') held++;
    if (verdict === 'NO TEST' || verdict === 'FAILS') failed++;
    const count = own.length === 0 ? '' : ` (${own.length} ${own.length === 1 ? 'test' : 'tests'})`;
    console.log(`${id.padEnd(4)} ${verdict.padEnd(10)} [${level}] ${statement}${count}`);
    if (own.length === 0 && untested) console.log(`     ${untested}`);
    for (const test of own.filter((each) => !each.hasPassed)) console.log(`     red: ${test.name}`);
  }
  const others = tests.filter((test) => idOf(test) === undefined && !test.hasPassed);
  for (const test of others) console.log(`     red, of no statement: ${test.name}`);
  console.log(
    `\n${held} statements hold, ${failed} do not, ${statements.length - held - failed} are not tested`,
  );
  return failed + others.length === 0;
}

/** Builds `bin/cai` with one fault in it; returns its path. */
async function buildWith(fault, folder) {
  const file = join(repository, fault.file);
  const source = readFileSync(file, 'utf8');
  const count = source.split(fault.find).length - 1;
  if (count !== 1) throw new Error(`fault "${fault.name}": its text stands ${count} times in ${fault.file}`);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  copyFileSync(join(repository, 'bin/cai'), join(folder, 'bin/cai'));
  await build({
    absWorkingDir: repository,
    entryPoints: ['src/main.ts', 'src/commands/acp.ts'],
    outbase: 'src',
    outdir: join(folder, 'dist'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['./commands/*'],
    supported: { 'dynamic-import': false },
    plugins: [
      {
        name: 'fault',
        setup: ({ onLoad }) =>
          onLoad({ filter: /\.ts$/ }, ({ path }) =>
            path === file
              ? { contents: source.replace(fault.find, () => fault.replace), loader: 'ts' }
              : undefined,
          ),
      },
    ],
  });
  return join(folder, 'bin/cai');
}

async function runFaults() {
  const whole = runTests(['test/conformance']);
  let missed = 0;
  for (const [index, fault] of faults.entries()) {
    const cai = await buildWith(fault, join(scratch, String(index)));
    const files = new Set(whole.filter((test) => fault.breaks.includes(idOf(test))).map((test) => test.file));
    const pattern = `(^| )(${fault.breaks.join('|')}) `;
    const paths = [...files].map((file) => relative(repository, file));
    const tests = runTests(['-t', pattern, ...paths], { CAI_BIN: cai });
    const red = new Set(tests.filter((test) => !test.hasPassed).map(idOf));
    const isFound = fault.breaks.some((id) => red.has(id));
    if (!isFound) missed++;
    const verdict = isFound
      ? `found by ${[...red].join(', ')}`
      : `MISSED (should break ${fault.breaks.join(', ')})`;
    console.log(`${String(index + 1).padStart(3)} ${fault.name}: ${verdict}`);
  }
  console.log(`\n${faults.length - missed} of ${faults.length} faults are found`);
  return missed === 0;
}

let isGood;
try {
  isGood = process.argv.includes('--faults') ? await runFaults() : printTable(runTests(['test/conformance']));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = isGood ? 0 : 1;

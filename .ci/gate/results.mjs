/** What came out of a suite, from the lines that `reporter.mjs` has written. */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * `passed` and `skipped` count tests; `failed` has one entry for each that failed, and for what counts as one: a file
 * that could not be loaded, one that did not end, files that did not begin, a suite that told nothing. `files` are those
 * to run again, relative to `root`; empty: none can be named. `ended`: those of which each test has
 * come to its end. `green`: those of them that nothing failed in, `{ name, passed, skipped }`.
 * `defect`: how the run failed as a whole, if it did. `slowest` names up to three files that took 30 s or more.
 */
export function resultsOf(file, root, { defect, mayBeEmpty }) {
  const lines = existsSync(file)
    ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse)
    : [];
  const sums = { passed: 0, skipped: 0, failed: [], files: [], ended: [], green: [] };
  const begun = new Set(lines.flatMap(({ began }) => began ?? []));
  const planned = lines.reduce((sum, { files = 0 }) => sum + files, 0);
  const fail = (path, name, message) => {
    const shown = relative(root, path);
    sums.failed.push({ name: `${shown}: ${name}`, message });
    if (!sums.files.includes(shown)) sums.files.push(shown);
  };
  for (const { ended, tests, defect: broken } of lines.filter((line) => line.ended !== undefined)) {
    begun.delete(ended);
    const broke = tests.filter(({ status }) => status === 'failed');
    for (const { name, message } of broke) fail(ended, name, message);
    if (broken === undefined) sums.ended.push(relative(root, ended));
    else fail(ended, 'the file', broken);
    const passed = tests.filter(({ status }) => status === 'passed').length;
    const skipped = tests.length - passed - broke.length;
    sums.passed += passed;
    sums.skipped += skipped;
    if (broke.length === 0 && broken === undefined)
      sums.green.push({ name: relative(root, ended), passed, skipped });
  }
  for (const path of begun)
    fail(path, 'the file', `it has not ended: ${defect ?? 'the run ended before it'}`);
  const ended = lines.filter((line) => line.ended !== undefined).length;
  for (let rest = planned - ended - begun.size; rest > 0; rest--)
    sums.failed.push({ name: 'a file that did not begin', message: defect ?? '' });
  if ((planned === 0 && !mayBeEmpty) || (defect !== undefined && sums.failed.length === 0))
    sums.failed.push({ name: 'the suite', message: defect ?? 'it has run no file' });
  sums.slowest = lines
    .filter(({ tookMs }) => tookMs >= 30_000)
    .sort((one, other) => other.tookMs - one.tookMs)
    .slice(0, 3)
    .map(({ ended: path, tookMs }) => `${relative(root, path)} ${Math.round(tookMs / 1000)} s`);
  return sums;
}

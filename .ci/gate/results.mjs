/** What came out of a suite, from the lines that `reporter.mjs` has written. */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * `passed` and `skipped` count tests; `failed` has one entry for each that failed, and for what counts as one: a file
 * that could not be loaded, one that did not end, files that did not begin, a suite that told nothing. `files` are those
 * to run again, relative to `root`; empty: none can be named.
 */
export function resultsOf(file, root, defect) {
  const lines = existsSync(file)
    ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse)
    : [];
  const sums = { passed: 0, skipped: 0, failed: [], files: [] };
  const begun = new Set(lines.flatMap(({ began }) => began ?? []));
  const planned = lines.reduce((sum, { files = 0 }) => sum + files, 0);
  const fail = (path, name, message) => {
    const shown = relative(root, path);
    sums.failed.push({ name: `${shown}: ${name}`, message });
    if (!sums.files.includes(shown)) sums.files.push(shown);
  };
  for (const { ended, tests, defect: broken } of lines.filter((line) => line.ended !== undefined)) {
    begun.delete(ended);
    for (const { name, status, message } of tests) {
      if (status === 'passed') sums.passed++;
      else if (status === 'failed') fail(ended, name, message);
      else sums.skipped++;
    }
    if (broken !== undefined) fail(ended, 'the file', broken);
  }
  for (const path of begun)
    fail(path, 'the file', `it has not ended: ${defect ?? 'the run ended before it'}`);
  const ended = lines.filter((line) => line.ended !== undefined).length;
  for (let rest = planned - ended - begun.size; rest > 0; rest--)
    sums.failed.push({ name: 'a file that did not begin', message: defect ?? '' });
  if (planned === 0 || (defect !== undefined && sums.failed.length === 0))
    sums.failed.push({ name: 'the suite', message: defect ?? 'it has run no file' });
  return sums;
}

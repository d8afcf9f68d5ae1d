/*
 * The names of all attempts, as `ATTACKS.md` lists them, on stdout; with `--write` into that page. Names are
 * read from the sources, so that no engine is needed: each is a literal.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const page = join(import.meta.dirname, 'ATTACKS.md');
const mark = '<!-- The list below is written by: node test/escape/list.mjs --write -->\n';

/** A call of `attempt`, or of what `attemptWith` gives, with the literal that follows. */
const call =
  /\battempt(?:With\('[^']*'\))?\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`$\\]*)`|(?=.))/g;

function namesIn(file) {
  const source = readFileSync(join(import.meta.dirname, file), 'utf8');
  return [...source.matchAll(call)].map(([whole, single, double, template]) => {
    const name = single ?? double ?? template;
    if (name === undefined) throw new Error(`${file}: the name of an attempt is no literal: ${whole}`);
    return name.replace(/\\(.)/g, '$1');
  });
}

const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts'))
  .sort();
const parts = files.flatMap((file) => {
  const names = namesIn(file);
  if (names.length === 0) return [];
  return [`### [${file}](${file})\n\n${names.map((name) => `- ${name}\n`).join('')}`];
});
const list = `${mark}\n${parts.join('\n')}`;

if (process.argv[2] === '--write') {
  const [before] = readFileSync(page, 'utf8').split(mark);
  writeFileSync(page, `${before.trimEnd()}\n\n${list}`);
} else {
  process.stdout.write(list);
}

/** What jest takes as `--filter`: leaves out the test files that CAI_GATE_KEPT lists, as JSON, from the root. */
const { readFileSync } = require('node:fs');
const { relative } = require('node:path');

module.exports = (paths) => {
  const kept = new Set(JSON.parse(readFileSync(process.env.CAI_GATE_KEPT, 'utf8')));
  return { filtered: paths.filter((path) => !kept.has(relative(process.cwd(), path))) };
};

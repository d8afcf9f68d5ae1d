/*
 * What a single file of `cai` runs: it unpacks the package into the user's cache once, and is Node for the programs there.
 * So `cai` starts itself, and editors start it, as everywhere: by the path of Node and of `bin/cai`.
 */
'use strict';
const { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { homedir } = require('node:os');
const { dirname, isAbsolute, join, sep } = require('node:path');
const { getAsset } = require('node:sea');

const { id, files } = JSON.parse(getAsset('index', 'utf8'));
const { XDG_CACHE_HOME: cache = '' } = process.env;
const all = join(isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'containai');
const folder = join(all, id);

/** Another process may do the same: who is first with the last step wins. */
function unpack() {
  mkdirSync(all, { recursive: true, mode: 0o700 });
  const begun = mkdtempSync(join(all, 'new-'));
  for (const [path, mode] of files) {
    mkdirSync(dirname(join(begun, path)), { recursive: true });
    writeFileSync(join(begun, path), Buffer.from(getAsset(path)), { mode });
  }
  try {
    renameSync(begun, folder);
  } catch (error) {
    rmSync(begun, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

try {
  if (!existsSync(folder)) unpack();
} catch (error) {
  process.stderr.write(
    `cai: ${folder} cannot be made: ${error.message}: set XDG_CACHE_HOME to a folder that you can write\n`,
  );
  process.exit(1);
}
const [first = '', ...rest] = process.argv.slice(2);
// The path may be that of an earlier version, in an editor's settings.
const [, program] = first.startsWith(all + sep) ? /^[^/]+\/(.*)$/.exec(first.slice(all.length + 1)) : [];
const args = program === undefined ? process.argv.slice(2) : rest;
process.argv = [process.execPath, join(folder, program ?? 'bin/cai'), ...args];
createRequire(process.argv[1])(process.argv[1]);

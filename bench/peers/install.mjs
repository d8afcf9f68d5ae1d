/*
 * Provides the packages that the benchmark compares with, from the lock file of this folder, in a cache outside
 * the repository: `containai-bench-peers/<hash of the lock file>` below `$XDG_CACHE_HOME` or `~/.cache`. The
 * folder is filled under another name and renamed when complete.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

const files = ['package.json', 'package-lock.json'];

/** The folder that holds their node_modules; they are installed by the first call. */
export function peersFolder(env = process.env) {
  const lock = readFileSync(join(import.meta.dirname, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const folder = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'containai-bench-peers', hash);
  if (!existsSync(folder)) install(folder);
  return folder;
}

function install(folder) {
  const partial = `${folder}.partial-${process.pid}`;
  mkdirSync(partial, { recursive: true });
  for (const name of files) copyFileSync(join(import.meta.dirname, name), join(partial, name));
  const { status, error } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: partial,
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm ci in ${dirname(partial)} ended with status ${status}`);
  renameSync(partial, folder);
}

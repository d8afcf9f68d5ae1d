import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';

const folder = mkdtempSync(join(tmpdir(), 'cai-program-'));
let count = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Compiles TypeScript that imports from `src/...`; returns the path of a script that `node` can run. */
export function compiled(code: string): string {
  const outfile = join(folder, `${++count}.js`);
  const stdin = { contents: code, loader: 'ts' as const, resolveDir: resolve(__dirname, '../..') };
  buildSync({ stdin, outfile, bundle: true, platform: 'node', logLevel: 'warning' });
  return outfile;
}

/** Runs a compiled script. */
export function run(
  script: string,
  args: readonly string[],
  env = process.env,
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [script, ...args], { env });
}

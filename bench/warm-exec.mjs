/*
 * `node bench/warm-exec.mjs [runs]`: what `cai exec -- true` costs in a container that runs, beside
 * `docker exec CONTAINER true`. Both are timed in turn, so that what else the machine does hits both; with
 * them the parts of the first that can be had alone. Needs `npm run build`, an engine, docker's command line
 * and an image; the container is that of a temporary workspace, and is removed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const runs = Number(process.argv[2] ?? 20);
const root = join(import.meta.dirname, '..');
const cai = join(root, 'bin/cai');
const bundle = join(root, 'dist/commands/containers.js');
const workspace = mkdtempSync(join(tmpdir(), 'cai-bench-'));

const node = (...args) => [process.execPath, ...args];
const inWorkspace = (...args) => node(cai, ...args, '--workspace', workspace);

/** Runs a command to its end; returns milliseconds. */
function time([program, ...args]) {
  const beganAt = performance.now();
  const { status, stderr } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: status ${status}\n${stderr}`);
  return performance.now() - beganAt;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

// For root commands run as somebody else.
chmodSync(workspace, 0o755);
try {
  time([...inWorkspace('exec', '--quiet'), '--', 'true']);
  const listed = execFileSync(process.execPath, [cai, 'ps', '--json'], { encoding: 'utf8' });
  const { name } = JSON.parse(listed).find((each) => each.workspace === workspace);
  const rows = {
    'docker exec C true': ['docker', 'exec', name, 'true'],
    'cai exec -- true': [...inWorkspace('exec', '--quiet'), '--', 'true'],
    'of that: start of node': node('-e', '0'),
    'of that: with our code loaded': node('-e', `require(${JSON.stringify(bundle)}).run('exec', ['--help'])`),
    'of that: and the engine asked': node(cai, 'ps'),
  };
  const times = Object.fromEntries(Object.keys(rows).map((row) => [row, []]));
  for (let run = 0; run < runs; run++)
    for (const [row, command] of Object.entries(rows)) times[row].push(time(command));
  for (const [row, values] of Object.entries(times))
    console.log(`${median(values).toFixed(0).padStart(6)} ms  ${row}`);
  const ratio = median(times['cai exec -- true']) / median(times['docker exec C true']);
  console.log(`${ratio.toFixed(2).padStart(6)} times docker exec, median of ${runs}`);
} finally {
  spawnSync(process.execPath, [cai, 'rm', '--workspace', workspace, '--force'], { stdio: 'inherit' });
  rmSync(workspace, { recursive: true, force: true });
}

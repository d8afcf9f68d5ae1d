/*
 * How long an editor waits from the start of the process to the answer to `initialize`. `recorded`: what the
 * agent answered is known from an earlier run, in a folder that is no workspace, so that no agent is started;
 * beside it bare `node`, to its end and to its first byte. `bootstrap`: a first agent has to be asked.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { contenders, hello } from '../contenders.mjs';
import { requestLine } from '../messages.mjs';
import { median, rotated } from '../statistics.cjs';

/** Starts in a round, of which the median counts. */
const starts = { recorded: 9, bootstrap: 3 };
const line = requestLine(1, 'initialize', hello);
const node = process.execPath;
const bare = {
  node: { command: [node, '-e', '0'], until: 'exit' },
  'node, first byte': { command: [node, '-e', 'process.stdout.write("x")'], until: 'byte' },
};

/** Names of those that take part. */
export const names = [...Object.keys(contenders).filter((name) => name !== 'again'), ...Object.keys(bare)];

/** Each with its unit and the contender that the others are compared with. */
export const metrics = {
  'initialize, recorded': { unit: 'ms', to: 'node' },
  'initialize, bootstrap': { unit: 'ms', to: 'pipe' },
};

/** One round: figures by metric and contender. */
export async function round({ place, round: number }) {
  const folder = place.workspace();
  const profiles = join(place.home, '.local/state/containai/profiles');
  const first = await place.open('cai', folder);
  await first.client.stop();
  if (!existsSync(profiles)) throw new Error('cai has recorded no profile');
  // The home folder is no workspace.
  const recorded = { cwd: place.home, env: place.env };
  const cases = { cai: { command: contenders.cai(), until: 'byte' }, ...bare };
  const bootstrap = { cwd: folder, env: place.env };
  const agents = names.filter((name) => name in contenders);
  const firsts = Object.fromEntries(
    agents.map((name) => [name, { command: contenders[name](), until: 'byte' }]),
  );
  return {
    'initialize, recorded': await medians(starts.recorded, cases, recorded, number),
    'initialize, bootstrap': await medians(starts.bootstrap, firsts, bootstrap, number, () =>
      rmSync(profiles, { recursive: true, force: true }),
    ),
  };
}

async function medians(count, cases, options, number, prepare = () => undefined) {
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let start = 0; start < count; start++) {
    for (const name of rotated(Object.keys(cases), number + start)) {
      prepare();
      times[name].push(await timeOf(cases[name].command, cases[name].until, options));
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
}

/** From the start to the first byte on stdout or to the exit, in milliseconds. */
async function timeOf([program, ...args], until, options) {
  const startedAt = performance.now();
  const child = spawn(program, args, { ...options, stdio: ['pipe', 'pipe', 'ignore'] });
  const closed = once(child, 'close');
  child.stdin.on('error', () => undefined);
  child.stdin.write(line);
  const ended = once(child, 'exit').then(() => until === 'exit');
  const isReached = await Promise.race([ended, once(child.stdout, 'data').then(() => true)]);
  const tookMs = performance.now() - startedAt;
  child.stdout.resume();
  child.stdin.end();
  await closed;
  if (!isReached) throw new Error(`${program} ${args.join(' ')} ended without an answer`);
  return tookMs;
}

/*
 * `node bench/initialize.mjs [runs]`: how long an editor waits for the answer to `initialize` that is made of a
 * recorded profile, from the start of the process, beside the first byte of a bare `node` that writes one. Both
 * are timed in turn, so that what else the machine does hits both. Needs `npm run build`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const runs = Number(process.argv[2] ?? 30);
const root = join(import.meta.dirname, '..');
const home = mkdtempSync(join(tmpdir(), 'cai-bench-'));
const agent = join(root, 'fixtures/mock-acp-server');
const params = { protocolVersion: 1, clientInfo: { name: 'bench', version: '1' }, clientCapabilities: {} };
const request = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`;
const bare = [process.execPath, '-e', 'process.stdout.write("x")'];
const cai = [process.execPath, join(root, 'bin/cai'), '--acp', 'bench'];

/** From the start to the first byte on stdout, in milliseconds. */
async function timeOf([program, ...args]) {
  const startedAt = performance.now();
  // The home folder is no workspace: no agent is started.
  const env = { PATH: process.env.PATH, HOME: home, CAI_ACP_DIRECT_SPAWN: '1' };
  const child = spawn(program, args, { cwd: home, env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => undefined);
  child.stdin.end(request);
  await once(child.stdout, 'data');
  const tookMs = performance.now() - startedAt;
  await once(child, 'close');
  return tookMs;
}

function summary(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const [least, median] = [sorted[0], sorted[Math.floor(sorted.length / 2)]];
  return { least, median, text: `least ${least.toFixed(1)} ms, median ${median.toFixed(1)} ms` };
}

try {
  mkdirSync(join(home, '.config/containai'), { recursive: true });
  const command = JSON.stringify([process.execPath, agent, '--acp']);
  writeFileSync(join(home, '.config/containai/config.toml'), `[agents.bench]\ncommand = ${command}\n`);
  // Records the profile.
  await timeOf(cai);
  const times = { bare: [], cai: [] };
  for (let run = 0; run < runs; run++) {
    times.bare.push(await timeOf(bare));
    times.cai.push(await timeOf(cai));
  }
  const [node, answer] = [summary(times.bare), summary(times.cai)];
  process.stdout.write(`node -e:    ${node.text}\ninitialize: ${answer.text}\n`);
  const ratios = [answer.least / node.least, answer.median / node.median].map((each) => each.toFixed(2));
  process.stdout.write(`ratio: ${ratios[0]} of the least, ${ratios[1]} of the medians\n`);
} finally {
  rmSync(home, { recursive: true, force: true });
}

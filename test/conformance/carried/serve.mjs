/* What carriers share: each stands in for `bin/cai`, and serves an agent where that is started as `cai --acp NAME`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const cai = join(import.meta.dirname, '../../../bin/cai');
const inServer = join(import.meta.dirname, 'in-server.cjs');

/** Makes this process `cai` with these arguments. */
export async function become(...args) {
  process.argv.splice(1, Infinity, cai, ...args);
  await import(cai);
}

/** The agent that is to be served; undefined: another command of `cai` is wanted. */
export function servedAgent() {
  const [flag, agent, ...more] = process.argv.slice(2);
  return flag === '--acp' && more.length === 0 ? agent : undefined;
}

/**
 * Starts a server of that agent in the same environment; returns its process and, to be waited for, its address. The
 * server ends in order when something is written to its stdin, and at once when that ends.
 */
export function serve(agent) {
  const args = ['-r', inServer, cai, 'serve', '--listen', '127.0.0.1:0', '--agent', agent];
  const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const address = once(server.stdout.setEncoding('utf8'), 'data').then(([text]) => text.split('\n', 1)[0]);
  return { server, address };
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What `kubectl` prints; throws with its stderr if it fails. `input` is its stdin. */
export async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const running = run('kubectl', args);
  running.child.stdin?.end(input);
  return (await running).stdout;
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The client of the cluster's own version, as the machine may have another; a cluster of yours has your client. */
export const program = process.env.CAI_TEST_K8S_KUBECTL ?? 'kubectl';

/** The option by which `kubectl wait` gives up after that long. */
export const timeout = (limitMs: number): string => `--timeout=${limitMs / 1_000}s`;

/** What `kubectl` prints; throws with its stderr if it fails. `input` is its stdin. */
export async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const running = run(program, args);
  running.child.stdin?.end(input);
  return (await running).stdout;
}

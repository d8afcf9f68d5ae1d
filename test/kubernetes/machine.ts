import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Does something to the cluster; the head of `machine.sh` says what it can. Throws if that fails. */
export async function machine(...args: readonly string[]): Promise<void> {
  await promisify(execFile)(join(__dirname, 'machine.sh'), args);
}

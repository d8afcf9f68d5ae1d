/** `cai serve token`: who may come in besides the user. */
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';

/** Resolves with the exit status. */
export function run(args: readonly string[], host: Host): Promise<number> {
  throw new CaiError(
    'USAGE',
    `say what, instead of ${args.length} arguments: add, list or revoke in ${host.home}`,
  );
}

/** `cai serve`: agents for clients elsewhere. `cai serve token` is a command of its own. */
import type { Host } from '../../system/host';

/** Resolves with the exit status. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  if (args[0] === 'token') return await (await import('./token')).run(args.slice(1), host);
  return await (await import('./run-server')).run(args, host);
}

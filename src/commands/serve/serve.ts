/** `cai serve`: agents for clients elsewhere. `cai serve token` and `cai serve link` are commands of their own. */
import type { Host } from '../../system/host';

/** Resolves with the exit status. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  if (args[0] === 'token') return await (await import('./token')).run(args.slice(1), host);
  if (args[0] === 'link') return await (await import('./link')).run(args.slice(1), host);
  return await (await import('./run-server')).run(args, host);
}

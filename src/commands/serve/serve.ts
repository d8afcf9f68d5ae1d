/** `cai serve`: agents for clients elsewhere. `cai serve token` and `cai serve link` are commands of their own. */
import type { Host } from '../../system/host';

import * as server from './run-server';

/** Resolves with the exit status. */
export const run = Object.assign(choose, {
  declaration: { ...server.run.declaration, arguments: [['[command]', '', ['link', 'token']]] as const },
});

async function choose(args: readonly string[], host: Host): Promise<number> {
  if (args[0] === 'token') return await (await import('./token')).run(args.slice(1), host);
  if (args[0] === 'link') return await (await import('./link')).run(args.slice(1), host);
  return await server.run(args, host);
}

/** Where the server may listen. */
import { isLoopback } from '../../config/serve-places';
import { CaiError } from '../../errors';
import type { AgentFolders } from '../../paths/agent-folders';

/**
 * Throws `CaiError('USAGE')` for hosts to listen on that others may reach, unless the connections are protected: by TLS
 * of ours, or by that of a proxy before us, which the user has to say.
 */
export function checkListen(
  hosts: readonly string[],
  { hasTls, isBehindProxy }: { readonly hasTls: boolean; readonly isBehindProxy: boolean },
): void {
  const open = hosts.find((host) => !isLoopback(host));
  if (open === undefined || hasTls || isBehindProxy) return;
  throw new CaiError(
    'USAGE',
    `${open} can be reached from other machines, and tokens would pass the network readably: set "tls_cert" and "tls_key" in [serve], or say --behind-proxy if a proxy that speaks TLS stands before it`,
  );
}

/** Throws `CaiError('USAGE')` for the path of a socket where an agent could come in, or put its own in its place. */
export function checkSocketPath(path: string, folders: AgentFolders): void {
  const folder = folders.onWayTo(path);
  if (folder === undefined) return;
  throw new CaiError(
    'USAGE',
    `${path} lies in ${folder}, where agents can write: whoever opens the socket needs no token, so choose another folder`,
  );
}

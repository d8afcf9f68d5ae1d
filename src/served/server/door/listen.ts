/** Where the server may listen. */
import { isLoopback } from '../../../config/serve-places';
import { CaiError } from '../../../errors';
import type { AgentFolders } from '../../../system/paths/agent-folders';

/**
 * Throws `CaiError('USAGE')` for hosts to listen on without TLS of ours that others may reach, unless a proxy before us
 * speaks TLS, which the user has to say. `hasCertificate`: there could be TLS of ours.
 */
export function checkListen(
  hosts: readonly string[],
  { hasCertificate, isBehindProxy }: { readonly hasCertificate: boolean; readonly isBehindProxy: boolean },
): void {
  const open = hosts.find((host) => !isLoopback(host));
  if (open === undefined || isBehindProxy) return;
  const remedy = hasCertificate
    ? 'listen by https:// instead of http://, or tls:// instead of tcp://'
    : 'set "tls_cert" and "tls_key" in [serve]';
  throw new CaiError(
    'USAGE',
    `${open} can be reached from other machines, and tokens would pass the network readably: ${remedy}, or say --behind-proxy if a proxy that speaks TLS stands before it`,
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

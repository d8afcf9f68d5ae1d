/** Where `cai serve` listens: what the user names, and a socket by which their other commands find the server. */
import type { Config } from '../../config/config';
import { chatPort, servePort, serveSocket } from '../../config/serve-places';
import { messageOf } from '../../errors';
import { AgentFolders } from '../../system/paths/agent-folders';
import { addressOf, urlOf, type ListenAddress, type Server } from '../../served/server';
import { checkListen, checkSocketPath } from '../../served/server/door';
import type { Host } from '../../system/host';
import { tell } from '../support/terminal';

export interface Reach {
  /** It has a certificate, from the command line or the configuration. */
  readonly hasCertificate: boolean;
  /** A proxy of the user's speaks TLS with clients. */
  readonly isBehindProxy: boolean;
  readonly hasChat: boolean;
}

/** The addresses that are named: by `--listen` (`given`), else by `serve.listen`. Throws `CaiError('USAGE')`. */
export function namedPlaces(
  given: readonly string[] | undefined,
  config: Config,
  host: Host,
  reach: Reach,
): readonly ListenAddress[] {
  const words = given ?? config.serve.listen ?? [`127.0.0.1:${reach.hasChat ? chatPort : servePort}`];
  const prefersTls = reach.hasCertificate && !reach.isBehindProxy;
  const places = words.map((word) => addressOf(word, host.cwd, prefersTls));
  const folders = new AgentFolders(host.folders.state);
  for (const each of places) if (each.kind === 'unix') checkSocketPath(each.path, folders);
  const open = places.flatMap((each) => (each.kind === 'unix' || each.isTls ? [] : [each.host]));
  checkListen(open, reach);
  return places;
}

/** Listens there and at the user's socket, and writes the addresses to stdout; rejects as `Server.listen`. */
export async function listenAt(
  places: readonly ListenAddress[],
  server: Server,
  host: Host,
): Promise<readonly ListenAddress[]> {
  const listened: ListenAddress[] = [];
  for (const place of places) listened.push(await server.listen(place));
  const path = serveSocket(host);
  if (!places.some((each) => each.kind === 'unix' && each.path === path)) {
    try {
      checkSocketPath(path, new AgentFolders(host.folders.state));
      listened.push(await server.listen({ kind: 'unix', path }));
    } catch (reason) {
      tell(
        `"cai serve link", and "cai connect" without an address, do not find this server: ${messageOf(reason)}`,
      );
    }
  }
  for (const each of listened) process.stdout.write(`${urlOf(each)}\n`);
  return listened;
}

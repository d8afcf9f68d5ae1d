/** Where a server is, as a user writes it. */
import { posix } from 'node:path';
import { placeOfUrl } from '../../config/host-rules';
import { isLoopback, serveSocket } from '../../config/serve-places';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';

export interface Address {
  /** Where it is, for a WebSocket: `ws:` or `wss:`, with path and query. For a Unix socket the host means nothing. */
  readonly url: string;
  /** It carries plain lines: of `url`, only host and port count. */
  readonly isLines?: true;
  /** The Unix socket that leads to it; absolute. */
  readonly socketPath?: string;
  /** That socket is the one that this user's own server makes if nobody says otherwise. */
  readonly isStandard?: true;
  /** For people; without the query. */
  readonly shown: string;
  /** It is a TCP address of this machine. */
  readonly isLoopback: boolean;
  readonly isEncrypted: boolean;
}

/** As ACP's remote transport has it. */
const standardPath = '/acp';
const schemes: Readonly<Record<string, 'ws:' | 'wss:'>> = {
  'ws:': 'ws:',
  'wss:': 'wss:',
  'http:': 'ws:',
  'https:': 'wss:',
  'tcp:': 'ws:',
  'tls:': 'wss:',
};
/** What is certainly no secret, so that an error may repeat it. */
const harmless = /^[\w.:/[\]-]+$/;

/**
 * Reads an address; without one it is the Unix socket of this machine. `agent` becomes the query's. Fails with
 * `CaiError('USAGE')` for what is no address, and for one with a user or password in it, which the error does not repeat.
 */
export function readAddress(text: string | undefined, agent: string | undefined, host: Host): Address {
  if (text === undefined) return { ...unixAddress(serveSocket(host), agent), isStandard: true };
  if (text.startsWith('unix:')) {
    const [, path, query] = /^unix:([^?]*)\??(.*)/s.exec(text)!;
    if (path === '') throw new CaiError('USAGE', 'unix: needs the path of a socket behind it');
    return unixAddress(posix.resolve(host.cwd, path!), agent, query);
  }
  const scheme = URL.canParse(text) ? schemes[new URL(text).protocol] : undefined;
  if (scheme === undefined) throw noAddress(text);
  // The class does not let a scheme become any other.
  const url = new URL(text.replace(/^[^:]*/, scheme.slice(0, -1)));
  if (url.username !== '' || url.password !== '')
    throw new CaiError('USAGE', 'the address holds a user or password: use --token-file instead');
  if (url.hash !== '') throw new CaiError('USAGE', 'the address of a server has no part behind "#"');
  if (/^t/i.test(text)) return linesAddress(text, url, agent);
  if (url.pathname === '/') url.pathname = standardPath;
  setAgent(url, agent);
  const isEncrypted = scheme === 'wss:';
  const shown = `${scheme}//${url.host}${url.pathname}`;
  return { url: url.href, shown, isLoopback: isLoopback(url.hostname), isEncrypted };
}

/** `tcp://HOST:PORT` or `tls://HOST:PORT`. Such a server has one agent. */
function linesAddress(text: string, { href, hostname }: URL, agent: string | undefined): Address {
  const [, kind, port] = /^(tcp|tls):\/\/[^/?#]+:(\d+)\/?$/i.exec(text) ?? [];
  if (kind === undefined || placeOfUrl(href.replace(/^ws/, 'http')) === undefined)
    throw new CaiError('USAGE', 'behind tcp:// and tls:// there are a host and a port, and nothing else');
  if (agent !== undefined)
    throw new CaiError(
      'USAGE',
      '--agent means nothing to tcp:// and tls://: a server has its first agent there',
    );
  const shown = `${kind.toLowerCase()}://${hostname}:${port}`;
  const isEncrypted = href.startsWith('wss:');
  return { url: href, isLines: true, shown, isLoopback: isLoopback(hostname), isEncrypted };
}

function unixAddress(socketPath: string, agent: string | undefined, query = ''): Address {
  const url = new URL(`ws://localhost${standardPath}${query === '' ? '' : `?${query}`}`);
  setAgent(url, agent);
  const shown = `unix:${socketPath}`;
  return { url: url.href, socketPath, shown, isLoopback: false, isEncrypted: false };
}

function setAgent(url: URL, agent: string | undefined): void {
  if (agent === undefined) return;
  const named = url.searchParams.get('agent');
  if (named !== null && named !== agent)
    throw new CaiError('USAGE', `the address names the agent "${named}", and --agent another: leave one out`);
  url.searchParams.set('agent', agent);
}

/** A host with a port is what "cai serve --listen" takes. */
function noAddress(text: string): CaiError {
  const given = harmless.test(text) ? `, and "${text}" does not` : '';
  const [, host] = /^(\[[\da-f:]+\]|[\w.-]+):\d+$/i.exec(text) ?? [];
  const meant = host === undefined ? '' : `: did you mean ${isLoopback(host) ? 'http' : 'https'}://${text}?`;
  return new CaiError(
    'USAGE',
    `the address of a server begins with wss://, https://, ws://, http://, tls://, tcp:// or unix:${given}${meant}`,
  );
}

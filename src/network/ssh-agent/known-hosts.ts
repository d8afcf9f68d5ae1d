/** The keys of servers that the user's ssh knows. Source: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { posix } from 'node:path';
import type { AgentFolders } from '../../system/paths/agent-folders';
import { readRegularFile } from '../../system/paths/read-regular-file';
import type { Host } from '../../system/host';
import { realOrSame } from '../../system/real-path';
import { unlessFails } from '../../system/unless';

const maxFileBytes = 8 * 2 ** 20;

/** Each host of the list, with what is known of it. */
export interface KnownHost {
  /** As the configuration names it: `github.com`, `git.example.com:2222`. */
  readonly host: string;
  /** Its keys, as SSH sends them. */
  readonly keys: readonly Buffer[];
}

interface Line {
  readonly names: string;
  readonly isRevoked: boolean;
  readonly key: Buffer;
}

/**
 * What the user's ssh knows of these hosts by its usual files, in its own folder and of the system. A file that an agent
 * could have changed counts for nothing. Fails with `CaiError('CONFIG')` for a file that is huge or cannot be read.
 */
export function knownHosts(
  hosts: readonly string[],
  host: Pick<Host, 'home'>,
  folders: Pick<AgentFolders, 'onWayTo'>,
): KnownHost[] {
  const own = ['known_hosts', 'known_hosts2'].map((name) => posix.join(host.home, '.ssh', name));
  const files = [...own, '/etc/ssh/ssh_known_hosts', '/etc/ssh/ssh_known_hosts2'];
  const texts = files.flatMap((file) => {
    // Where nobody can tell what is on the way, nothing on it counts either.
    const isOurs = unlessFails(() => folders.onWayTo(file) === undefined) ?? false;
    return isOurs ? (readRegularFile(realOrSame(file), maxFileBytes)?.toString() ?? []) : [];
  });
  return knownIn(texts, hosts);
}

/** What is known of each host by the texts of such files. */
export function knownIn(texts: readonly string[], hosts: readonly string[]): KnownHost[] {
  const lines = texts.flatMap((text) => text.split('\n').flatMap((line) => parsed(line) ?? []));
  return hosts.map((host) => {
    const name = nameOf(host);
    const about = lines.filter(({ names }) => isNamed(names, name));
    const revoked = about.filter(({ isRevoked }) => isRevoked).map(({ key }) => key);
    const keys = about
      .filter(({ isRevoked }) => !isRevoked)
      .map(({ key }) => key)
      .filter((key) => !revoked.some((each) => each.equals(key)));
    return { host, keys: keys.filter((key, index) => keys.findIndex((each) => each.equals(key)) === index) };
  });
}

/** Those keys as a file that ssh reads, whatever the files looked like that they were found in. */
export function knownHostsText(known: readonly KnownHost[]): string {
  const lines = known.flatMap(({ host, keys }) =>
    keys.map((key) => `${nameOf(host)} ${typeOf(key)} ${key.toString('base64')}\n`),
  );
  return lines.join('');
}

/** As the files have it: with a port only if it is not the usual one. */
function nameOf(host: string): string {
  const [, name = host, port = '22'] = /^(.*):(\d+)$/.exec(host) ?? [];
  return port === '22' ? name : `[${name}]:${port}`;
}

/** The type that is in the key must be the one before it: ssh looks at both. */
function parsed(text: string): Line | undefined {
  const [marker, ...rest] = text.trim().split(/[ \t]+/);
  const isMarked = marker?.startsWith('@') === true;
  // Of an authority nothing follows for a key that a host has.
  if (marker === '' || marker?.startsWith('#') || (isMarked && marker !== '@revoked')) return undefined;
  const [names = '', type = '', base64 = ''] = isMarked ? rest : [marker, ...rest];
  const key = Buffer.from(base64, 'base64');
  return type !== '' && typeOf(key) === type ? { names, isRevoked: isMarked, key } : undefined;
}

function typeOf(key: Buffer): string {
  const length = key.length < 4 ? 0 : key.readUInt32BE();
  return key.length < 4 + length ? '' : key.toString('latin1', 4, 4 + length);
}

/** Whether a line's list of names is about a host: by a pattern, or by its hash. */
function isNamed(names: string, host: string): boolean {
  if (names.startsWith('|')) return isHashOf(names, host);
  const patterns = names.toLowerCase().split(',');
  const fits = (pattern: string) => isFor(pattern, host);
  if (patterns.some((pattern) => pattern.startsWith('!') && fits(pattern.slice(1)))) return false;
  return patterns.some(fits);
}

/** Source: OpenSSH, hostfile.c, `host_hash`. */
function isHashOf(hashed: string, host: string): boolean {
  const [, salt = '', hash = ''] = /^\|1\|([^|]+)\|([^|]+)$/.exec(hashed) ?? [];
  const wanted = createHmac('sha1', Buffer.from(salt, 'base64')).update(host).digest();
  const found = Buffer.from(hash, 'base64');
  return found.length === wanted.length && timingSafeEqual(found, wanted);
}

/** `*` stands for any characters, `?` for one. */
function isFor(pattern: string, host: string): boolean {
  const form = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${form}$`).test(host);
}

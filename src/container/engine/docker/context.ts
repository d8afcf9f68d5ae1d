/** Which container engine is meant, found out as the Docker CLI does. Measured against its version 28. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { Agent } from 'node:https';
import { platform } from 'node:os';
import { join } from 'node:path';
import type Docker from 'dockerode';
import type { EngineEndpoint } from '../../../workspace/devcontainer/cli';
import type { Host } from '../../../system/host';
import { CaiError, messageOf } from '../../../errors';
import { quoted } from '../../../system/quoted';
import { dockerFolder } from '../../registry/docker-login';
import { sshTargetOf, type SshTarget } from './elsewhere/ssh-program';
import { isMissing, unlessFails } from '../../../system/unless';
import { isInside } from '../../../system/paths/is-inside';

/** Where an engine is. */
export interface EngineAddress {
  /** Name of the Docker context; `default` for the one that `DOCKER_HOST` or nothing at all names. */
  readonly context: string;
  /** As it is written: `unix:///var/run/docker.sock`. */
  readonly endpoint: string;
  /** Whether `DOCKER_HOST` names it, and no context. */
  readonly isFromHost?: boolean;
  /** Whether that is another machine, by its address alone. */
  readonly isElsewhere?: boolean;
  /** The machine to which ssh leads; the rest of how to connect is in `options`. */
  readonly ssh?: SshTarget;
  /** How to connect: to a socket, or to a port. */
  readonly options: Docker.DockerOptions & { readonly agent?: Agent };
}

/** What names an engine, for messages: `Docker context "default"`, or `from DOCKER_HOST`. */
export function originOf({ context, isFromHost }: Pick<EngineAddress, 'context' | 'isFromHost'>): string {
  return isFromHost === true ? 'from DOCKER_HOST' : `Docker context "${context}"`;
}

/**
 * The engine for this environment. The first of these counts: `wanted` (from the command line), `DOCKER_HOST`,
 * `DOCKER_CONTEXT`, `configured` (from the user's configuration), `currentContext` in Docker's own
 * configuration, the standard socket. Fails with `NO_ENGINE` for a context that does not exist, and for an
 * engine on another machine that anybody could take the place of.
 */
export function resolveEngine(host: Host, wanted?: string, configured?: string): EngineAddress {
  const folder = dockerFolder(host);
  const [name, origin] = choose(host, folder, wanted, configured);
  return name === 'default' ? defaultEngine(host, folder) : storedEngine(folder, name, origin);
}

const windowsPipe = 'npipe:////./pipe/docker_engine';
const standardSocket = '/var/run/docker.sock';

function choose({ env }: Host, folder: string, wanted?: string, configured?: string): [string, string] {
  const candidates = [
    [given(wanted), '--context'],
    [given(env.DOCKER_HOST) && 'default', 'DOCKER_HOST'],
    [given(env.DOCKER_CONTEXT), 'DOCKER_CONTEXT'],
    [given(configured), '[engine] context'],
  ] as const;
  for (const [name, origin] of candidates) if (name !== undefined) return [name, origin];
  const file = join(folder, 'config.json');
  const remedy = 'so the Docker context is unknown: mend it, or name one with --context';
  const config = readJson(file, `, ${remedy}`) as { currentContext?: string } | null | undefined;
  return [given(config?.currentContext) ?? 'default', `currentContext in ${file}`];
}

/** The one that is in no store. Certificates are in `DOCKER_CERT_PATH`, and count only with `DOCKER_TLS_VERIFY`. */
function defaultEngine({ env }: Host, folder: string): EngineAddress {
  const standard = platform() === 'win32' ? windowsPipe : `unix://${standardSocket}`;
  const host = given(env.DOCKER_HOST);
  const named: Named = { context: 'default', endpoint: host ?? standard, ...(host && { isFromHost: true }) };
  if (given(env.DOCKER_TLS_VERIFY) === undefined) return addressOf(named);
  const certificates = given(env.DOCKER_CERT_PATH) ?? folder;
  return addressOf(named, { ...readCertificates(certificates), isVerified: true });
}

/** One of the context store: a folder for each, whose name is a hash of the context's. */
function storedEngine(folder: string, name: string, origin: string): EngineAddress {
  const store = join(folder, 'contexts');
  const id = createHash('sha256').update(name).digest('hex');
  const meta = readMeta(store, id);
  if (meta === undefined) {
    const names = ['default', ...storedNames(store)].map((known) => `"${known}"`).join(', ');
    throw noEngine(`there is no Docker context "${name}" (named by ${origin}): choose one of ${names}`);
  }
  const { Host, SkipTLSVerify } = meta.Endpoints?.docker ?? {};
  const endpoint = given(Host);
  if (endpoint === undefined) {
    throw noEngine(
      `the Docker context "${name}" (named by ${origin}) has no engine: choose another with --context`,
    );
  }
  const certificates = readCertificates(join(store, 'tls', id, 'docker'));
  const hasTls = SkipTLSVerify === true || Object.keys(certificates).length > 0;
  const tls = hasTls ? { ...certificates, isVerified: !SkipTLSVerify } : undefined;
  return addressOf({ context: name, endpoint }, tls);
}

interface Meta {
  readonly Name?: string;
  readonly Endpoints?: { readonly docker?: { readonly Host?: string; readonly SkipTLSVerify?: boolean } };
}

function readMeta(store: string, id: string): Meta | undefined {
  const remedy = 'recreate that Docker context, or name another with --context';
  return readJson(join(store, 'meta', id, 'meta.json'), `: ${remedy}`) as Meta | undefined;
}

function storedNames(store: string): string[] {
  const ids = unlessFails(() => readdirSync(join(store, 'meta'))) ?? [];
  return ids.flatMap((id) => readMeta(store, id)?.Name ?? []).sort();
}

/** PEM: who signed the engine's certificate, our certificate, and the key to it. */
type Certificates = Partial<Record<'ca' | 'cert' | 'key', Buffer>>;

function readCertificates(folder: string): Certificates {
  const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => readIfThere(join(folder, `${name}.pem`)));
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

const form = 'the address has to be unix:///PATH, ssh://[USER@]HOST[:PORT] or tcp://HOST:PORT';

const unsafe =
  'it is on another machine, and whoever is on the way there could read and change everything: use ssh://, or TLS with certificates that are verified';

type Named = Pick<EngineAddress, 'context' | 'endpoint' | 'isFromHost'>;

function addressOf(named: Named, tls?: Certificates & { readonly isVerified: boolean }): EngineAddress {
  const { endpoint } = named;
  const [, scheme, rest = ''] = /^(?:([a-z]+):\/\/)?(.*)$/s.exec(endpoint) ?? [];
  const refuse = (why: string) =>
    noEngine(`the engine ${endpoint} (${originOf(named)}) cannot be used: ${why}`);
  if (scheme === 'unix') return { ...named, options: { socketPath: rest === '' ? standardSocket : rest } };
  if (scheme === 'ssh') {
    const ssh = sshTargetOf(endpoint);
    if (ssh === undefined) throw refuse('the address has to be ssh://[USER@]HOST[:PORT][/SOCKET]');
    return { ...named, isElsewhere: true, ssh, options: { protocol: 'http', host: 'localhost' } };
  }
  if (scheme === 'npipe')
    throw refuse('cai does not speak to Windows pipes: run cai inside WSL, with an engine there');
  if (scheme !== undefined && scheme !== 'tcp') throw refuse(form);
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:/]*))(?::(\d+))?\/?$/.exec(rest) ?? [];
  const host = bracketed ?? (plain === '' ? 'localhost' : plain);
  if (host === undefined) throw refuse('the address has to be tcp://HOST:PORT');
  const isElsewhere = !/^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host);
  // Docker takes any word for a host name; whoever wrote no scheme may have meant none.
  if (isElsewhere && scheme === undefined) throw refuse(form);
  if (isElsewhere && tls?.isVerified !== true) throw refuse(unsafe);
  const place = { ...named, ...(isElsewhere && { isElsewhere }) };
  if (tls === undefined) return { ...place, options: { protocol: 'http', host, port: Number(port ?? 2375) } };
  const { isVerified, ...certificates } = tls;
  const agent = isVerified ? {} : { agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) };
  const options = { protocol: 'https', host, port: Number(port ?? 2376), ...certificates, ...agent } as const;
  return { ...place, options };
}

/** How Docker's own programs reach an engine without anything of the user's; `undefined`: not over ssh, nor unverified. */
export function endpointOf({ endpoint, ssh, options }: EngineAddress): EngineEndpoint | undefined {
  if (ssh !== undefined || options.agent !== undefined) return undefined;
  const { ca, cert, key, protocol } = options;
  const certificates = { 'ca.pem': ca, 'cert.pem': cert, 'key.pem': key };
  const given = Object.entries(certificates).flatMap(([name, pem]) =>
    Buffer.isBuffer(pem) ? [[name, pem] as const] : [],
  );
  return { url: endpoint, ...(protocol === 'https' && { certificates: Object.fromEntries(given) }) };
}

/** An empty setting counts as missing. */
function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (reason) {
    if (isMissing(reason)) return undefined;
    throw noEngine(`${file} cannot be read, so the Docker context is unknown: ${messageOf(reason)}`);
  }
}

/** `otherwise` is what to say after that the file is not JSON. */
function readJson(file: string, otherwise: string): unknown {
  const text = readIfThere(file)?.toString();
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    throw noEngine(`${file} is not JSON${otherwise}`);
  }
}

function noEngine(message: string): CaiError {
  return new CaiError('NO_ENGINE', message);
}

/** Whoever has the engine's socket has the machine, wherever a context says that it is. Rejects with `CaiError('WORKSPACE')`. */
export async function keepFromEngine(
  { options }: EngineAddress,
  binds: readonly { readonly source: string }[],
): Promise<void> {
  if (options.socketPath === undefined) return;
  const socket = await realpath(options.socketPath);
  const bind = binds.find(({ source }) => isInside(socket, source));
  if (bind !== undefined)
    throw new CaiError(
      'WORKSPACE',
      `${quoted(bind.source)} cannot be mounted, because it holds the socket of the container engine, ${socket}`,
    );
}

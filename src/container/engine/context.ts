/** Which container engine is meant, found out as the Docker CLI does. Measured against its version 28. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { Agent } from 'node:https';
import { platform } from 'node:os';
import { join } from 'node:path';
import type { Host } from '../../system/host';
import { CaiError, messageOf } from '../../errors';
import { isInside } from '../../paths/path-map';
import { quoted } from '../../system/quoted';

/** An engine on this machine. */
export interface EngineAddress {
  /** Name of the Docker context; `default` for the one that `DOCKER_HOST` or nothing at all names. */
  readonly context: string;
  /** As it is written: `unix:///var/run/docker.sock`. */
  readonly endpoint: string;
  /** Whether `DOCKER_HOST` names it, and no context. */
  readonly isFromHost?: boolean;
  /** How to connect. */
  readonly options: EngineOptions;
}

/** What names an engine, for messages: `Docker context "default"`, or `from DOCKER_HOST`. */
export function originOf({ context, isFromHost }: Omit<EngineAddress, 'options'>): string {
  return isFromHost === true ? 'from DOCKER_HOST' : `Docker context "${context}"`;
}

/** What the engine's client takes: a socket, or a port of this machine. */
export interface EngineOptions {
  /** Path of a Unix socket. */
  readonly socketPath?: string;
  /** Name or address, of this machine. */
  readonly host?: string;
  /** Port on it. */
  readonly port?: number;
  /** `https` with TLS. */
  readonly protocol?: 'http' | 'https';
  /** Who signed the engine's certificate, PEM. */
  readonly ca?: Buffer;
  /** Our certificate, PEM. */
  readonly cert?: Buffer;
  /** The key to it, PEM. */
  readonly key?: Buffer;
  /** Present if the engine's certificate is not to be verified. */
  readonly agent?: Agent;
}

/**
 * The engine for this environment. The first of these counts: `wanted` (from the command line), `DOCKER_HOST`,
 * `DOCKER_CONTEXT`, `configured` (from the user's configuration), `currentContext` in Docker's own
 * configuration, the standard socket. Fails with `NO_ENGINE` for a context that does not exist, and for an
 * engine on another machine.
 */
export function resolveEngine(host: Host, wanted?: string, configured?: string): EngineAddress {
  const folder = given(host.env.DOCKER_CONFIG) ?? join(host.home, '.docker');
  const { name, origin } = choose(host, folder, wanted, configured);
  return name === 'default' ? defaultEngine(host, folder) : storedEngine(folder, name, origin);
}

const windowsPipe = 'npipe:////./pipe/docker_engine';
const standardSocket = '/var/run/docker.sock';

interface Choice {
  readonly name: string;
  /** Where the name stands. */
  readonly origin: string;
}

function choose({ env }: Host, folder: string, wanted?: string, configured?: string): Choice {
  const fromHost = given(env.DOCKER_HOST) && 'default';
  const candidates = [
    { name: given(wanted), origin: '--context' },
    { name: fromHost, origin: 'DOCKER_HOST' },
    { name: given(env.DOCKER_CONTEXT), origin: 'DOCKER_CONTEXT' },
    { name: given(configured), origin: '[engine] context' },
  ];
  for (const { name, origin } of candidates) if (name !== undefined) return { name, origin };
  const file = join(folder, 'config.json');
  return { name: currentContext(file) ?? 'default', origin: `currentContext in ${file}` };
}

function currentContext(file: string): string | undefined {
  const text = readIfThere(file)?.toString();
  if (text === undefined) return undefined;
  try {
    return given((JSON.parse(text) as { currentContext?: string } | null)?.currentContext);
  } catch {
    throw noEngine(
      `${file} is not JSON, so the Docker context is unknown: mend it, or name one with --context`,
    );
  }
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
  const meta = readMeta(join(store, 'meta', id, 'meta.json'));
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

function readMeta(file: string): Meta | undefined {
  const text = readIfThere(file)?.toString();
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Meta);
  } catch {
    throw noEngine(`${file} is not JSON: make that Docker context anew, or name another with --context`);
  }
}

function storedNames(store: string): string[] {
  let ids: string[];
  try {
    ids = readdirSync(join(store, 'meta'));
  } catch {
    return [];
  }
  return ids.flatMap((id) => readMeta(join(store, 'meta', id, 'meta.json'))?.Name ?? []).sort();
}

interface Certificates {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

function readCertificates(folder: string): Certificates {
  const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => readIfThere(join(folder, `${name}.pem`)));
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

type Tls = Certificates & { readonly isVerified: boolean };

/** An engine that nobody has looked for yet. */
type Named = Omit<EngineAddress, 'options'>;

function addressOf(named: Named, tls?: Tls): EngineAddress {
  const { endpoint } = named;
  const [, written, rest = ''] = /^(?:([a-z]+):\/\/)?(.*)$/s.exec(endpoint) ?? [];
  const refuse = (why: string) =>
    noEngine(`the engine ${endpoint} (${originOf(named)}) cannot be used: ${why}`);
  switch (written ?? 'tcp') {
    case 'unix':
      return { ...named, options: { socketPath: rest === '' ? standardSocket : rest } };
    case 'tcp':
      // Docker takes any word for a host name; whoever wrote no scheme may have meant none.
      return { ...named, options: tcpOptions(rest, tls, refuse, written === undefined ? form : elsewhere) };
    case 'ssh':
      throw refuse(elsewhere);
    case 'npipe':
      throw refuse('cai does not speak to Windows pipes: run cai inside WSL, with an engine there');
    default:
      throw refuse(form);
  }
}

const form = 'the address has to be unix:///PATH or tcp://127.0.0.1:PORT';

const elsewhere =
  'it is on another machine, and cai mounts folders of this one: name an engine here with --context, or run cai there';

function tcpOptions(
  authority: string,
  tls: Tls | undefined,
  refuse: (why: string) => CaiError,
  whyNotHere: string,
): EngineOptions {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:/]*))(?::(\d+))?\/?$/.exec(authority) ?? [];
  const host = bracketed ?? (plain === '' ? 'localhost' : plain);
  if (host === undefined) throw refuse('the address has to be tcp://127.0.0.1:PORT');
  if (!/^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host)) throw refuse(whyNotHere);
  if (tls === undefined) return { protocol: 'http', host, port: Number(port ?? 2375) };
  const { isVerified, ...certificates } = tls;
  return {
    protocol: 'https',
    host,
    port: Number(port ?? 2376),
    ...certificates,
    ...(!isVerified && { agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) }),
  };
}

/** An empty setting is none. */
function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw noEngine(`${file} cannot be read, so the Docker context is unknown: ${messageOf(reason)}`);
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

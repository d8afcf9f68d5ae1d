/**
 * Registries of images: which version a name stands for now, and what is known of that. Source: OCI, distribution-spec
 * and image-spec; the same of Docker, "Image Manifest V 2, Schema 2".
 */
import { createHash } from 'node:crypto';
import { arch } from 'node:os';
import type { HostNetwork } from '../../config/config';
import { CaiError, messageOf } from '../../errors';
import type { Host } from '../../system/host';
import { isLoopback } from '../../config/serve-places';
import { printableLine } from '../../system/quoted';
import type { ImageInfo } from '../engine/engine-info';
import { authorizationFor } from './authorization';
import { dockerLogin, type Login } from './docker-login';
import { apiHost, digestForm, parseReference, type Reference } from './reference';
import { Requests, type Answer } from '../../network';
import { isTlsError } from '../../system/tls-errors';
import { objectIn } from '../../system/unless';

export type { Login } from './docker-login';

/** Its `id` is that by which it is always the same: `ghcr.io/team/containai@sha256:…`. */
type RegistryImage = Pick<ImageInfo, 'id' | 'env' | 'labels'>;

const indexTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const manifestTypes = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
/** What kind of machine this is, in the words of manifests. */
const architecture = { x64: 'amd64', ia32: '386' }[arch()] ?? arch();

/** A manifest, or an index of manifests for several kinds of machines. */
interface Manifest {
  readonly config?: { readonly digest?: string };
  readonly manifests?: readonly {
    readonly digest?: string;
    readonly platform?: { readonly os?: string; readonly architecture?: string };
  }[];
}

interface ImageConfig {
  readonly config?: {
    readonly Env?: readonly string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  } | null;
}

/** All registries, with the logins that Docker has for them. */
export class Registry {
  readonly #requests: Requests;
  /** What was shown last, by the name of the image. */
  readonly #authorizations = new Map<string, string>();

  /** Nothing is asked yet. `limitMs`: how long one request may take. */
  constructor(
    private readonly host: Pick<Host, 'env' | 'envForOthers' | 'home'>,
    network: HostNetwork,
    limitMs?: number,
  ) {
    this.#requests = new Requests(network, limitMs);
  }

  /**
   * The image of that name, which has a tag or a digest. `undefined`: the registry has no such image, or the name is of
   * no registry. Of an index, the digest is that of the index, and the rest is of this kind of machine if it is there.
   * Rejects with `CaiError('IMAGE')`.
   */
  async find(ref: string): Promise<RegistryImage | undefined> {
    const reference = parseReference(ref);
    if (reference === undefined) return undefined;
    const named = await this.#read(reference, 'manifests', reference.version);
    if (named === undefined) return undefined;
    const digest = digestOf(named);
    const manifest = await this.#linuxManifest(reference, parsed(named));
    const of = manifest?.config?.digest;
    const config = of === undefined ? undefined : await this.#read(reference, 'blobs', of);
    if (config === undefined) throw failure(reference, `it has no image for Linux of the name ${ref}`);
    const { config: settings } = parsed(config) as ImageConfig;
    const id = `${reference.name}@${digest}`;
    return { id, env: settings?.Env ?? [], labels: settings?.Labels ?? {} };
  }

  /** What the registry of an image knows the user as; `undefined`: nothing. Rejects with `CaiError('IMAGE')`. */
  async login(ref: string): Promise<Login | undefined> {
    const reference = parseReference(ref);
    return reference && (await dockerLogin(this.host, reference.registry));
  }

  async #linuxManifest(
    reference: Reference,
    { manifests, ...manifest }: Manifest,
  ): Promise<Manifest | undefined> {
    if (manifests === undefined) return manifest;
    const linux = manifests.filter(({ platform }) => platform?.os === 'linux');
    const { digest } =
      linux.find(({ platform }) => platform?.architecture === architecture) ?? linux[0] ?? {};
    const answer = digest === undefined ? undefined : await this.#read(reference, 'manifests', digest);
    return answer && parsed(answer);
  }

  /** `undefined`: there is no such thing. What is asked for by its digest has it. */
  async #read(
    reference: Reference,
    kind: 'manifests' | 'blobs',
    version: string,
  ): Promise<Buffer | undefined> {
    const answer = await this.#ask(reference, `${kind}/${version}`);
    if (answer.status === 404) return undefined;
    if ([401, 403].includes(answer.status)) throw await this.#denied(reference, answer);
    if (answer.status !== 200)
      throw failure(reference, `it answers with status ${answer.status}${saidIn(answer)}`);
    if (digestForm.test(version) && digestOf(answer.body) !== version)
      throw failure(reference, `what it gives for ${version} is something else`);
    return answer.body;
  }

  async #ask(reference: Reference, path: string): Promise<Answer> {
    const { registry, name, repository } = reference;
    const host = apiHost(registry);
    const scheme = isLoopback(new URL(`https://${host}`).hostname) ? 'http' : 'https';
    const url = new URL(`${scheme}://${host}/v2/${repository}/${path}`);
    const accept = [...indexTypes, ...manifestTypes].join(', ');
    const send = async () => {
      const authorization = this.#authorizations.get(name);
      return await this.#requests.ask(url, { headers: { accept, ...(authorization && { authorization }) } });
    };
    try {
      const first = await send();
      const challenge = first.headers['www-authenticate'];
      if (first.status !== 401 || challenge === undefined) return first;
      const login = await dockerLogin(this.host, registry);
      const ask: Requests['ask'] = (realm, request) => this.#requests.ask(realm, request, url);
      const authorization = await authorizationFor(challenge, repository, login, ask);
      if (authorization === undefined) return first;
      this.#authorizations.set(name, authorization);
      return await send();
    } catch (reason) {
      throw reason instanceof CaiError ? reason : unreachable(reference, reason);
    }
  }

  async #denied(reference: Reference, answer: Answer): Promise<CaiError> {
    const { registry, name } = reference;
    const isKnown = (await dockerLogin(this.host, registry)) !== undefined;
    const who = isKnown ? 'you as Docker has you logged in' : 'anybody without a login';
    return failure(
      reference,
      `it does not show ${name} to ${who}${saidIn(answer)}: see whether that name is right, and run: docker login ${registry}`,
    );
  }
}

function digestOf(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}

/** An answer that is no object is one without any field. */
function parsed(body: Buffer): object {
  return objectIn(body.toString()) ?? {};
}

function failure({ registry }: Reference, why: string): CaiError {
  return new CaiError('IMAGE', `the registry ${registry} cannot be used: ${why}`);
}

function saidIn({ body }: Answer): string {
  const { errors } = parsed(body) as { errors?: unknown };
  const [first] = Array.isArray(errors) ? (errors as ({ readonly message?: unknown } | null)[]) : [];
  return typeof first?.message === 'string' ? ` (${printableLine(first.message).slice(0, 200)})` : '';
}

/** The connection failed, or ended before the answer did. */
function unreachable({ registry }: Reference, reason: unknown): CaiError {
  const { code = '' } = reason as NodeJS.ErrnoException;
  // Of several addresses that all failed there is no message.
  const why = printableLine(messageOf(reason)) || code;
  const remedy = isTlsError(code)
    ? 'name a file with the certificate that signs its own (PEM) as "ca_file" in [network] of your config.toml'
    : 'see whether "registry" in [image] of your config.toml is right, and whether the proxies in [network] are';
  const text = `the registry ${registry} cannot be reached (${why}): ${remedy}`;
  return new CaiError('IMAGE', text, undefined, { cause: reason });
}

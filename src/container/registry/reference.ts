/** Names of images that say which registry has them. Source: Docker, "distribution/reference". */

export interface Reference {
  /** As it stands in the name: `ghcr.io`, `127.0.0.1:5000`. */
  readonly registry: string;
  /** The name without tag and digest: `ghcr.io/team/containai`. */
  readonly name: string;
  /** What the registry calls it: `team/containai`. */
  readonly repository: string;
  /** What one of its versions is asked for by: a digest, else a tag, which is `latest` if none is named. */
  readonly version: string;
}

/** Docker's own registry, which has other names for some things. */
const hub = 'docker.io';

/** `sha256:` and 64 hex digits. */
export const digestForm = /^sha256:[\da-f]{64}$/;

/** `undefined`: the name says of no registry that it has the image. */
export function parseReference(ref: string): Reference | undefined {
  const [, name = '', tag, digest] =
    /^([^@]*?)(?::(\w[\w.-]{0,127}))?(?:@(sha256:[\da-f]{64}))?$/.exec(ref) ?? [];
  const slash = name.indexOf('/');
  const registry = name.slice(0, Math.max(slash, 0));
  // Without one of these it is a folder of Docker's own registry.
  if (!/[.:]|^localhost$/.test(registry)) return undefined;
  const path = name.slice(slash + 1);
  const repository = registry === hub && !path.includes('/') ? `library/${path}` : path;
  if (!pathForm.test(path) || !URL.canParse(`https://${registry}/`)) return undefined;
  return { registry, name, repository, version: digest ?? tag ?? 'latest' };
}

/** Host and port at which a registry has its API. */
export function apiHost(registry: string): string {
  return registry === hub ? 'registry-1.docker.io' : registry;
}

const pathForm = /^(?:(?:^|\/)[a-z\d]+(?:(?:[._]|__|-+)[a-z\d]+)*)+$/;

/** What Docker keeps the login of a registry under. */
export function loginKey(registry: string): string {
  return registry === hub ? 'https://index.docker.io/v1/' : registry;
}

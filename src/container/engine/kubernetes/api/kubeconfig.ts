/** Which cluster is meant, found out as kubectl does. Source: Kubernetes, "Organizing Cluster Access". */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Host } from '../../../../system/host';
import { httpProxyAt, proxyToServer } from '../../../../network';
import { Entry, Kubeconfig, noCluster, readNamed } from './kubeconfig-file';
import { credentialsOf, type TakeCredentials } from './user';
import { withoutEnd } from '../../../../system/paths/without-end';

/** Where the API server is, and how to speak to it. */
export interface Cluster {
  /** Name of the context, for messages; none inside a pod. */
  readonly context?: string;
  /** Of the API server: `https://HOST:PORT`, perhaps with a path, without a slash at the end. */
  readonly server: string;
  /** What leads to the API server, by HTTP CONNECT. */
  readonly proxy?: URL;
  readonly namespace: string;
  /** How the server's certificate is judged, in Node's words. */
  readonly tls: {
    /** PEM; absent: those that Node knows. */
    readonly ca?: Buffer;
    /** `false`: by nothing. */
    readonly rejectUnauthorized?: false;
    /** The name in the certificate, where it is not that of the URL. */
    readonly servername?: string;
  };
  readonly credentials: TakeCredentials;
}

/** What the user's configuration says about the cluster; it wins over everything. */
interface WantedCluster {
  /** Absolute path of the only file that counts. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

export function nameOf({ server, context }: Pick<Cluster, 'server' | 'context'>): string {
  const origin = context === undefined ? 'of this pod' : `context "${context}"`;
  return `the Kubernetes cluster at ${server} (${origin})`;
}

/** What to do about a cluster that is not the right one. */
export const nameAnother =
  'name another context with --context, or "context" in [engine] of your config.toml';

/**
 * The cluster for this environment: of the context that is wanted or else current, in the files of `KUBECONFIG` or
 * else in `~/.kube/config`; without any context, that of the pod in which we run. Throws `CaiError('NO_ENGINE')`.
 */
export function findCluster(host: Pick<Host, 'env' | 'home'>, wanted: WantedCluster = {}): Cluster {
  const files = filesOf(host, wanted);
  const config = Kubeconfig.read(files);
  if (config.contexts.length === 0 && wanted.context === undefined && wanted.kubeconfig === undefined) {
    const own = clusterOfPod(host.env, wanted.namespace);
    if (own !== undefined) return own;
    throw noCluster(
      `there is no Kubernetes cluster: ${files.join(', ')} has no context, and this is no pod: give KUBECONFIG the file of your cluster`,
    );
  }
  const name = wanted.context ?? config.currentContext;
  const known = config.contexts.map((each) => `"${each}"`).join(', ') || 'none';
  if (name === undefined)
    throw noCluster(`no context is chosen in ${files.join(', ')} (known: ${known}): ${nameAnother}`);
  const context = config.find('context', name);
  if (context === undefined)
    throw noCluster(
      `there is no Kubernetes context "${name}" in ${files.join(', ')} (known: ${known}): ${nameAnother}`,
    );
  return clusterOf(host, config, { name, entry: context }, wanted.namespace);
}

function filesOf(
  { env, home }: Pick<Host, 'env' | 'home'>,
  { kubeconfig }: WantedCluster,
): readonly string[] {
  if (kubeconfig !== undefined) {
    if (existsSync(kubeconfig)) return [kubeconfig];
    throw noCluster(
      `there is no kubeconfig ${kubeconfig}: correct "kubeconfig" in [engine] of your config.toml`,
    );
  }
  const named = (env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  return named.length > 0 ? named : [join(home, '.kube/config')];
}

function clusterOf(
  { env }: Pick<Host, 'env'>,
  config: Kubeconfig,
  context: { readonly name: string; readonly entry: Entry },
  namespace: string | undefined,
): Cluster {
  const cluster = named(config, 'cluster', context.entry);
  const user = context.entry.text('user') === undefined ? undefined : named(config, 'user', context.entry);
  const server = serverOf(cluster);
  const proxy = proxyOf(cluster) ?? proxyToServer({}, env, new URL(server));
  return {
    context: context.name,
    server,
    ...(proxy && { proxy }),
    namespace: namespace ?? context.entry.text('namespace') ?? 'default',
    tls: tlsOf(cluster),
    credentials:
      user === undefined ? () => Promise.resolve({}) : credentialsOf(user, env, pluginCluster(cluster)),
  };
}

function named(config: Kubeconfig, kind: 'cluster' | 'user', context: Entry): Entry {
  const name = context.needed(kind);
  const found = config.find(kind, name);
  if (found !== undefined) return found;
  throw context.refusal(
    `it names the ${kind} "${name}", which is nowhere: add it, or choose another context`,
  );
}

function serverOf(cluster: Entry): string {
  const server = withoutEnd(cluster.needed('server'), '/');
  // Without TLS everybody on the way could read and change what is asked for; kubectl sends no credentials then.
  if (/^https:\/\/[^/?#@]+(?:\/[^?#]*)?$/.test(server) && URL.canParse(server)) return server;
  throw cluster.refusal('its "server" is not of the form https://HOST:PORT: mend it');
}

function proxyOf(cluster: Entry): URL | undefined {
  const address = cluster.text('proxy-url');
  if (address === undefined) return undefined;
  const proxy = httpProxyAt(address);
  if (proxy !== undefined) return proxy;
  // It may hold a password.
  throw cluster.refusal(
    'its "proxy-url" is not the address of a proxy that speaks HTTP, such as http://proxy.example.com:3128: name such a proxy',
  );
}

function tlsOf(cluster: Entry): Cluster['tls'] {
  const data = cluster.data('certificate-authority');
  const isBlind = cluster.value('insecure-skip-tls-verify') === true;
  const servername = cluster.text('tls-server-name');
  if (isBlind && data !== undefined)
    throw cluster.refusal(
      'it has both "insecure-skip-tls-verify" and a "certificate-authority": remove the one that you do not mean',
    );
  const ca = data?.();
  return {
    ...(ca && { ca }),
    ...(isBlind && { rejectUnauthorized: false }),
    ...(servername !== undefined && { servername }),
  };
}

/** What exec plugins are told about the cluster. Source: client.authentication.k8s.io/v1, `Cluster`. */
function pluginCluster(cluster: Entry): Readonly<Record<string, unknown>> {
  const same = ['server', 'tls-server-name', 'insecure-skip-tls-verify', 'proxy-url'];
  const ca = tlsOf(cluster).ca;
  const own = cluster
    .list('extensions')
    .find((each) => each.text('name') === 'client.authentication.k8s.io/exec');
  return {
    ...Object.fromEntries(same.map((key) => [key, cluster.value(key)])),
    ...(ca && { 'certificate-authority-data': ca.toString('base64') }),
    ...(own && { config: own.value('extension') }),
  };
}

/** Source: Kubernetes, "Accessing the Kubernetes API from a Pod". */
const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** `undefined`: we are in no pod that may speak to its cluster. `folder` is for tests. */
export function clusterOfPod(
  env: NodeJS.ProcessEnv,
  namespace?: string,
  folder = serviceAccount,
): Cluster | undefined {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = env;
  const tokenFile = join(folder, 'token');
  if (host === '' || !existsSync(tokenFile)) return undefined;
  const own = 'the service account of this pod';
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: namespace ?? namespaceIn(folder) ?? 'default',
    tls: { ca: readNamed(join(folder, 'ca.crt'), own) },
    credentials: credentialsOf(new Entry({ tokenFile }, own, folder), env, {}),
  };
}

function namespaceIn(folder: string): string | undefined {
  const file = join(folder, 'namespace');
  const name = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return name === '' ? undefined : name;
}

/** What is asked of the API server. Paths are absolute, as `/api/v1/namespaces/x/pods`, and may have a query. */
import type { Duplex } from 'node:stream';
import { ApiRefusal } from './api-error';
import type { Cluster } from './kubeconfig';
import { printedBy } from './exec';
import { openForward } from './port-forward';
import { Requests, type Request } from './requests';
import { watch, type Listed, type WatchEvent } from './watch';

/** How something is removed. Source: Kubernetes API, `DeleteOptions`. */
interface RemoveOptions {
  /** How long it may take to end by itself; 0: it is gone at once. */
  readonly gracePeriodSeconds?: number;
  /** Nothing else of that name is removed: 409. */
  readonly uid?: string;
}

/**
 * The API of one cluster. All methods reject with `ApiRefusal`, with `Silent`, with an error of the connection, or with
 * `CaiError` if there are no credentials; `kubernetesError` makes one error of ours of all of them.
 */
export class KubernetesApi {
  readonly #requests: Requests;

  /** Nothing is asked yet. */
  constructor(readonly cluster: Cluster) {
    this.#requests = new Requests(cluster);
  }

  async get(path: string): Promise<unknown> {
    return await this.#json({ method: 'GET', path });
  }

  async list(path: string, signal?: AbortSignal): Promise<Listed> {
    const said = (await this.#json({ method: 'GET', path, ...(signal && { signal }) })) as {
      readonly items?: readonly unknown[] | null;
      readonly metadata?: { readonly resourceVersion?: string };
    };
    return { items: said.items ?? [], resourceVersion: said.metadata?.resourceVersion ?? '' };
  }

  /** Resolves with the object as the server has completed it. */
  async create(path: string, body: object): Promise<unknown> {
    return await this.#json({ method: 'POST', path, body });
  }

  /** Source: RFC 7386. Resolves with the object as it is then. */
  async patch(path: string, body: object): Promise<unknown> {
    return await this.#json({ method: 'PATCH', path, body, type: 'application/merge-patch+json' });
  }

  /** Resolves as soon as the server has noted it: the thing may still be ending. */
  async remove(path: string, { gracePeriodSeconds, uid }: RemoveOptions = {}): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      ...(uid !== undefined && { preconditions: { uid } }),
    };
    await this.#json({ method: 'DELETE', path, body });
  }

  /** What is no JSON, as the log of a pod. */
  async text(path: string, signal?: AbortSignal): Promise<string> {
    return (await this.#requests.whole({ method: 'GET', path, ...(signal && { signal }) })).toString();
  }

  /**
   * Tells of all objects of a kind, then of what happens to them, until `signal` ends it. Goes on after the server was away
   * for a while; what may have been missed is listed again. What `onEvent` throws ends it, too.
   */
  async watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    const open = async (query: Readonly<Record<string, string>>) =>
      await this.#requests.open({ method: 'GET', path: withQuery(path, query), signal });
    await watch({ list: async () => await this.list(path, signal), open, onEvent, signal });
  }

  /**
   * A connection to a port of a pod, where the program may listen on 127.0.0.1 alone. Fails later with `ForwardFailure` if
   * nobody listens there.
   */
  async forward(pod: string, port: number): Promise<Duplex> {
    return await openForward(this.#requests, { namespace: this.cluster.namespace, pod, port });
  }

  /** What a program prints that is started in a container of a pod. */
  async exec(pod: string, container: string, argv: readonly string[]): Promise<string> {
    return await printedBy(this.#requests, { pod, container }, argv);
  }

  async #json(asked: Request): Promise<unknown> {
    const body = (await this.#requests.whole(asked)).toString();
    try {
      return JSON.parse(body) as unknown;
    } catch {
      throw new ApiRefusal(200, 'the answer is no JSON');
    }
  }
}

export function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const added = new URLSearchParams(query).toString();
  return added === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${added}`;
}

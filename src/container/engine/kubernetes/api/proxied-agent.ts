/** Connections to an API server that only a proxy leads to, as `proxy-url` of a kubeconfig says. */
import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import type { Place } from '../../../../config/host-rules';
import { tunnelTo } from '../../../../network';

/** How long the proxy may take to open a tunnel, in milliseconds. */
const openMs = 15_000;

/** Speaks TLS with the API server itself, in tunnels of HTTP CONNECT. */
export class ProxiedAgent extends Agent {
  /** To the API server at that place. */
  constructor(
    private readonly proxy: URL,
    private readonly place: Place,
    options?: AgentOptions,
  ) {
    super(options);
  }

  /** Source: Node, `http.Agent`, which lets the connection come later. */
  override createConnection(...[options, done]: Parameters<Agent['createConnection']>): undefined {
    tunnelTo(this.place, this.proxy, AbortSignal.timeout(openMs))
      // Throws where a certificate is damaged.
      .then(({ socket }) => super.createConnection({ ...options, socket } as RequestOptions)!)
      .then(
        (made) => done!(null, made),
        (reason: unknown) => (done as (error: unknown) => void)(reason),
      );
  }
}

/** The proxies of this machine's network, as programs are told of them. */
import type { HostNetwork } from '../../config/config';

/** The variables that name proxies, in both cases: programs disagree about it. */
export function proxyVariables({ httpProxy, httpsProxy, noProxy }: HostNetwork): [string, string][] {
  const proxies = { http_proxy: httpProxy, https_proxy: httpsProxy, no_proxy: noProxy };
  return Object.entries(proxies).flatMap(([name, value]): [string, string][] =>
    value === undefined
      ? []
      : [
          [name, value],
          [name.toUpperCase(), value],
        ],
  );
}

/** Whether something is on this machine's own loopback: a container has another one. */
export function needsLoopback({ npmRegistry, pipIndex, httpProxy, httpsProxy }: HostNetwork): boolean {
  const isLoopback = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;
  return [npmRegistry, pipIndex, httpProxy, httpsProxy].some(
    (each) => each !== undefined && isLoopback.test(new URL(each).hostname),
  );
}

/** The proxies of this machine's network as variables of the environment, which programs read in either case. */
import type { HostNetwork } from '../config/config';
import { isLoopback } from '../config/serve-places';

/** Proxies of this machine and the places that they are not for; empty is as undefined. */
export interface Proxies {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

const names = { httpProxy: 'http_proxy', httpsProxy: 'https_proxy', noProxy: 'no_proxy' } as const;

/** The variables that name proxies, in both cases. */
export function proxyVariables(proxies: Proxies): [string, string][] {
  return Object.entries(names).flatMap(([key, name]): [string, string][] => {
    const value = proxies[key as keyof Proxies];
    return value === undefined ? [] : [name, name.toUpperCase()].map((each) => [each, value]);
  });
}

/** The proxies that an environment names. As curl has it, an address without a scheme is one of HTTP. */
export function proxiesIn(env: NodeJS.ProcessEnv): Proxies {
  const named = (name: string): string | undefined => env[name] ?? env[name.toUpperCase()];
  const address = (name: string): string | undefined => named(name)?.replace(/^(?!\w+:\/\/)(?=.)/, 'http://');
  return {
    httpProxy: address(names.httpProxy),
    httpsProxy: address(names.httpsProxy),
    noProxy: named(names.noProxy),
  };
}

/** Whether something is on this machine's own loopback: a container has another one. */
export function needsLoopback({ npmRegistry, pipIndex, httpProxy, httpsProxy }: HostNetwork): boolean {
  return [npmRegistry, pipIndex, httpProxy, httpsProxy]
    .flatMap((each) => (each === undefined ? [] : new URL(each).hostname))
    .some((host) => isLoopback(host) || host.endsWith('.localhost'));
}

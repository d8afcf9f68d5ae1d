/** The environment that a command has inside. */
import type { Config } from '../config/config';
import { agentHome } from '../workspace/mount';
import { userName } from './spec/files';
import type { RunningContainer } from './provide';

/** Variables, in the order in which a later one of the same name wins. */
export type Variables = readonly (readonly [name: string, value: string])[];

/**
 * What every command in a container gets: the environment of its first process, the user's network
 * settings, and the variables that the user's configuration lets in. The latter travel with the command,
 * so that neither the engine nor a process list shows them.
 */
export function commandEnvironment(
  container: Pick<RunningContainer, 'env' | 'hostname'>,
  config: Pick<Config, 'env' | 'network'>,
  env: NodeJS.ProcessEnv,
): Variables {
  const base = container.env.map((line) => {
    const [name = '', ...value] = line.split('=');
    return [name, value.join('=')] as const;
  });
  const user = [
    ['HOME', agentHome],
    ['USER', userName],
    ['LOGNAME', userName],
    ['HOSTNAME', container.hostname],
  ] as const;
  return [...base, ...user, ...networkVariables(config.network), ...imported(config.env.import, env)];
}

function networkVariables(network: Config['network']): Variables {
  const { httpProxy, httpsProxy, noProxy, npmRegistry } = network;
  const proxies = { http_proxy: httpProxy, https_proxy: httpsProxy, no_proxy: noProxy };
  const pairs = Object.entries(proxies).flatMap(([name, value]) =>
    // Programs disagree about the case.
    value === undefined ? [] : [[name, value] as const, [name.toUpperCase(), value] as const],
  );
  // Node's own fetch looks at the proxies only then.
  if (pairs.length > 0) pairs.push(['NODE_USE_ENV_PROXY', '1']);
  return npmRegistry === undefined ? pairs : [...pairs, ['npm_config_registry', npmRegistry]];
}

function imported(names: readonly string[], env: NodeJS.ProcessEnv): Variables {
  return names.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
}

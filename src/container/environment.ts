/** The environment that a command has inside. */
import type { Config } from '../config/config';
import { agentHome } from '../workspace/mount';
import { proxyVariables } from './image/image';
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
  const imported = config.env.import.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return [...base, ...user, ...networkVariables(config.network), ...imported];
}

/**
 * By these Node's own fetch looks at the variables for proxies, and does not print at every start of a program that this
 * is experimental. An option for that one warning keeps Node before 20.11 from starting.
 */
export const nodeProxyVariables: Variables = [
  ['NODE_USE_ENV_PROXY', '1'],
  ['NODE_NO_WARNINGS', '1'],
];

function networkVariables({ egress, npmRegistry, ...network }: Config['network']): Variables {
  // Otherwise the only way is that of `src/egress/`, which takes the user's proxies itself.
  const proxies = egress === 'open' ? proxyVariables(network) : [];
  return [
    ...proxies,
    ...(proxies.length > 0 ? nodeProxyVariables : []),
    ...(npmRegistry === undefined ? [] : [['npm_config_registry', npmRegistry] as const]),
  ];
}

/** The environment that a command has inside. */
import { readlinkSync } from 'node:fs';
import { proxyVariables } from '../network';
import type { Config } from '../config/config';
import { unlessFails } from '../system/unless';
import { metadataOf, variablesOf } from '../workspace/devcontainer/metadata';
import { agentHome } from '../workspace/mount';
import { userName } from './spec/files';
import type { Settings } from './spec/spec';
import type { RunningContainer } from './provide';

/** Variables, in the order in which a later one of the same name wins. */
export type Variables = readonly (readonly [name: string, value: string])[];

/** In the data volume: what `npm install -g`, `pip install` and `uv tool install` put there lasts. */
const installed = `${agentHome}/.local`;

/**
 * What every command in a container gets: the environment of its first process, the user's network
 * settings, what a devcontainer.json sets, and the variables that the user's configuration lets in. The latter two travel
 * with the command, so that neither the engine nor a process list shows them.
 */
export function commandEnvironment(
  container: Pick<RunningContainer, 'env' | 'hostname'> & Partial<Pick<RunningContainer, 'devcontainer'>>,
  config: Pick<Config, 'env' | 'network'>,
  env: NodeJS.ProcessEnv,
  { workspace, workingFolder }: Pick<Settings, 'workspace' | 'workingFolder'>,
): Variables {
  const base = container.env.map((line) => {
    const [name = '', ...value] = line.split('=');
    return [name, value.join('=')] as const;
  });
  const imported = config.env.import.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const inside = withDevcontainer(base, container.devcontainer, {
    localFolder: workspace ?? '',
    localEnv: Object.fromEntries(imported),
    containerFolder: workingFolder,
  });
  const path = inside.findLast(([name]) => name === 'PATH')?.[1] ?? '';
  const user = [
    ['HOME', agentHome],
    ['USER', userName],
    ['LOGNAME', userName],
    ['HOSTNAME', container.hostname],
    // Last, so that no program that an agent has put there stands for one of the image.
    ['PATH', [path, `${installed}/bin`].filter(Boolean).join(':')],
    ['NPM_CONFIG_PREFIX', installed],
    // Debian's pip would refuse, for the sake of Debian's own packages; as an ordinary user it installs below the home folder.
    ['PIP_BREAK_SYSTEM_PACKAGES', '1'],
  ] as const;
  return [...localVariables(env), ...inside, ...user, ...networkVariables(config.network), ...imported];
}

/**
 * What an image seldom says: the time zone of this machine, unless TZ is a path on it, and the locale that every image has.
 */
function localVariables({ TZ = '' }: NodeJS.ProcessEnv): Variables {
  const zone = /^[A-Za-z<][\w+/,.<>-]*$/.test(TZ) ? TZ : zoneOfMachine();
  return [...(zone === undefined ? [] : [['TZ', zone] as const]), ['LANG', 'C.UTF-8']];
}

/** Name of the time zone of this machine; `undefined`: it has no name, or is UTC by default. */
function zoneOfMachine(): string | undefined {
  // Source: localtime(5). Node would load all that it knows of languages for it, which takes 13 ms of each `cai exec`.
  const link = unlessFails(() => readlinkSync('/etc/localtime')) ?? '';
  return /\/zoneinfo\/(?:posix\/)?(\w.*)$/.exec(link)?.[1];
}

/** `devcontainer`: as `RunningContainer` has it. */
function withDevcontainer(
  base: Variables,
  devcontainer: string | undefined,
  values: Parameters<typeof variablesOf>[2],
): Variables {
  const set = variablesOf(metadataOf(devcontainer), Object.fromEntries(base), values);
  const removed = new Set(set.flatMap(([name, value]) => (value === undefined ? [name] : [])));
  const kept = base.filter(([name]) => !removed.has(name));
  return [...kept, ...set.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))];
}

/**
 * By these Node's own fetch looks at the variables for proxies, and does not print at every start of a program that this
 * is experimental. An option for that one warning keeps Node before 20.11 from starting.
 */
export const nodeProxyVariables: Variables = [
  ['NODE_USE_ENV_PROXY', '1'],
  ['NODE_NO_WARNINGS', '1'],
];

function networkVariables({ egress, npmRegistry, pipIndex, ...network }: Config['network']): Variables {
  // Otherwise the only way is that of `src/network/egress/`, which takes the user's proxies itself.
  const proxies = egress === 'open' ? proxyVariables(network) : [];
  return [
    ...proxies,
    ...(proxies.length > 0 ? nodeProxyVariables : []),
    ...(npmRegistry === undefined ? [] : [['npm_config_registry', npmRegistry] as const]),
    ...['PIP_INDEX_URL', 'UV_DEFAULT_INDEX'].flatMap((name) =>
      pipIndex === undefined ? [] : [[name, pipIndex] as const],
    ),
  ];
}

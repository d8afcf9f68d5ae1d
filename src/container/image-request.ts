import { catalog } from '../agent/catalog';
import { loadConfig } from '../workspace/config';
import type { Config } from '../workspace/config';
import { ownFolders } from '../workspace/own-folders';
import type { ImageRequest } from './image';

/**
 * What the image of an agent is to be, by the configuration in effect for the workspace at `root` or
 * without one.
 */
export function imageRequestOf(
  env: NodeJS.ProcessEnv,
  config: Config,
  root: string | undefined,
  agent: string,
): ImageRequest {
  const configured = Object.hasOwn(config.agents, agent) ? config.agents[agent] : undefined;
  const known = Object.hasOwn(catalog, agent) ? catalog[agent] : undefined;
  const { base, dockerfile } = loadConfig(env).image;
  const isUsersOwn = config.image.base === base && config.image.dockerfile === dockerfile;
  return {
    agent,
    packages: configured?.packages ?? known?.packages ?? [],
    image: config.image,
    network: config.network,
    stateFolder: ownFolders(env).state,
    ...(root !== undefined && !isUsersOwn && { repository: root }),
  };
}

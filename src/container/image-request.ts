import { catalog } from '../agent/catalog';
import { loadConfig } from '../workspace/config';
import type { Config } from '../workspace/config';
import { ownFolders } from '../workspace/own-folders';
import { ownValue } from '../workspace/own-value';
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
  const configured = ownValue(config.agents, agent);
  const known = ownValue(catalog, agent);
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
